package io.kvrelay.engine.ingest;

import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.runtime.RelayRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Asks one source for history until it has an answer, at most eight times. A permit covers one
 * request and is given back before the backoff, so that a source that does not answer keeps no
 * other waiting.
 *
 * <p>Cancelling ends it at any point, and then it never reports. Every step names the attempt that
 * it belongs to; a step of an attempt that is over does nothing. The provider is called outside the
 * lock.
 */
final class RecoveryFetch {
  static final int MAX_ATTEMPTS = 8;
  static final long FIRST_BACKOFF_NANOS = 200_000_000L;

  private final IngestContext context;
  private final Binding binding;
  private final HistoryRequest request;
  private final Consumer<FetchResult> receiver;

  // Guarded by this.
  private int attempt;
  private boolean asking;
  private boolean ended;
  private boolean marked;
  private RelayRuntime.@Nullable Timer timer;
  private RecoveryPermits.@Nullable Ticket permit;
  private @Nullable CompletableFuture<HistoryReply> answer;

  RecoveryFetch(
      IngestContext context,
      Binding binding,
      HistoryRequest request,
      Consumer<FetchResult> receiver) {
    this.context = context;
    this.binding = binding;
    this.request = request;
    this.receiver = receiver;
  }

  void start(long delayNanos) {
    if (delayNanos > 0) {
      sleep(delayNanos);
    } else {
      wantPermit();
    }
  }

  /** Nothing is reported from here on. */
  void cancel() {
    CompletableFuture<HistoryReply> unanswered;
    synchronized (this) {
      ended = true;
      unanswered = endAttempt();
    }
    abandon(unanswered);
  }

  private synchronized void sleep(long delayNanos) {
    if (!ended) {
      timer = context.runtime().schedule(delayNanos, this::wantPermit);
    }
  }

  private synchronized void wantPermit() {
    if (ended) {
      return;
    }
    timer = null;
    permit = context.permits().acquire(context.runtime().executor(), this::ask);
  }

  private void ask() {
    int mine;
    synchronized (this) {
      if (ended) {
        return;
      }
      mine = ++attempt;
      asking = true;
      timer =
          context
              .runtime()
              .schedule(
                  context.config().recoveryAttemptTimeout().toNanos(),
                  () -> answered(mine, null, new TimeoutException("no answer in time")));
    }
    context.count(IngestCount.ATTEMPTS);
    CompletionStage<HistoryReply> stage = send();
    CompletableFuture<HistoryReply> future = ProviderStages.future(stage);
    if (!isAskedFor(mine, future)) {
      abandon(future); // the timeout or a cancellation was faster than the provider's method
    }
    stage.whenComplete((reply, error) -> answered(mine, reply, error));
  }

  private CompletionStage<HistoryReply> send() {
    try {
      return ProviderStages.given(context.events().history(binding.source, request));
    } catch (RuntimeException | Error e) {
      return CompletableFuture.failedStage(e);
    }
  }

  private synchronized boolean isAskedFor(int mine, CompletableFuture<HistoryReply> future) {
    if (ended || !asking || attempt != mine) {
      return false;
    }
    answer = future;
    return true;
  }

  private void answered(int of, @Nullable HistoryReply reply, @Nullable Throwable error) {
    FetchResult result = null;
    CompletableFuture<HistoryReply> unanswered;
    synchronized (this) {
      if (ended || !asking || attempt != of) {
        if (reply != null) {
          context.count(IngestCount.LATE_REPLIES);
        }
        return;
      }
      unanswered = endAttempt();
      String failure = failure(reply, error);
      if (failure == null && reply != null) {
        result = new FetchResult.Answered(reply);
      } else {
        countFailure(error);
        if (attempt == MAX_ATTEMPTS) {
          result = givenUp(of + " attempts, the last: " + failure);
        } else {
          sleep(FIRST_BACKOFF_NANOS << (attempt - 1));
        }
      }
      ended = result != null;
    }
    abandon(unanswered);
    if (result != null) {
      receiver.accept(result);
    }
  }

  /** Why the attempt failed, or null if its answer is final. */
  private @Nullable String failure(@Nullable HistoryReply reply, @Nullable Throwable error) {
    if (reply == null) {
      return error == null ? "no answer" : Failures.text(error);
    }
    if (reply instanceof HistoryReply.TreeDumpFailed failed) {
      marked = true;
      return "no dump: " + failed.message();
    }
    if (reply instanceof HistoryReply.TreeDump dump
        && dump.scope() != HistoryReply.ResetScope.ALL) {
      marked = true;
      return "a dump of a part";
    }
    return reply instanceof HistoryReply.Failed failed ? failed.message() : null;
  }

  private void countFailure(@Nullable Throwable error) {
    context.count(IngestCount.FAILED_ATTEMPTS);
    if (error instanceof TimeoutException) {
      context.count(IngestCount.TIMED_OUT_ATTEMPTS);
    }
  }

  private FetchResult givenUp(String reason) {
    return marked ? new FetchResult.NonAuthoritative(reason) : new FetchResult.Exhausted(reason);
  }

  /** Returns what nobody waits for any more. */
  private @Nullable CompletableFuture<HistoryReply> endAttempt() {
    asking = false;
    if (timer != null) {
      timer.cancel();
      timer = null;
    }
    if (permit != null) {
      permit.close();
      permit = null;
    }
    CompletableFuture<HistoryReply> unanswered = answer;
    answer = null;
    return unanswered;
  }

  private static void abandon(@Nullable CompletableFuture<HistoryReply> unanswered) {
    if (unanswered != null) {
      unanswered.cancel(false); // without effect if it was answered
    }
  }
}
