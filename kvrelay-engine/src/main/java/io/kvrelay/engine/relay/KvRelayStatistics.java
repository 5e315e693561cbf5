package io.kvrelay.engine.relay;

import io.kvrelay.api.RelayIdentity;
import io.kvrelay.engine.publication.PublicationStatistics;
import java.util.List;

/**
 * What a relay holds now and has done so far. A consistent moment is not promised.
 *
 * @param relay which life of which relay
 * @param publication what it publishes
 * @param pools open pools in the order of their ids
 */
public record KvRelayStatistics(
    RelayIdentity relay, PublicationStatistics publication, List<KvPoolStatistics> pools) {
  /**
   * Copies the list.
   *
   * @param relay which life of which relay
   * @param publication what it publishes
   * @param pools open pools in the order of their ids
   */
  public KvRelayStatistics {
    pools = List.copyOf(pools);
  }
}
