package io.kvrelay.api.dialin;

import io.kvrelay.api.PoolId;
import io.kvrelay.api.RelayPublicationSource;
import java.util.concurrent.CompletionStage;

/**
 * The relay's side: keeps one connection per pool to every listed router replica. A replica is
 * dialled again for as long as it is listed; each life of a relay dials for itself; the leases of
 * planes come from the router.
 */
public interface RelayDialer {
  /**
   * Connects one pool to one replica. Does not block.
   *
   * @param replica whom to dial
   * @param pool the pool
   * @param source what to serve over the connection
   * @param cancel ends the attempts and the connection once it completes
   * @return the connection, whether or not it is up
   */
  OutboundConnection dial(
      RouterReplica replica,
      PoolId pool,
      RelayPublicationSource source,
      CompletionStage<Void> cancel);
}
