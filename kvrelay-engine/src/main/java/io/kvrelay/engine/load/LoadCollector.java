package io.kvrelay.engine.load;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.LoadReportSource;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialExecutor;
import io.kvrelay.engine.flow.ReopenedStream;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

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

  private final EndpointId endpoint;
  private final SerialExecutor mailbox;
  private final ReopenedStream<LoadReport> stream;
  private final CompletableFuture<Void> stopped = new CompletableFuture<>();
  private final CompletableFuture<String> failed = new CompletableFuture<>();

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
    this.endpoint = endpoint;
    this.mailbox = new SerialExecutor(runtime.executor());
    this.stream =
        new ReopenedStream<>(runtime, this::post, DEMAND, new Reports(source, endpoint, account));
  }

  /** Subscribes. */
  public void start() {
    post(stream::open);
  }

  /**
   * Stops for good.
   *
   * @return a stage that completes when nothing runs any more; never fails
   */
  public CompletionStage<Void> stop() {
    mailbox.execute(
        () -> {
          stream.stop();
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
    return new Statistics(stream.lost(), stream.late());
  }

  private void post(Runnable task) {
    mailbox.execute(
        () -> {
          try {
            task.run();
          } catch (RuntimeException | Error defect) {
            LOG.log(Level.ERROR, "the load collector of " + endpoint, defect);
            stream.stop();
            failed.complete("the load collector ended by itself: " + defect);
          }
        });
  }

  private record Reports(LoadReportSource source, EndpointId endpoint, PoolLoadAccount account)
      implements ReopenedStream.Follower<LoadReport> {
    @Override
    public Flow.Publisher<LoadReport> publisher() {
      return source.reports(endpoint);
    }

    @Override
    public boolean take(LoadReport report) {
      account.observe(report);
      return true;
    }

    @Override
    public void lost(String how) {
      LOG.log(Level.DEBUG, () -> "the load reports of " + endpoint + ": " + how);
      account.forget();
    }
  }
}
