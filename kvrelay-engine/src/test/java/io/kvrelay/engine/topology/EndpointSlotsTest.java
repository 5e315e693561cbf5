package io.kvrelay.engine.topology;

import static io.kvrelay.engine.topology.Cards.E1;
import static io.kvrelay.engine.topology.Cards.E2;
import static io.kvrelay.engine.topology.Cards.base;
import static io.kvrelay.engine.topology.Cards.source;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.topology.SlotCounters.Event;
import io.kvrelay.engine.topology.SourceFault.Action;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class EndpointSlotsTest {
  @BeforeAll
  static void quiet() {
    Quiet.topology();
  }

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ScriptedDriver driver = new ScriptedDriver();
  private final List<TopologySnapshot> topologies = new ArrayList<>();
  private final TopologyProjection topology =
      new TopologyProjection(MembershipView.EMPTY, topologies::add);
  private final EndpointSlots slots = new EndpointSlots(runtime, driver, topology);
  private final HostDeployment host = new HostDeployment(runtime.executor());
  private final DeploymentTracker tracker = new DeploymentTracker(DiscoveryScope.ALL);
  private final ModelCard.Builder card = base(E1, 1, "m");

  private void apply() {
    slots.apply(tracker.update(host.current()));
    runtime.runUntilIdle();
  }

  private void put(ModelCard.Builder next) {
    host.put(next.build());
    apply();
  }

  /** An endpoint with everything that a pool needs. */
  private void complete(EndpointId endpoint, long worker) {
    host.put(base(endpoint, worker, "m" + worker).build());
    host.live(endpoint, Set.of(worker));
    host.advertise(source(endpoint, worker, 0, worker));
    apply();
  }

  private void startE1() {
    host.put(card.build());
    host.live(E1, Set.of(1L));
    host.advertise(source(E1, 1, 0, 11));
    apply();
  }

  private SlotState state() {
    return slots.state(E1);
  }

  private static SourceFault fault(long worker, Action action) {
    return new SourceFault(
        new Member(worker, 0),
        11,
        action,
        OptionalLong.of(3),
        KvEventErrorKind.PARENT_BLOCK_NOT_FOUND);
  }

  private long counted(Event event) {
    return slots.counters().get(event);
  }

  @Test
  void theLastSlotIncarnationIsUsedAndNoneIsGivenOutTwice() {
    EndpointSlots last = new EndpointSlots(runtime, driver, topology, -2L);
    complete(E1, 1);
    last.apply(tracker.update(host.current()));
    runtime.runUntilIdle();
    assertThat(last.state(E1)).isEqualTo(SlotState.ACTIVE);

    host.put(base(E2, 2, "m2").build());
    assertThatThrownBy(() -> last.apply(tracker.update(host.current())))
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT))
        .hasMessageContaining("incarnation");
    runtime.runUntilIdle();
    assertThat(last.state(E2)).as("it never had a slot").isEqualTo(SlotState.LIGHTWEIGHT);
    assertThat(last.state(E1)).as("its neighbour stands").isEqualTo(SlotState.ACTIVE);
  }

  @Test
  void aSlotIsDiscoveredUntilItsSourceAppearsAndThenActive() {
    assertThat(state()).isEqualTo(SlotState.LIGHTWEIGHT);
    put(card);
    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
    driver.holdStarts = true;
    startE1();
    assertThat(state()).isEqualTo(SlotState.STARTING);
    driver.lastAttempt().succeed();
    runtime.runUntilIdle();

    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(driver.lastAttempt().plan.sources().hasActiveSource()).isTrue();
    assertThat(driver.takeLog()).containsExactly("start");
  }

  @Test
  void aLostSourceRetiresGracefullyAndReadinessStays() {
    startE1();
    driver.takeLog();
    host.withdraw(E1, new Member(1, 0), 11);
    apply();

    assertThat(driver.takeLog())
        .containsExactly(
            "withdraw 1", "stopRecovery 1", "stopCollector 1", "finishActor 1", "remove 1");
    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
    assertThat(topologies.get(topologies.size() - 1).entries().get(0).state())
        .isEqualTo(ServingState.READY);
  }

  @Test
  void withdrawalComesBeforeTeardownAndTheTailBeforeTheRemoval() {
    startE1();
    driver.takeLog();
    driver.holdTeardown = true;
    host.withdraw(E1, new Member(1, 0), 11);
    apply();

    assertThat(state()).isEqualTo(SlotState.DRAINING);
    assertThat(driver.takeLog()).containsExactly("withdraw 1", "stopRecovery 1", "stopCollector 1");
    driver.lastRun().recovery.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.takeLog()).containsExactly("finishActor 1");
    driver.lastRun().actor.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.takeLog()).isEmpty();
    driver.lastRun().collector.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.takeLog()).containsExactly("remove 1");
    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
  }

  @Test
  void aConflictFencesRecoveryAndActorAtOnceAndHeals() {
    startE1();
    driver.takeLog();
    driver.holdTeardown = true;
    put(base(E1, 2, "m").kvBlockSize(64));

    assertThat(state()).isEqualTo(SlotState.FENCED);
    assertThat(driver.takeLog())
        .containsExactly("fence 1", "stopRecovery 1", "fenceActor 1", "stopCollector 1");
    driver.lastRun().recovery.complete(null);
    driver.lastRun().actor.complete(null);
    driver.lastRun().collector.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.takeLog()).containsExactly("remove 1");
    assertThat(state()).isEqualTo(SlotState.FENCED);
    assertThat(slots.problems().toString()).contains("base cards name 2 domains");

    host.remove(E1, 2, null);
    apply();
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(slots.problems()).isEmpty();
  }

  @Test
  void aChangedBindingRetiresTheOldGenerationCompletelyFirst() {
    startE1();
    driver.takeLog();
    driver.holdTeardown = true;
    put(base(E1, 1, "m").sourcePath("other"));

    assertThat(driver.takeLog()).contains("withdraw 1").doesNotContain("start");
    driver.lastRun().recovery.complete(null);
    driver.lastRun().actor.complete(null);
    driver.lastRun().collector.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.takeLog()).containsSubsequence("remove 1", "start");
    assertThat(driver.lastAttempt().plan.basis()).isNotEqualTo(driver.attempts.get(0).plan.basis());
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
  }

  @Test
  void aChangedKvStateEndpointIsAnotherBinding() {
    startE1();
    host.put(base(E1, 1, "m").runtime(RuntimeConfig.DEFAULT.withKvStateEndpoint(E2)).build());
    host.advertise(source(E2, 1, 0, 11));
    driver.takeLog();
    apply();

    assertThat(driver.takeLog()).containsSubsequence("withdraw 1", "remove 1", "start");
  }

  @Test
  void namesRolesAndCapacityChangeInPlace() {
    startE1();
    driver.takeLog();
    put(base(E1, 1, "m").aliases("chat"));
    put(base(E1, 1, "m").aliases("chat").runtime(RuntimeConfig.ranks(0, 1, 77)));

    assertThat(driver.takeLog()).containsExactly("update 1", "update 1");
    assertThat(driver.lastRun().updates.get(0).registrations().get(0).aliases())
        .containsExactly("chat");
    assertThat(driver.lastRun().updates.get(1).workers().get(0).runtime().totalKvBlocks())
        .hasValue(77);
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(counted(Event.UPDATES)).isEqualTo(2);
  }

  @Test
  void prefillAndDecodePoolsOfOneModelGoIndependently() {
    host.put(base(E2, 2, "m").role(WorkerRole.DECODE).build());
    host.advertise(source(E2, 2, 0, 2));
    host.put(card.role(WorkerRole.PREFILL).build());
    startE1();
    host.withdraw(E1, new Member(1, 0), 11);
    apply();

    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
    assertThat(slots.state(E2)).isEqualTo(SlotState.ACTIVE);
  }

  @Test
  void cardsThatDisagreeOnTheKvStateEndpointLeaveAMemberWithoutAPool() {
    startE1();
    driver.takeLog();
    put(base(E1, 2, "m").runtime(RuntimeConfig.DEFAULT.withKvStateEndpoint(E2)));

    assertThat(driver.takeLog()).contains("withdraw 1", "finishActor 1");
    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
    assertThat(topologies.get(topologies.size() - 1).entries().get(0).state())
        .isEqualTo(ServingState.READY);
  }

  @Test
  void aFailedUpdateIsTriedAgainOnTheNextChange() {
    startE1();
    driver.takeLog();
    driver.failUpdates = true;
    put(base(E1, 1, "m").aliases("chat"));
    driver.failUpdates = false;
    apply();
    apply();

    assertThat(driver.takeLog()).containsExactly("update 1", "update 1");
    assertThat(counted(Event.FAILED_UPDATES)).isEqualTo(1);
    assertThat(counted(Event.UPDATES)).isEqualTo(1);
  }

  @Test
  void changedSourcesAreReconciledOnce() {
    host.put(card.runtime(RuntimeConfig.ranks(0, 2, 1)).build());
    startE1();
    driver.takeLog();
    host.advertise(source(E1, 1, 1, 12));
    apply();
    apply();

    assertThat(driver.takeLog()).containsExactly("reconcile 1");
    assertThat(driver.lastRun().reconciled.get(0).ranks()).hasSize(2);
  }

  @Test
  void membershipThatChangesDuringAStartStopsTheCandidate() {
    driver.holdStarts = true;
    startE1();
    // The start had already succeeded when it was told to give up.
    ScriptedDriver.Attempt first = driver.lastAttempt();
    first.succeed();
    host.put(base(E1, 1, "m").aliases("chat").build());
    slots.apply(tracker.update(host.current()));
    driver.holdStarts = false;
    runtime.runUntilIdle();

    // In order: the success was posted first, so the update reached a running generation.
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(driver.lastRun().updates).hasSize(1);

    driver.holdStarts = true;
    put(base(E1, 1, "m").sourcePath("other"));
    ScriptedDriver.Attempt second = driver.lastAttempt();
    host.put(base(E1, 1, "m").sourcePath("other").aliases("x").build());
    slots.apply(tracker.update(host.current()));
    second.succeed();
    driver.holdStarts = false;
    driver.takeLog();
    runtime.runUntilIdle();

    assertThat(counted(Event.CANDIDATES_STOPPED)).isEqualTo(1);
    assertThat(driver.takeLog()).containsSubsequence("cancel", "withdraw 2", "remove 2", "start");
    assertThat(driver.lastAttempt().plan.registrations().get(0).aliases()).containsExactly("x");
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
  }

  @Test
  void aStartThatWasGivenUpIsNoFailure() {
    driver.holdStarts = true;
    startE1();
    host.withdraw(E1, new Member(1, 0), 11);
    apply();

    assertThat(driver.takeLog()).containsExactly("start", "cancel");
    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
    assertThat(counted(Event.START_FAILURES)).isZero();
    assertThat(runtime.pendingTimers()).isZero();
  }

  @Test
  void failedStartsAreRepeatedWithDoublingDelays() {
    driver.failStarts = true;
    startE1();
    assertThat(state()).isEqualTo(SlotState.FENCED);
    assertThat(slots.problems().toString()).contains("no room");
    for (int millis : new int[] {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
      int before = driver.attempts.size();
      runtime.advance(Duration.ofMillis(millis - 1));
      assertThat(driver.attempts).hasSize(before);
      runtime.advance(Duration.ofMillis(1));
      assertThat(driver.attempts).hasSize(before + 1);
    }
  }

  @Test
  void anotherBindingStartsAtOnceAndWithTheFirstDelay() {
    driver.throwOnStart = true;
    startE1();
    runtime.advance(Duration.ofMillis(300));
    assertThat(driver.attempts).hasSize(3);
    put(base(E1, 1, "m").sourcePath("other"));
    assertThat(driver.attempts).hasSize(4);
    runtime.advance(Duration.ofMillis(99));
    assertThat(driver.attempts).hasSize(4);
    driver.throwOnStart = false;
    runtime.advance(Duration.ofMillis(1));

    assertThat(driver.attempts).hasSize(5);
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(slots.problems()).isEmpty();
    assertThat(runtime.pendingTimers()).isZero();
  }

  @Test
  void aGenerationThatDiesIsFencedAndReplaced() {
    startE1();
    driver.takeLog();
    driver.lastAttempt().events.fence("the actor died");
    runtime.runUntilIdle();

    assertThat(driver.takeLog())
        .containsExactly(
            "fence 1", "stopRecovery 1", "fenceActor 1", "stopCollector 1", "remove 1");
    assertThat(state()).isEqualTo(SlotState.FENCED);
    assertThat(slots.problems().toString()).contains("the actor died");
    runtime.advance(Duration.ofMillis(100));
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(driver.runs).hasSize(2);
  }

  @Test
  void eventsOfAnOldGenerationDoNotTouchItsSuccessor() {
    startE1();
    PoolDriver.Events old = driver.lastAttempt().events;
    old.fence("once");
    runtime.advance(Duration.ofMillis(100));
    driver.takeLog();

    old.fence("again");
    old.sourceFault(fault(1, Action.REJECT));
    runtime.advance(Duration.ofSeconds(10));
    assertThat(driver.takeLog()).isEmpty();
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(counted(Event.FAULTS_DISCARDED)).isEqualTo(1);
  }

  @Test
  void aGenerationThatFailsWhileItDrainsNoLongerDrains() {
    startE1();
    driver.takeLog();
    driver.holdTeardown = true;
    host.withdraw(E1, new Member(1, 0), 11);
    apply();
    driver.takeLog();
    driver.lastAttempt().events.fence("the actor died");
    runtime.runUntilIdle();

    assertThat(driver.takeLog()).containsExactly("fence 1", "fenceActor 1");
    assertThat(state()).isEqualTo(SlotState.FENCED);
    driver.lastRun().recovery.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.takeLog()).containsExactly("fenceActor 1");
    driver.lastRun().actor.complete(null);
    driver.lastRun().collector.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.takeLog()).containsExactly("remove 1");
    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
  }

  @Test
  void faultsAreHandledOneAtATimeAndCoalesced() {
    startE1();
    PoolDriver.Events events = driver.lastAttempt().events;
    driver.takeLog();
    events.sourceFault(fault(1, Action.RECOVER));
    events.sourceFault(fault(2, Action.RECOVER));
    events.sourceFault(fault(2, Action.RECOVER));
    events.sourceFault(fault(2, Action.REJECT));
    runtime.runUntilIdle();
    assertThat(driver.lastRun().faults).containsExactly(fault(1, Action.RECOVER));

    driver.lastRun().outcomes.get(0).complete(PoolDriver.FaultOutcome.HANDLED);
    runtime.runUntilIdle();
    driver.lastRun().outcomes.get(1).complete(PoolDriver.FaultOutcome.HANDLED);
    runtime.runUntilIdle();
    assertThat(driver.lastRun().faults)
        .containsExactly(fault(1, Action.RECOVER), fault(2, Action.REJECT));
    assertThat(counted(Event.FAULTS_COALESCED)).isEqualTo(1);
    assertThat(counted(Event.FAULTS_HANDLED)).isEqualTo(2);
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
  }

  @Test
  void aFaultThatEndsInAPoolFenceRestartsThePool() {
    startE1();
    driver.lastAttempt().events.sourceFault(fault(1, Action.RECOVER));
    runtime.runUntilIdle();
    driver.lastRun().outcomes.get(0).complete(PoolDriver.FaultOutcome.FENCE_POOL);
    runtime.runUntilIdle();
    assertThat(state()).isEqualTo(SlotState.FENCED);
    runtime.advance(Duration.ofMillis(100));
    assertThat(state()).isEqualTo(SlotState.ACTIVE);

    driver.lastAttempt().events.sourceFault(fault(1, Action.RECOVER));
    runtime.runUntilIdle();
    driver.lastRun().outcomes.get(0).completeExceptionally(new IllegalStateException("defect"));
    runtime.runUntilIdle();
    assertThat(state()).isEqualTo(SlotState.FENCED);
  }

  @Test
  void aProducerFenceDoesNotWaitForTheFaultBeingHandled() {
    startE1();
    PoolDriver.Events events = driver.lastAttempt().events;
    events.sourceFault(fault(1, Action.RECOVER));
    runtime.runUntilIdle();
    events.fence("an invariant is broken");
    runtime.runUntilIdle();
    assertThat(state()).isEqualTo(SlotState.FENCED);

    runtime.advance(Duration.ofMillis(100));
    driver.runs.get(0).outcomes.get(0).complete(PoolDriver.FaultOutcome.FENCE_POOL);
    runtime.runUntilIdle();
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
  }

  @Test
  void seventeenFaultyRanksFenceThePool() {
    startE1();
    for (int worker = 0; worker <= 17; worker++) {
      driver.lastAttempt().events.sourceFault(fault(worker, Action.RECOVER));
    }
    runtime.runUntilIdle();

    assertThat(driver.runs.get(0).faults).hasSize(1);
    assertThat(state()).isEqualTo(SlotState.FENCED);
  }

  @Test
  void faultsThatAriseDuringTheStartWaitForIt() {
    driver.holdStarts = true;
    startE1();
    driver.lastAttempt().events.sourceFault(fault(1, Action.RECOVER));
    runtime.runUntilIdle();
    assertThat(state()).isEqualTo(SlotState.STARTING);
    driver.lastAttempt().succeed();
    runtime.runUntilIdle();

    assertThat(driver.lastRun().faults).hasSize(1);
  }

  @Test
  void pendingFaultsAreDiscardedByARetirement() {
    startE1();
    driver.lastAttempt().events.sourceFault(fault(1, Action.RECOVER));
    driver.lastAttempt().events.sourceFault(fault(2, Action.RECOVER));
    runtime.runUntilIdle();
    host.withdraw(E1, new Member(1, 0), 11);
    apply();
    driver.lastRun().outcomes.get(0).complete(PoolDriver.FaultOutcome.HANDLED);
    runtime.runUntilIdle();

    assertThat(driver.lastRun().faults).hasSize(1);
    assertThat(counted(Event.FAULTS_DISCARDED)).isEqualTo(1);
  }

  @Test
  void aTeardownStepThatFailsDoesNotStopTheOthers() {
    startE1();
    driver.takeLog();
    driver.failTeardown = true;
    host.withdraw(E1, new Member(1, 0), 11);
    apply();

    assertThat(driver.takeLog()).endsWith("remove 1").contains("finishActor 1");
    assertThat(counted(Event.FAILED_STEPS)).isEqualTo(3);
  }

  @Test
  void aDepartedEndpointDrainsInTheBackgroundAndItsReturnWaitsForItAlone() {
    startE1();
    complete(E2, 2);
    driver.holdTeardown = true;
    driver.takeLog();
    host.edit(h -> h.removeWorker(E1, 1));
    apply();
    assertThat(slots.departing()).isEqualTo(1);
    assertThat(slots.count(null)).isEqualTo(1);
    assertThat(slots.state(E2)).isEqualTo(SlotState.ACTIVE);

    startE1();
    assertThat(driver.attempts).hasSize(2);
    assertThat(state()).isEqualTo(SlotState.DISCOVERED);
    put(base(E2, 2, "m2").aliases("x"));
    assertThat(driver.takeLog()).contains("update 2");

    ScriptedDriver.Run old = driver.runs.get(0);
    old.recovery.complete(null);
    old.actor.complete(null);
    old.collector.complete(null);
    runtime.runUntilIdle();
    assertThat(driver.attempts).hasSize(3);
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
    assertThat(slots.departing()).isZero();
  }

  @Test
  void aReturningEndpointIsUnknownUntilItsNewSlotHasWritten() {
    startE1();
    host.removeWorker(E1, 1);
    apply();
    host.put(card.build());
    host.livenessUnknown(E1);
    apply();

    assertThat(topologies.get(topologies.size() - 1).entries().get(0).state())
        .isEqualTo(ServingState.UNKNOWN);
  }

  @Test
  void stoppingRetiresEveryPoolGracefullyAndLeavesNoTimer() {
    startE1();
    driver.failStarts = true;
    complete(E2, 2);
    driver.takeLog();
    CompletableFuture<Void> stopped = slots.stop().toCompletableFuture();
    runtime.runUntilIdle();

    assertThat(stopped).isCompleted();
    assertThat(driver.takeLog())
        .containsExactly(
            "withdraw 1", "stopRecovery 1", "stopCollector 1", "finishActor 1", "remove 1");
    assertThat(runtime.pendingTimers()).isZero();
    apply();
    assertThat(driver.takeLog()).isEmpty();
    assertThat(slots.stop().toCompletableFuture()).isCompleted();
  }

  @Test
  void aSharedPoolFencesBothEndpointsAndOneHealsWhenTheOtherIsGone() {
    for (EndpointId endpoint : List.of(E1, E2)) {
      host.put(base(endpoint, 1, "m").explicitScope(Map.of("k", "v")).build());
      host.advertise(source(endpoint, 1, 0, 11));
    }
    apply();
    assertThat(state()).isEqualTo(SlotState.FENCED);
    assertThat(slots.state(E2)).isEqualTo(SlotState.FENCED);
    assertThat(driver.attempts).isEmpty();

    host.remove(E2, 1, null);
    apply();
    assertThat(state()).isEqualTo(SlotState.ACTIVE);
  }

  @Test
  void healthFollowsFencedEndpointsHostErrorsAndTheTransport() {
    HealthTracker tracked = new HealthTracker();
    startE1();
    assertThat(health(tracked).healthy()).isTrue();
    assertThat(health(tracked).activeEndpointCount()).isEqualTo(1);

    put(base(E1, 2, "m").kvBlockSize(64));
    assertThat(health(tracked).healthy()).isFalse();
    assertThat(health(tracked).fencedEndpointCount()).isEqualTo(1);
    host.remove(E1, 2, null);
    apply();
    assertThat(health(tracked).healthy()).isTrue();

    tracked.wanEnabled();
    assertThat(health(tracked).healthy()).isFalse();
    tracked.wanServing("127.0.0.1:1");
    assertThat(health(tracked).healthy()).isTrue();
    tracked.wanStopped("bind failed");
    assertThat(health(tracked).healthy()).isFalse();
    assertThat(health(tracked).wanLastError()).isEqualTo("bind failed");
  }

  @Test
  void theFirstHostErrorStaysAndANormalStopRecordsNone() {
    HealthTracker stopped = new HealthTracker();
    stopped.shuttingDown();
    assertThat(health(stopped).healthy()).isFalse();
    assertThat(health(stopped).shuttingDown()).isTrue();
    assertThat(health(stopped).hostLastError()).isNull();

    HealthTracker failed = new HealthTracker();
    assertThat(failed.hostFailed("first")).isTrue();
    assertThat(failed.hostFailed("second")).isFalse();
    assertThat(health(failed).hostLastError()).isEqualTo("first");
    assertThat(health(failed).healthy()).isFalse();
  }

  private RelayHealth health(HealthTracker tracked) {
    return tracked.health(slots, null, List.of());
  }
}
