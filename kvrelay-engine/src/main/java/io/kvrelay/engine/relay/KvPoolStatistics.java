package io.kvrelay.engine.relay;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.ingest.IngestStatistics;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.load.LoadCollector;
import io.kvrelay.engine.load.LoadCoverage;
import io.kvrelay.engine.load.PoolLoadAccount;
import io.kvrelay.engine.pool.PoolActorStatistics;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one pool holds now and has done so far. The counters begin with its generation.
 *
 * @param producer the generation
 * @param endpoint the serving endpoint
 * @param actor the exact state's and the publisher's numbers
 * @param rejectedEvents events of a pool opened by the host that were refused because their
 *     publisher had drifted apart
 * @param rejectedSources publishers that had
 * @param recoveredRanks ranks emptied because memory could not be reserved for an event
 * @param following how the pool follows its deployment, or null if the host opened and feeds it
 */
public record KvPoolStatistics(
    ProducerIdentity producer,
    EndpointId endpoint,
    PoolActorStatistics actor,
    long rejectedEvents,
    long rejectedSources,
    long recoveredRanks,
    @Nullable Following following) {
  /**
   * How a pool follows its deployment.
   *
   * @param ranks every expected rank, in member order, with its trust state and the reason
   * @param ingest what became of its ranks' events
   * @param load the load as it is published
   * @param coverage the load in all dimensions
   * @param reports load reports taken and ignored
   * @param collector the stream of load reports
   */
  public record Following(
      List<RankStatus> ranks,
      IngestStatistics ingest,
      PoolLoad load,
      LoadCoverage coverage,
      PoolLoadAccount.Statistics reports,
      LoadCollector.Statistics collector) {
    /**
     * Copies the list.
     *
     * @param ranks every expected rank
     * @param ingest what became of its ranks' events
     * @param load the load as it is published
     * @param coverage the load in all dimensions
     * @param reports load reports taken and ignored
     * @param collector the stream of load reports
     */
    public Following {
      ranks = List.copyOf(ranks);
    }
  }

  KvPoolStatistics(
      ProducerIdentity producer,
      EndpointId endpoint,
      PoolActorStatistics actor,
      Following following) {
    this(producer, endpoint, actor, 0, 0, 0, following);
  }
}
