package io.kvrelay.engine.relay;

import io.kvrelay.api.DcId;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.ingest.RecoveryPermits;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.publication.PoolHandle;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.topology.PoolDriver;
import io.kvrelay.engine.topology.PoolPlan;
import io.kvrelay.engine.topology.PoolRun;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Starts the pools that slots ask for, and knows those that run. Thread safe; nothing blocks. The
 * filter is allocated by the registry, away from the slot's mailbox.
 */
final class DeploymentPools implements PoolDriver {
  private final Deployment.Sources sources;
  private final DeploymentConfig config;
  private final DcId dcId;
  private final PoolRegistry registry;
  private final RelayRuntime runtime;
  private final RecoveryPermits permits;
  private final Map<EndpointId, DeploymentPool> running = new ConcurrentHashMap<>();

  DeploymentPools(
      Deployment.Sources sources,
      DeploymentConfig config,
      DcId dcId,
      PoolRegistry registry,
      RelayRuntime runtime) {
    this.sources = sources;
    this.config = config;
    this.dcId = dcId;
    this.registry = registry;
    this.runtime = runtime;
    this.permits = new RecoveryPermits(config.maxConcurrentRecoveries());
  }

  @Override
  public Start start(PoolPlan plan, Events events) {
    PoolSpec spec =
        new PoolSpec(
            plan.basis().poolId(dcId),
            plan.endpoint(),
            config.filterFormat(),
            plan.registrations(),
            plan.basis().semantics(),
            plan.roles());
    CompletableFuture<PoolHandle> attached =
        registry.attach(spec, producer -> new PoolActor(config.pool(), producer, runtime));
    CompletableFuture<PoolRun> result = attached.thenApply(handle -> run(handle, plan, events));
    return new Start() {
      @Override
      public CompletionStage<PoolRun> result() {
        return result;
      }

      @Override
      public void cancel() {
        attached.cancel(false);
      }
    };
  }

  /** What was attached is either running afterwards or removed again. */
  private PoolRun run(PoolHandle handle, PoolPlan plan, Events events) {
    try {
      DeploymentPool pool = new DeploymentPool(this, handle, plan, events);
      running.put(plan.endpoint(), pool);
      return pool;
    } catch (RuntimeException | Error e) {
      handle.fence("the pool did not start: " + e);
      handle.remove();
      throw e;
    }
  }

  void forget(EndpointId endpoint, DeploymentPool pool) {
    running.remove(endpoint, pool);
  }

  @Nullable DeploymentPool find(EndpointId endpoint) {
    return running.get(endpoint);
  }

  /** In the order of pool ids. */
  List<DeploymentPool> running() {
    Collection<DeploymentPool> pools = running.values();
    return pools.stream().sorted(Comparator.comparing(pool -> pool.identity().poolId())).toList();
  }

  int recoveriesInFlight() {
    return config.maxConcurrentRecoveries() - permits.free();
  }

  Deployment.Sources sources() {
    return sources;
  }

  DeploymentConfig config() {
    return config;
  }

  RecoveryPermits permits() {
    return permits;
  }

  RelayRuntime runtime() {
    return runtime;
  }
}
