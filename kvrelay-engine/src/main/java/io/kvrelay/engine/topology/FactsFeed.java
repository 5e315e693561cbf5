package io.kvrelay.engine.topology;

import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialExecutor;
import io.kvrelay.engine.flow.ReopenedStream;
import java.util.Map;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Supplier;
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

  private final DeploymentFactsSource source;
  private final DiscoveryScope scope;
  private final Consumer<DeploymentView> sink;
  private final Consumer<Throwable> onDefect;
  private final SerialExecutor mailbox;
  private final LongAdder snapshots = new LongAdder();
  private final LongAdder unchanged = new LongAdder();
  private final LongAdder stale = new LongAdder();
  private final ReopenedStream<DeploymentFacts> stream;
  // Everything below belongs to the mailbox; error may be read anywhere.
  private final DeploymentTracker tracker;
  private @Nullable DeploymentView view;
  private boolean anyOfThisOpening;
  private long revision;
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
      Consumer<Throwable> onDefect) {
    this.onDefect = onDefect;
    this.source = source;
    this.scope = scope;
    this.sink = sink;
    this.mailbox = new SerialExecutor(runtime.executor());
    this.tracker = new DeploymentTracker(scope);
    this.stream = new ReopenedStream<>(runtime, mailbox, 1, new Facts());
  }

  /** Subscribes. */
  public void start() {
    mailbox.execute(stream::open);
  }

  /** Gives the stream up for good. */
  public void stop() {
    mailbox.execute(stream::stop);
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
    return new Statistics(
        snapshots.sum(), unchanged.sum(), stale.sum(), stream.late(), stream.lost());
  }

  private void publishNext(Supplier<DeploymentView> next) {
    try {
      publish(next.get());
    } catch (RuntimeException | Error defect) {
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

  private final class Facts implements ReopenedStream.Follower<DeploymentFacts> {
    @Override
    public Flow.Publisher<DeploymentFacts> publisher() {
      anyOfThisOpening = false;
      return source.facts(scope);
    }

    @Override
    public boolean take(DeploymentFacts facts) {
      snapshots.increment();
      if (anyOfThisOpening && Long.compareUnsigned(facts.revision(), revision) < 0) {
        stale.increment();
        return false;
      }
      anyOfThisOpening = true;
      revision = facts.revision();
      error = null;
      publishNext(() -> tracker.update(facts));
      return true;
    }

    @Override
    public void lost(String how) {
      error = "the stream of deployment facts " + how;
      DeploymentView known = view;
      if (known != null) {
        publishNext(
            () ->
                new DeploymentView(
                    known.factsRevision(),
                    known.membership(),
                    known.sources(),
                    Map.of(),
                    known.problems()));
      }
    }
  }
}
