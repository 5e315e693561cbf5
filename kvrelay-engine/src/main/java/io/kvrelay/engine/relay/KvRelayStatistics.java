package io.kvrelay.engine.relay;

import io.kvrelay.api.RelayIdentity;
import io.kvrelay.engine.publication.PublicationStatistics;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a relay holds now and has done so far. A consistent moment is not promised.
 *
 * @param relay which life of which relay
 * @param publication what it publishes; a relay that follows a deployment watches its own catalog
 *     and is one of the subscribers
 * @param pools open pools in the order of their ids
 * @param deployment what it knows of its deployment, or null if it does not follow one
 */
public record KvRelayStatistics(
    RelayIdentity relay,
    PublicationStatistics publication,
    List<KvPoolStatistics> pools,
    @Nullable KvDeploymentStatistics deployment) {
  /**
   * Copies the list.
   *
   * @param relay which life of which relay
   * @param publication what it publishes
   * @param pools open pools in the order of their ids
   * @param deployment what it knows of its deployment, or null
   */
  public KvRelayStatistics {
    pools = List.copyOf(pools);
  }
}
