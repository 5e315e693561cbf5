package io.kvrelay.engine.relay;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.ingest.PoolIngest;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.load.LoadCollector;
import io.kvrelay.engine.load.PoolLoadAccount;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolFault;
import io.kvrelay.engine.pool.PoolFaults;
import io.kvrelay.engine.publication.PoolHandle;
import io.kvrelay.engine.topology.PoolDriver;
import io.kvrelay.engine.topology.PoolPlan;
import io.kvrelay.engine.topology.PoolRun;
import io.kvrelay.engine.topology.SourceFault;
import io.kvrelay.engine.topology.WorkerFacts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;

/**
 * One running generation of a deployment's pool: its actor, what feeds it, and its load. The slot
 * calls it and decides; this only carries out.
 */
final class DeploymentPool implements PoolRun {
  /** Ranks that health names; a fleet that fails as a whole is not listed rank by rank. */
  private static final int MAX_PROBLEMS = 32;

  private final DeploymentPools pools;
  private final PoolHandle handle;
  private final PoolActor actor;
  private final EndpointId endpoint;
  private final PoolDriver.Events events;
  private final PoolLoadAccount load;
  private final LoadCollector collector;
  private final PoolIngest ingest;

  /** Starts everything that belongs to an attached generation. */
  DeploymentPool(
      DeploymentPools pools, PoolHandle handle, PoolPlan plan, PoolDriver.Events events) {
    this.pools = pools;
    this.handle = handle;
    // The registry hands back what the factory made.
    this.actor = (PoolActor) handle.producer();
    this.endpoint = plan.endpoint();
    this.events = events;
    this.load = new PoolLoadAccount(handle.identity(), handle::updateLoad);
    this.collector = new LoadCollector(pools.runtime(), pools.sources().loads(), endpoint, load);
    this.ingest =
        PoolIngest.start(
            plan.sources(),
            actor,
            pools.sources().events(),
            pools.permits(),
            pools.config().ingest(),
            pools.runtime(),
            events::fence);
    PoolFaults faults = actor.faults();
    faults.onSignal(() -> reportAll(faults));
    handle.fenced().thenAccept(events::fence);
    collector.failed().thenAccept(events::fence);
    load.capacity(capacity(plan));
    collector.start();
  }

  private static Map<Long, RuntimeConfig> capacity(PoolPlan plan) {
    Map<Long, RuntimeConfig> workers = new HashMap<>();
    for (WorkerFacts worker : plan.workers()) {
      workers.put(worker.workerId(), worker.runtime());
    }
    return workers;
  }

  private void reportAll(PoolFaults faults) {
    for (PoolFault fault = faults.poll(); fault != null; fault = faults.poll()) {
      report(fault);
    }
  }

  private void report(PoolFault fault) {
    switch (fault.action()) {
      case RECOVER_RANK -> events.sourceFault(sourceFault(fault, SourceFault.Action.RECOVER));
      case REJECT_SOURCE -> events.sourceFault(sourceFault(fault, SourceFault.Action.REJECT));
      case FENCE_PRODUCER ->
          events.fence(fault.kind() + " at event " + Long.toUnsignedString(fault.eventId()));
    }
  }

  private static SourceFault sourceFault(PoolFault fault, SourceFault.Action action) {
    return new SourceFault(
        fault.member(),
        fault.publisherId(),
        action,
        OptionalLong.of(fault.eventId()),
        fault.kind());
  }

  private static PoolFault poolFault(SourceFault fault) {
    return new PoolFault(
        fault.publisherId(),
        fault.member(),
        fault.eventId().orElse(0),
        fault.kind(),
        switch (fault.action()) {
          case RECOVER -> PoolFault.Action.RECOVER_RANK;
          case REJECT -> PoolFault.Action.REJECT_SOURCE;
        });
  }

  ProducerIdentity identity() {
    return handle.identity();
  }

  @Override
  public boolean update(PoolPlan plan) {
    if (!handle.update(plan.registrations(), plan.roles())) {
      return false;
    }
    load.capacity(capacity(plan));
    return true;
  }

  @Override
  public void reconcile(EndpointSources sources) {
    ingest.reconcile(sources);
  }

  @Override
  public CompletionStage<PoolDriver.FaultOutcome> handle(SourceFault fault) {
    return ingest
        .handle(poolFault(fault))
        .thenApply(
            outcome ->
                switch (outcome) {
                  case HANDLED -> PoolDriver.FaultOutcome.HANDLED;
                  case FENCE_POOL -> PoolDriver.FaultOutcome.FENCE_POOL;
                });
  }

  @Override
  public void withdraw(boolean fenced, String reason) {
    load.end();
    if (fenced) {
      handle.fence(reason);
    } else {
      handle.withdraw();
    }
  }

  @Override
  public CompletionStage<?> stopRecovery() {
    return ingest.stop();
  }

  @Override
  public CompletionStage<?> stopActor(boolean graceful) {
    if (graceful) {
      return actor.shutdown();
    }
    actor.fence("the pool is retired");
    return actor.terminated();
  }

  @Override
  public CompletionStage<?> stopCollector() {
    return collector.stop();
  }

  @Override
  public void remove() {
    pools.forget(endpoint, this);
    handle.remove();
  }

  CompletionStage<Void> clearRank(Member member) {
    return ingest.clearRank(member);
  }

  PoolActor actor() {
    return actor;
  }

  /** What an operator should look at: ranks that are not exact, a capacity that was refused. */
  List<RelayHealth.Problem> problems() {
    List<RelayHealth.Problem> problems = new ArrayList<>();
    String refused = load.refusal();
    if (refused != null) {
      problems.add(new RelayHealth.Problem(endpoint.toString(), refused));
    }
    int more = 0;
    for (RankStatus rank : ingest.ranks()) {
      if (rank.trust() != SourceTrust.EXACT) {
        if (problems.size() < MAX_PROBLEMS) {
          problems.add(problem(rank));
        } else {
          more++;
        }
      }
    }
    if (more > 0) {
      problems.add(
          new RelayHealth.Problem(endpoint.toString(), more + " more ranks that are not exact"));
    }
    return problems;
  }

  private RelayHealth.Problem problem(RankStatus rank) {
    String subject =
        endpoint
            + " worker "
            + Long.toUnsignedString(rank.member().workerId())
            + " rank "
            + Integer.toUnsignedString(rank.member().dpRank());
    String why = rank.source() == SourceStatus.MISSING ? "no event source" : rank.reason();
    return new RelayHealth.Problem(subject, rank.trust() + ": " + why);
  }

  KvPoolStatistics statistics() {
    return new KvPoolStatistics(
        handle.identity(),
        endpoint,
        actor.statistics(),
        new KvPoolStatistics.Following(
            ingest.ranks(),
            ingest.statistics(),
            load.load(),
            load.coverage(),
            load.statistics(),
            collector.statistics()));
  }
}
