package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.engine.pool.RankReplacement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One recovery of one rank, up to the point where its result can be applied in the rank's own turn:
 * asking, and for a dump also building the replacement beside the pool and waiting for its rebuild.
 *
 * <p>It runs beside the rank, which goes on buffering. Results are posted; whoever cancelled a
 * recovery finds its results foreign by identity. {@link #cancel()} also says when nothing of it
 * runs any more.
 */
final class RankRecovery {
  /** Takes results. Called on any thread, at most once for each method. */
  interface Receiver {
    /** The fetch is over. */
    void fetched(RankRecovery recovery, FetchResult result);

    /** A dump was installed, or could not be. */
    void replaced(RankRecovery recovery, long last, @Nullable Throwable error);

    /** A dump held another rank's event. */
    void foreignDump(RankRecovery recovery);
  }

  private enum Step {
    FETCHING,
    BUILDING,
    INSTALLING,
    OVER
  }

  private final IngestContext context;
  private final Receiver receiver;
  private final HistoryRequest request;
  private final RecoveryFetch fetch;

  // Guarded by this.
  private Step step = Step.FETCHING;
  private boolean cancelled;
  private ReplacementBatcher.@Nullable Entry entry;
  private final CompletableFuture<Void> built = new CompletableFuture<>();

  RankRecovery(IngestContext context, Binding binding, HistoryRequest request, Receiver receiver) {
    this.context = context;
    this.receiver = receiver;
    this.request = request;
    this.fetch = new RecoveryFetch(context, binding, request, this::fetched);
  }

  boolean isFull() {
    return request.start().isEmpty();
  }

  private Member member() {
    return request.member();
  }

  void start(long delayNanos) {
    context.count(isFull() ? IngestCount.FULL_RECOVERIES : IngestCount.HISTORY_RECOVERIES);
    fetch.start(delayNanos);
  }

  private void fetched(FetchResult result) {
    receiver.fetched(this, result);
  }

  /** Builds the dump beside the pool and hands it in. */
  void replace(HistoryReply.TreeDump dump) {
    synchronized (this) {
      if (cancelled) {
        return;
      }
      step = Step.BUILDING;
    }
    try {
      context.runtime().executor().execute(() -> build(dump));
    } catch (RejectedExecutionException stopped) {
      end();
    }
  }

  private void build(HistoryReply.TreeDump dump) {
    try {
      RankReplacement replacement = new RankReplacement(member());
      String fault = push(dump.events(), replacement);
      if (isCancelled()) {
        return;
      }
      if (fault == null) {
        submit(replacement, dump.last());
      } else if (fault.isEmpty()) {
        receiver.foreignDump(this);
      } else {
        failed(dump.last(), fault);
      }
    } catch (RuntimeException | Error e) {
      failed(dump.last(), "a dump of rank " + member() + ": " + e);
    } finally {
      built.complete(null);
    }
  }

  private synchronized boolean isCancelled() {
    return cancelled;
  }

  /** Null if all went in, empty for another rank's event, else what is wrong with the dump. */
  private @Nullable String push(List<KvEvent> events, RankReplacement replacement) {
    // Before anything else, as for events: of a foreign answer nothing is looked at.
    if (!areOf(member(), events)) {
      return "";
    }
    for (KvEvent event : events) {
      if (isCancelled()) {
        return null;
      }
      KvEventErrorKind error = replacement.push(event);
      if (error != null) {
        return "a dump of rank " + member() + ": " + error.wireName() + " at " + event;
      }
    }
    return null;
  }

  static boolean areOf(Member member, List<KvEvent> events) {
    for (int i = 0; i < events.size(); i++) { // by index: no iterator for each batch
      if (!events.get(i).member().equals(member)) {
        return false;
      }
    }
    return true;
  }

  private void failed(long last, String reason) {
    receiver.replaced(this, last, new RelayException(RelayErrorReason.INTERNAL, reason));
  }

  private void submit(RankReplacement replacement, long last) {
    synchronized (this) {
      if (cancelled) {
        return;
      }
      step = Step.INSTALLING;
    }
    ReplacementBatcher.Entry submitted =
        context.batcher().submit(replacement, error -> receiver.replaced(this, last, error));
    synchronized (this) {
      entry = submitted;
    }
  }

  private synchronized void end() {
    step = Step.OVER;
    built.complete(null);
  }

  /** Completes once nothing of it runs any more; at once unless a dump is on its way. */
  CompletionStage<Void> cancel() {
    Step reached;
    synchronized (this) {
      cancelled = true;
      reached = step;
    }
    fetch.cancel();
    if (reached == Step.FETCHING || reached == Step.OVER) {
      return CompletableFuture.completedFuture(null);
    }
    // The build ends soon; then the entry, if there is one, is known.
    return built.thenCompose(done -> withdraw());
  }

  private CompletionStage<Void> withdraw() {
    ReplacementBatcher.Entry submitted;
    synchronized (this) {
      submitted = entry;
    }
    return submitted == null
        ? CompletableFuture.completedFuture(null)
        : context.batcher().withdraw(submitted);
  }
}
