package io.kvrelay.engine.relay;

import io.kvrelay.api.EndpointId;
import io.kvrelay.engine.pool.PoolActor;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Lets simulations look at the pools of a running relay. */
public final class RelayPeek {
  private RelayPeek() {}

  /** The actor of an endpoint's running pool, or null. */
  public static @Nullable PoolActor actor(KvDcRelay relay, EndpointId endpoint) {
    DeploymentPool pool = Objects.requireNonNull(relay.deployment()).pool(endpoint);
    return pool == null ? null : pool.actor();
  }
}
