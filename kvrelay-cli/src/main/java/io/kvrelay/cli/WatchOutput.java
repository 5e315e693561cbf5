package io.kvrelay.cli;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.TopologySnapshot;
import java.net.URI;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Where {@code watch} tells what arrived. One thread. */
interface WatchOutput {
  void info(URI address, RelayIdentity relay);

  /**
   * A catalog.
   *
   * @param repeated whether it is the last one again
   */
  void catalog(PoolCatalog catalog, boolean repeated);

  /**
   * A readiness snapshot.
   *
   * @param repeated whether it is the last one again
   */
  void readiness(TopologySnapshot readiness, boolean repeated);

  void load(LoadSnapshot load);

  /** A frame of a pool's stream; the pool has counted it. */
  void frame(WatchedPool pool, FrameFacts frame);

  /** A producer generation that the catalog no longer shows. */
  void withdrawn(WatchedPool pool);

  /**
   * A stream ended without being asked to.
   *
   * @param stream {@code catalog}, {@code readiness}, {@code load} or {@code pool}
   * @param pool whose stream it was, or null
   * @param failure why, or null if it ended cleanly
   * @param retryMillis when it is opened again, or nothing if it is not
   */
  void ended(
      String stream,
      @Nullable WatchedPool pool,
      @Nullable Throwable failure,
      OptionalLong retryMillis);

  /** Whether nobody reads any more. */
  boolean isBroken();
}
