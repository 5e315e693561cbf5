package io.kvrelay.engine.load;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.LoadReportSource;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import io.kvrelay.api.runtime.SerialExecutor;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Brings the load reports of one endpoint into the account of one generation. A stream that fails
 * or ends makes the account forget its reports, and is opened again after 100 milliseconds,
 * doubling to 5 seconds; a report resets the delay.
 *
 * <p>Thread safe; nothing blocks. A defect ends the collector and is reported by {@link #failed()}:
 * its generation must then be fenced.
 */
public final class LoadCollector {
  private static final System.Logger LOG = System.getLogger(LoadCollector.class.getName());
  private static final int DEMAND = 256;

  /**
   * Counters of a collector; only grow.
   *
   * @param lost streams that failed or ended unasked
   * @param late signals of a stream that had been given up, ignored
   */
  public record Statistics(long lost, long late) {}

  private final RelayRuntime runtime;
  private final LoadReportSource source;
  private final EndpointId endpoint;
  private final PoolLoadAccount account;
  private final SerialExecutor mailbox;
  private final CompletableFuture<Void> stopped = new CompletableFuture<>();
  private final CompletableFuture<String> failed = new CompletableFuture<>();
  private final LongAdder lost = new LongAdder();
  private final LongAdder late = new LongAdder();
  // Everything below belongs to the mailbox.
  private final RetryDelay delay = RetryDelay.local();
  private @Nullable Opening current;
  private RelayRuntime.@Nullable Timer retry;
  private boolean over;

  /**
   * Creates a collector that is not started.
   *
   * @param runtime clock, executor and timer
   * @param source where reports come from
   * @param endpoint whose reports
   * @param account where they go
   */
  public LoadCollector(
      RelayRuntime runtime, LoadReportSource source, EndpointId endpoint, PoolLoadAccount account) {
    this.runtime = runtime;
    this.source = source;
    this.endpoint = endpoint;
    this.account = account;
    this.mailbox = new SerialExecutor(runtime.executor());
  }

  /** Subscribes. */
  public void start() {
    post(this::open);
  }

  /**
   * Stops for good.
   *
   * @return a stage that completes when nothing runs any more; never fails
   */
  public CompletionStage<Void> stop() {
    mailbox.execute(
        () -> {
          end();
          stopped.complete(null);
        });
    return stopped.minimalCompletionStage();
  }

  /**
   * Completes with the reason if the collector ends without having been stopped.
   *
   * @return a stage that never fails
   */
  public CompletionStage<String> failed() {
    return failed.minimalCompletionStage();
  }

  /**
   * The counters.
   *
   * @return the numbers of this moment
   */
  public Statistics statistics() {
    return new Statistics(lost.sum(), late.sum());
  }

  private void post(Runnable task) {
    mailbox.execute(
        () -> {
          try {
            task.run();
          } catch (RuntimeException defect) {
            LOG.log(Level.ERROR, "the load collector of " + endpoint, defect);
            end();
            failed.complete("the load collector ended by itself: " + defect);
          }
        });
  }

  private void end() {
    over = true;
    if (retry != null) {
      retry.cancel();
    }
    if (current != null) {
      current.cancel();
      current = null;
    }
  }

  private void open() {
    if (over) {
      return;
    }
    Opening opening = new Opening();
    current = opening;
    try {
      source.reports(endpoint).subscribe(opening);
    } catch (RuntimeException refused) {
      lose(opening, refused);
    }
  }

  private void take(Opening opening, LoadReport report) {
    if (opening != current) {
      late.increment();
      return;
    }
    delay.reset();
    account.observe(report);
    opening.taken();
  }

  private void lose(Opening opening, @Nullable Throwable reason) {
    if (opening != current) {
      late.increment();
      return;
    }
    LOG.log(
        Level.DEBUG,
        () -> "load reports of " + endpoint + (reason == null ? " ended" : ": " + reason));
    opening.cancel();
    current = null;
    lost.increment();
    account.forget();
    retry = runtime.schedule(delay.takeNanos(), () -> post(this::open));
  }

  private final class Opening implements Flow.Subscriber<LoadReport> {
    private final AtomicInteger open = new AtomicInteger(DEMAND);
    private Flow.@Nullable Subscription subscription;
    private boolean cancelled;
    private int taken;

    private void taken() {
      if (++taken == DEMAND / 2 && subscription != null) {
        taken = 0;
        open.addAndGet(DEMAND / 2);
        subscription.request(DEMAND / 2);
      }
    }

    private void cancel() {
      cancelled = true;
      if (subscription != null) {
        subscription.cancel();
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      post(
          () -> {
            if (cancelled || subscription != null) {
              given.cancel();
            } else {
              subscription = given;
              given.request(DEMAND);
            }
          });
    }

    @Override
    public void onNext(LoadReport report) {
      int left = open.decrementAndGet();
      if (left >= 0) {
        post(() -> take(this, report));
      } else if (left == -1) {
        // More than was asked for: what waits stays bounded, and some reports are missing now.
        onError(new IllegalStateException("more than " + DEMAND + " reports at a time"));
      }
    }

    @Override
    public void onError(Throwable failure) {
      post(() -> lose(this, failure));
    }

    @Override
    public void onComplete() {
      post(() -> lose(this, null));
    }
  }
}
