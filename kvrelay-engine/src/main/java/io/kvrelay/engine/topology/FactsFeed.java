package io.kvrelay.engine.topology;

import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import io.kvrelay.api.runtime.SerialExecutor;
import java.util.Map;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Follows a provider of deployment facts and hands on what changed. A stream that fails or ends is
 * opened again after 100 milliseconds, doubling to 5 seconds; good facts reset the delay. Meanwhile
 * the last membership and sources stand, and no worker counts as known to be live or dead.
 *
 * <p>Thread safe; the sink is called serially, on the runtime's executor.
 */
public final class FactsFeed {
  /**
   * Counters of a feed; only grow.
   *
   * @param snapshots facts received
   * @param unchanged facts that came to what was known
   * @param stale facts whose revision was lower than the one before, ignored
   * @param late signals of a stream that had been given up, ignored
   * @param lost streams that failed or ended unasked
   */
  public record Statistics(long snapshots, long unchanged, long stale, long late, long lost) {}

  private final RelayRuntime runtime;
  private final DeploymentFactsSource source;
  private final DiscoveryScope scope;
  private final Consumer<DeploymentView> sink;
  private final Consumer<RuntimeException> onDefect;
  private final SerialExecutor mailbox;
  private final LongAdder snapshots = new LongAdder();
  private final LongAdder unchanged = new LongAdder();
  private final LongAdder stale = new LongAdder();
  private final LongAdder late = new LongAdder();
  private final LongAdder lost = new LongAdder();
  // Everything below belongs to the mailbox; error may be read anywhere.
  private final DeploymentTracker tracker;
  private final RetryDelay delay = RetryDelay.local();
  private @Nullable Opening current;
  private RelayRuntime.@Nullable Timer retry;
  private @Nullable DeploymentView view;
  private boolean stopped;
  private volatile @Nullable String error = "no deployment facts yet";

  /**
   * Creates a feed that is not started.
   *
   * @param runtime clock, executor and timer
   * @param source the provider
   * @param scope what counts
   * @param sink takes each view that differs from the one before
   * @param onDefect told if facts could not be evaluated or the sink threw: what was published is
   *     no longer what the facts say, so the relay must stop
   */
  public FactsFeed(
      RelayRuntime runtime,
      DeploymentFactsSource source,
      DiscoveryScope scope,
      Consumer<DeploymentView> sink,
      Consumer<RuntimeException> onDefect) {
    this.onDefect = onDefect;
    this.runtime = runtime;
    this.source = source;
    this.scope = scope;
    this.sink = sink;
    this.mailbox = new SerialExecutor(runtime.executor());
    this.tracker = new DeploymentTracker(scope);
  }

  /** Subscribes. */
  public void start() {
    mailbox.execute(this::open);
  }

  /** Gives the stream up for good. */
  public void stop() {
    mailbox.execute(
        () -> {
          stopped = true;
          if (retry != null) {
            retry.cancel();
          }
          if (current != null) {
            current.cancel();
            current = null;
          }
        });
  }

  /**
   * Why the facts may be out of date.
   *
   * @return the reason, or null while they are current
   */
  public @Nullable String error() {
    return error;
  }

  /**
   * The counters.
   *
   * @return the numbers of this moment
   */
  public Statistics statistics() {
    return new Statistics(snapshots.sum(), unchanged.sum(), stale.sum(), late.sum(), lost.sum());
  }

  private void open() {
    if (stopped) {
      return;
    }
    Opening opening = new Opening();
    current = opening;
    try {
      source.facts(scope).subscribe(opening);
    } catch (RuntimeException refused) {
      lose(opening, "the facts' provider refused to be watched: " + refused);
    }
  }

  private void take(Opening opening, DeploymentFacts facts) {
    if (opening != current) {
      late.increment();
      return;
    }
    snapshots.increment();
    if (opening.isStale(facts.revision())) {
      stale.increment();
    } else {
      error = null;
      delay.reset();
      evaluate(facts);
    }
    opening.more();
  }

  private void evaluate(DeploymentFacts facts) {
    try {
      publish(tracker.update(facts));
    } catch (RuntimeException defect) {
      onDefect.accept(defect);
    }
  }

  private void publish(DeploymentView next) {
    if (view != null && view.saysTheSameAs(next)) {
      unchanged.increment();
      return;
    }
    view = next;
    sink.accept(next);
  }

  private void lose(Opening opening, String reason) {
    if (opening != current) {
      late.increment();
      return;
    }
    opening.cancel();
    current = null;
    lost.increment();
    error = reason;
    DeploymentView known = view;
    if (known != null) {
      publish(
          new DeploymentView(
              known.factsRevision(),
              known.membership(),
              known.sources(),
              Map.of(),
              known.problems()));
    }
    retry = runtime.schedule(delay.takeNanos(), () -> mailbox.execute(this::open));
  }

  private final class Opening implements Flow.Subscriber<DeploymentFacts> {
    private Flow.@Nullable Subscription subscription;
    private boolean cancelled;
    private boolean any;
    private long revision;

    private boolean isStale(long next) {
      boolean lower = any && Long.compareUnsigned(next, revision) < 0;
      if (!lower) {
        any = true;
        revision = next;
      }
      return lower;
    }

    private void more() {
      if (subscription != null) {
        subscription.request(1);
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
      mailbox.execute(
          () -> {
            if (cancelled || subscription != null) {
              given.cancel();
            } else {
              subscription = given;
              given.request(1);
            }
          });
    }

    @Override
    public void onNext(DeploymentFacts facts) {
      mailbox.execute(() -> take(this, facts));
    }

    @Override
    public void onError(Throwable failure) {
      mailbox.execute(() -> lose(this, "the stream of deployment facts failed: " + failure));
    }

    @Override
    public void onComplete() {
      mailbox.execute(() -> lose(this, "the stream of deployment facts ended"));
    }
  }
}
