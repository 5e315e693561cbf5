package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.BUCKETS;
import static io.kvrelay.engine.view.LaneFixtures.CONSUMER;
import static io.kvrelay.engine.view.LaneFixtures.DOMAIN;
import static io.kvrelay.engine.view.LaneFixtures.FORMAT;
import static io.kvrelay.engine.view.LaneFixtures.delta;
import static io.kvrelay.engine.view.LaneFixtures.errorOf;
import static io.kvrelay.engine.view.LaneFixtures.identity;
import static io.kvrelay.engine.view.LaneFixtures.lease;
import static io.kvrelay.engine.view.LaneFixtures.manifest;
import static io.kvrelay.engine.view.LaneFixtures.now;
import static io.kvrelay.engine.view.LaneFixtures.pool;
import static io.kvrelay.engine.view.LaneFixtures.pools;
import static io.kvrelay.engine.view.LaneFixtures.words;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.ForwardingRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.IntConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class IngestionPoolTest {
  private static final IngestionConfig CONFIG =
      IngestionConfig.DEFAULT.withMaxDirtyToAppliedAge(Duration.ofSeconds(1));

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final Probe probe = new Probe();
  private final Heard heard = new Heard();
  private final RecordedLog log = RecordedLog.of(IngestWorker.class);
  private LaneIndex index = new LaneIndex(manifest(4));
  private IngestionPool pool = new IngestionPool(index, CONFIG, runtime, probe);

  @AfterEach
  void closeTheLog() {
    log.close();
  }

  private void assertThatWorkersFailed(int times) {
    assertThat(log.thrown()).hasSize(times).allMatch(IllegalStateException.class::isInstance);
  }

  /** Fails or interferes where a test says so. */
  private static final class Probe implements IngestProbe {
    Runnable beforeCommand = () -> {};
    IntConsumer afterDelta = lane -> {};
    IntConsumer beforeActivation = lane -> {};
    IntConsumer afterAssignment = lane -> {};

    @Override
    public void beforeCommand(IngestCommand command) {
      beforeCommand.run();
    }

    @Override
    public void afterDelta(int lane) {
      afterDelta.accept(lane);
    }

    @Override
    public void beforeActivation(int lane) {
      beforeActivation.accept(lane);
    }

    @Override
    public void afterAssignment(int lane) {
      afterAssignment.accept(lane);
    }
  }

  private static final class Heard implements LaneListener {
    final List<IngestResult> deltas = new ArrayList<>();
    final List<IngestFault> faults = new ArrayList<>();

    @Override
    public void onDelta(LaneDelta delta, IngestResult result) {
      deltas.add(result);
    }

    @Override
    public void onFault(IngestFault fault) {
      faults.add(fault);
    }
  }

  private void configure(int lanes, IngestionConfig config) {
    index = new LaneIndex(manifest(lanes));
    pool = new IngestionPool(index, config, runtime, probe);
  }

  private CompletionStage<Void> assign(int lane, long epoch) {
    CompletionStage<Void> assigned = pool.assign(identity(lane), lease(lane, epoch), heard);
    runtime.runUntilIdle();
    return assigned;
  }

  private CompletionStage<IngestOutcome> install(int lane, long epoch, long sequence) {
    CompletionStage<IngestOutcome> installed =
        pool.installSnapshot(identity(lane), lease(lane, epoch), sequence, words(0));
    runtime.runUntilIdle();
    return installed;
  }

  private void ready(int lane, long epoch, long sequence) {
    assertThat(errorOf(assign(lane, epoch))).isNull();
    assertThat(now(install(lane, epoch, sequence)).result())
        .isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
  }

  private CompletionStage<IngestOutcome> drain(int lane, long epoch, long sequence) {
    CompletionStage<IngestOutcome> drained = pool.completeDrain(lease(lane, epoch), sequence);
    runtime.runUntilIdle();
    return drained;
  }

  @Test
  void everySettingIsChecked() {
    IngestionConfig config = IngestionConfig.DEFAULT;
    assertThat(errorOf(() -> config.withWorkers(0))).isEqualTo(LaneError.INVALID_WORKER_COUNT);
    assertThat(errorOf(() -> config.withQueueCapacity(0)))
        .isEqualTo(LaneError.INVALID_QUEUE_CAPACITY);
    assertThat(errorOf(() -> config.withControlTimeout(Duration.ZERO)))
        .isEqualTo(LaneError.INVALID_CONTROL_TIMEOUT);
    assertThat(errorOf(() -> config.withMaxOutstandingImages(0)))
        .isEqualTo(LaneError.INVALID_OUTSTANDING_IMAGE_BOUND);
    assertThat(errorOf(() -> config.withMaxDirtyToAppliedAge(Duration.ofNanos(-1))))
        .isEqualTo(LaneError.INVALID_DIRTY_TO_APPLIED_AGE);
  }

  @Test
  void lanesStickToTheWorkersOfTheContract() {
    assertThat(workers(11)).containsExactly(1, 0, 2, 3, 0, 1, 0, 1, 0, 1, 1, 3, 2, 1, 0, 0);
    assertThat(workers(17)).containsExactly(2, 3, 1, 2, 1, 2, 1, 1, 1, 0, 1, 2, 2, 3, 2, 1);
    assertThat(workers(0xC0DECAFEL))
        .containsExactly(3, 2, 1, 1, 0, 3, 3, 1, 1, 2, 2, 1, 1, 1, 2, 3);
  }

  private int[] workers(long consumer) {
    LaneIndex of = new LaneIndex(Manifest.of(consumer, DOMAIN, FORMAT, pools(16)));
    IngestionPool ingestion = new IngestionPool(of, CONFIG, runtime, new ViewCounters());
    int[] workers = new int[16];
    for (int lane = 0; lane < 16; lane++) {
      workers[lane] = ingestion.workerForLane(lane);
    }
    return workers;
  }

  @Test
  void aDrainProvesTheDeltasQueuedBeforeIt() {
    ready(0, 1, 4);
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 9, 99))).isEqualTo(Admission.ADMITTED);
    assertThat(now(drain(0, 1, 5)).result()).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);
    assertThat(index.table().get(9, 0)).isEqualTo(99);
    assertThat(index.isReady(0)).isTrue();
    assertThat(heard.deltas).containsExactly(IngestResult.DELTA_APPLIED);
    assertThat(pool.counters().imagesApplied()).isEqualTo(1);
  }

  @Test
  void aGapDeactivatesOnlyItsLane() {
    ready(0, 1, 4);
    ready(1, 1, 4);
    pool.submitDelta(delta(0, 1, 5, 6, 9, 99));
    runtime.runUntilIdle();
    assertThat(index.readyLanes()).isEqualTo(0b10);
    IngestFault fault = pool.pollFault();
    assertThat(fault.kind()).isEqualTo(IngestFault.Kind.LANE_DEACTIVATED);
    assertThat(fault.lane()).isZero();
    assertThat(fault.lease()).isEqualTo(lease(0, 1));
    assertThat(fault.cause()).isEqualTo(new LaneFault.BaseSequenceMismatch(4, 5));
    assertThat(fault.disposition().commitState())
        .isEqualTo(FailurePoint.CommitState.KNOWN_UNCHANGED);
    assertThat(heard.faults).containsExactly(fault);
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 9, 99))).isEqualTo(Admission.LANE_RETIRED);
    assertThat(errorOf(install(0, 1, 4))).isEqualTo(LaneError.LANE_RETIRED);
    ready(0, 2, 4);
  }

  @Test
  void aRefusedAssignmentLeavesAReadyLaneReady() {
    ready(0, 3, 4);
    assertThat(errorOf(assign(0, 3))).isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
    assertThat(errorOf(pool.assign(identity(1), lease(0, 4), heard)))
        .isEqualTo(LaneError.WRONG_LANE_OWNER);
    assertThat(errorOf(pool.assign(identity(0), new LaneLease(CONSUMER + 1, 0, 4), heard)))
        .isEqualTo(LaneError.WRONG_CONSUMER_INSTANCE);
    assertThat(index.isReady(0)).isTrue();
    assertThat(now(drain(0, 3, 4)).result()).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);
  }

  @Test
  void aStaleSnapshotOfAnActiveLaneIsIgnored() {
    ready(0, 1, 4);
    assertThat(now(install(0, 1, 3)).result()).isEqualTo(IngestResult.IGNORED_STALE_OR_DUPLICATE);
    assertThat(now(drain(0, 1, 4)).result()).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);
  }

  @Test
  void aFailedFirstSnapshotKeepsTheLease() {
    assign(0, 1);
    CompletionStage<IngestOutcome> tooShort =
        pool.installSnapshot(identity(0), lease(0, 1), 4, new long[1]);
    runtime.runUntilIdle();
    assertThat(now(tooShort).result()).isEqualTo(IngestResult.LANE_DEACTIVATED);
    assertThat(now(tooShort).disposition().action()).isEqualTo(FailurePoint.Action.RETRY_SNAPSHOT);
    assertThat(now(tooShort).disposition().recoveryDomain())
        .isEqualTo(FailurePoint.RecoveryDomain.CONSUMER_LANE);
    assertThat(now(install(0, 1, 4)).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
  }

  @Test
  void anotherFaultyStreamInputRetiresAnActiveLane() {
    ready(0, 1, 4);
    CompletionStage<IngestOutcome> ahead =
        pool.installSnapshot(identity(0), lease(0, 1), 9, words(1));
    runtime.runUntilIdle();
    assertThat(now(ahead).fault()).isEqualTo(new LaneFault.SnapshotWhileReady(4, 9));
    assertThat(errorOf(install(0, 1, 10))).isEqualTo(LaneError.LANE_RETIRED);
  }

  @Test
  void aLaneRetiredDuringItsSnapshotIsNotActivated() {
    assign(0, 1);
    probe.beforeActivation =
        lane -> {
          synchronized (pool.admission(lane)) {
            pool.admission(lane).retire();
          }
        };
    assertThat(errorOf(install(0, 1, 4))).isEqualTo(LaneError.LANE_RETIRED);
    assertThat(index.readyLanes()).isZero();
  }

  @Test
  void aLaneWhoseAdmissionEpochsAreUsedUpIsFencedForGood() {
    ready(0, 1, 4);
    synchronized (pool.admission(0)) {
      pool.admission(0).setCounters(-1, 0);
      pool.admission(0).retire();
    }
    assertThat(index.isReady(0)).isFalse();
    assertThat(errorOf(assign(0, 2))).isEqualTo(LaneError.ADMISSION_EPOCH_EXHAUSTED);
    assertThat(errorOf(assign(0, 3))).isEqualTo(LaneError.ADMISSION_EPOCH_EXHAUSTED);
    ready(1, 1, 4);
  }

  @Test
  void aLaneWhoseDeltaNumbersAreUsedUpIsFenced() {
    ready(0, 1, 4);
    synchronized (pool.admission(0)) {
      pool.admission(0).setCounters(pool.admission(0).epoch(), -1);
    }
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 1, 1)))
        .isEqualTo(Admission.ADMISSION_EPOCH_EXHAUSTED);
    assertThat(errorOf(assign(0, 2))).isEqualTo(LaneError.ADMISSION_EPOCH_EXHAUSTED);
  }

  @Test
  void moreImagesThanMayWaitRetireTheLane() {
    configure(2, CONFIG.withMaxOutstandingImages(1));
    ready(0, 1, 4);
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 1, 1, 2, 2)))
        .isEqualTo(Admission.OUTSTANDING_IMAGE_LIMIT);
    assertThat(index.readyLanes()).isZero();
    IngestFault fault = pool.pollFault();
    assertThat(fault.kind()).isEqualTo(IngestFault.Kind.OUTSTANDING_IMAGE_LIMIT);
    assertThat(fault.requested()).isEqualTo(2);
    assertThat(fault.limit()).isEqualTo(1);
    assertThat(fault.disposition()).isEqualTo(FailurePoint.GAP_OR_MALFORMED_BEFORE_WRITE);
  }

  @Test
  void imagesOfOneFullLaneMayWaitByDefault() {
    ready(0, 1, 0);
    long[] full = new long[2 * BUCKETS];
    for (int i = 0; i < BUCKETS; i++) {
      full[2 * i] = i;
    }
    assertThat(pool.submitDelta(delta(0, 1, 0, 1, full))).isEqualTo(Admission.ADMITTED);
    assertThat(pool.submitDelta(delta(0, 1, 1, 2, 0, 0)))
        .isEqualTo(Admission.OUTSTANDING_IMAGE_LIMIT);
  }

  @Test
  void aDeltaThatWaitsTooLongRetiresTheLane() {
    VirtualRuntime timers = VirtualRuntime.inOrder(2);
    configureOver(timers, CONFIG.withMaxDirtyToAppliedAge(Duration.ofMillis(20)));
    readyOver(timers, 0, 1, 4);
    held = true;
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 1, 1))).isEqualTo(Admission.ADMITTED);
    timers.advance(Duration.ofMillis(19));
    assertThat(index.isReady(0)).isTrue();
    timers.advance(Duration.ofMillis(6));
    assertThat(index.isReady(0)).isFalse();
    IngestFault fault = pool.pollFault();
    assertThat(fault.kind()).isEqualTo(IngestFault.Kind.DIRTY_TO_APPLIED_AGE_EXCEEDED);
    assertThat(fault.disposition().commitState()).isEqualTo(FailurePoint.CommitState.UNCERTAIN);
    releaseHeld(timers);
    assertThat(index.table().get(1, 0)).isZero();
    assertThat(pool.counters().deltasDropped()).isEqualTo(1);
    timers.advance(Duration.ofSeconds(1));
    assertThat(timers.pendingTimers()).isZero();
  }

  @Test
  void aDeltaSubmittedBehindOneThatIsTooOldRetiresTheLane() {
    VirtualRuntime timers = VirtualRuntime.inOrder(2);
    configureOver(timers, CONFIG.withMaxDirtyToAppliedAge(Duration.ofMillis(20)));
    readyOver(timers, 0, 1, 4);
    held = true;
    pool.submitDelta(delta(0, 1, 4, 5, 1, 1));
    ticks = Duration.ofMillis(20).toNanos();
    assertThat(pool.submitDelta(delta(0, 1, 5, 6, 1, 1)))
        .isEqualTo(Admission.DIRTY_TO_APPLIED_AGE_EXCEEDED);
    assertThat(index.isReady(0)).isFalse();
  }

  // A runtime whose worker turns can be held back while its timers run.
  private boolean held;
  private long ticks;
  private final List<Runnable> heldTasks = new ArrayList<>();

  private void configureOver(VirtualRuntime timers, IngestionConfig config) {
    RelayRuntime holding =
        new RelayRuntime() {
          @Override
          public long nanoTime() {
            return timers.nanoTime() + ticks;
          }

          @Override
          public long currentTimeMillis() {
            return timers.currentTimeMillis();
          }

          @Override
          public Executor executor() {
            return task -> {
              if (held) {
                heldTasks.add(task);
              } else {
                timers.executor().execute(task);
              }
            };
          }

          @Override
          public Timer schedule(long delayNanos, Runnable task) {
            return timers.schedule(delayNanos, task);
          }

          @Override
          public long randomLong() {
            return timers.randomLong();
          }
        };
    index = new LaneIndex(manifest(4));
    pool = new IngestionPool(index, config, holding, probe);
  }

  private void readyOver(VirtualRuntime timers, int lane, long epoch, long sequence) {
    pool.assign(identity(lane), lease(lane, epoch), heard);
    timers.runUntilIdle();
    pool.installSnapshot(identity(lane), lease(lane, epoch), sequence, words(0));
    timers.runUntilIdle();
    assertThat(index.isReady(lane)).isTrue();
  }

  private void releaseHeld(VirtualRuntime timers) {
    held = false;
    heldTasks.forEach(timers.executor()::execute);
    heldTasks.clear();
    timers.runUntilIdle();
  }

  @Test
  void aFullQueueRetiresTheLaneThatSubmits() {
    configure(2, CONFIG.withWorkers(1).withQueueCapacity(1));
    ready(0, 1, 4);
    ready(1, 1, 4);
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 1, 1))).isEqualTo(Admission.ADMITTED);
    assertThat(pool.submitDelta(delta(0, 1, 5, 6, 1, 1))).isEqualTo(Admission.SATURATED);
    assertThat(index.readyLanes()).isEqualTo(0b10);
    assertThat(pool.pollFault().kind()).isEqualTo(IngestFault.Kind.SATURATED);
    assertThat(errorOf(drain(0, 1, 6))).isEqualTo(LaneError.LANE_RETIRED);
    runtime.runUntilIdle();
    assertThat(index.table().get(1, 0)).isZero();
    assertThat(pool.counters().deltasDropped()).isEqualTo(1);
    assertThat(pool.admission(0).outstanding().isEmpty()).isTrue();
  }

  @Test
  void aDeltaThatFindsTheQueueFullWhileAnotherIsAppliedLeavesNothingBehind() {
    configure(2, CONFIG.withWorkers(1).withQueueCapacity(1));
    ready(0, 1, 4);
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 1, 1))).isEqualTo(Admission.ADMITTED);
    List<Admission> meanwhile = new ArrayList<>();
    probe.beforeCommand =
        () -> {
          probe.beforeCommand = () -> {};
          meanwhile.add(pool.submitDelta(delta(0, 1, 5, 6, 1, 1)));
          meanwhile.add(pool.submitDelta(delta(0, 1, 6, 7, 1, 1)));
        };
    runtime.runUntilIdle();
    assertThat(meanwhile).containsExactly(Admission.ADMITTED, Admission.SATURATED);
    assertThat(pool.admission(0).outstanding().isEmpty()).isTrue();
    assertThat(pool.admission(0).outstanding().images()).isZero();
    runtime.advance(Duration.ofSeconds(2));
    ready(0, 2, 9);
    assertThat(pool.submitDelta(delta(0, 2, 9, 10, 1, 1))).isEqualTo(Admission.ADMITTED);
  }

  @Test
  void deltasBeyondTheExpectedCapacityKeepTheirOrderAndSum() {
    OutstandingDeltas outstanding = new OutstandingDeltas(2);
    outstanding.add(0, 1, 10);
    outstanding.add(1, 2, 11);
    outstanding.release(0);
    for (int id = 2; id < 7; id++) {
      outstanding.add(id, id + 1, 10 + id);
    }
    assertThat(outstanding.images()).isEqualTo(2 + 3 + 4 + 5 + 6 + 7);
    assertThat(outstanding.oldestAdmittedAtNanos()).isEqualTo(11);
    for (int id = 1; id < 7; id++) {
      outstanding.release(id);
    }
    assertThat(outstanding.isEmpty()).isTrue();
    assertThat(outstanding.images()).isZero();
  }

  @Test
  void aFailedWorkerTakesOnlyItsOwnLanesDown() {
    configure(16, CONFIG);
    for (int lane = 0; lane < 16; lane++) {
      ready(lane, 1, 4);
    }
    failNextCommand();
    pool.submitDelta(delta(2, 1, 4, 5, 1, 1)); // worker 2, with lane 12
    runtime.runUntilIdle();
    assertThat(pool.failedWorker()).isEqualTo(2);
    assertThat(index.readyLanes()).isEqualTo(0xFFFFL & ~(1L << 2) & ~(1L << 12));
    IngestFault fault = pool.pollFault();
    assertThat(fault.kind()).isEqualTo(IngestFault.Kind.WORKER_FAILED);
    assertThat(fault.worker()).isEqualTo(2);
    assertThat(fault.disposition().commitState()).isEqualTo(FailurePoint.CommitState.UNCERTAIN);
    assertThat(heard.faults).containsExactly(fault, fault);
    assertThat(pool.submitDelta(delta(2, 1, 4, 5, 1, 1))).isEqualTo(Admission.WORKER_FAILED);
    assertThat(errorOf(install(12, 1, 9))).isEqualTo(LaneError.WORKER_FAILED);
    assertThat(errorOf(drain(12, 1, 4))).isEqualTo(LaneError.WORKER_FAILED);

    failNextCommand();
    pool.submitDelta(delta(1, 1, 4, 5, 1, 1)); // worker 0
    runtime.runUntilIdle();
    assertThat(pool.failedWorker()).isZero();
    assertThatWorkersFailed(2);
  }

  private void failNextCommand() {
    probe.beforeCommand =
        () -> {
          probe.beforeCommand = () -> {};
          throw new IllegalStateException("test");
        };
  }

  @Test
  void lanesOfAFailedWorkerRecoverOnAnotherWithNewLeases() {
    configure(16, CONFIG);
    ready(2, 5, 4);
    failNextCommand();
    pool.submitDelta(delta(2, 5, 4, 5, 1, 1));
    runtime.runUntilIdle();
    assertThat(errorOf(assign(2, 5))).isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
    ready(2, 6, 4);
    assertThat(pool.admission(2).worker().id()).isEqualTo(3);
    assertThat(pool.submitDelta(delta(2, 6, 4, 5, 1, 9))).isEqualTo(Admission.ADMITTED);
    runtime.runUntilIdle();
    assertThat(index.table().get(1, 2)).isEqualTo(9);
    assertThatWorkersFailed(1);
  }

  @Test
  void aPoolWhoseWorkersHaveAllFailedGetsANewOne() {
    configure(2, CONFIG.withWorkers(1));
    ready(0, 1, 4);
    ready(1, 1, 4);
    failNextCommand();
    assertThat(errorOf(assign(0, 2))).isEqualTo(LaneError.WORKER_FAILED);
    assertThat(index.readyLanes()).isZero();
    assertThat(pool.failedWorker()).isZero();

    ready(1, 2, 9);
    ready(0, 3, 9);
    assertThat(pool.admission(0).worker()).isSameAs(pool.admission(1).worker());
    assertThat(pool.failedWorker()).isEqualTo(-1);
    assertThat(pool.submitDelta(delta(1, 2, 9, 10, 1, 7))).isEqualTo(Admission.ADMITTED);
    runtime.runUntilIdle();
    assertThat(index.table().get(1, 1)).isEqualTo(7);
    assertThatWorkersFailed(1);
  }

  @Test
  void aPoolThatWasShutDownGetsNoNewWorker() {
    configure(1, CONFIG.withWorkers(1));
    ready(0, 1, 4);
    CompletionStage<Void> ended = pool.shutDown();
    runtime.runUntilIdle();
    assertThat(ended.toCompletableFuture()).isCompleted();
    assertThat(errorOf(assign(0, 2))).isEqualTo(LaneError.WORKER_FAILED);
    assertThat(pool.failedWorker()).isZero();
  }

  @Test
  void anAgeOfCenturiesIsNoBoundAtAll() {
    Duration centuries = Duration.ofSeconds(Long.MAX_VALUE);
    configure(
        1, CONFIG.withMaxDirtyToAppliedAge(centuries).withControlTimeout(centuries).withWorkers(1));
    ready(0, 1, 4);
    pool.submitDelta(delta(0, 1, 4, 5, 1, 7));
    runtime.runUntilIdle();
    assertThat(index.table().get(1, 0)).isEqualTo(7);
  }

  @Test
  void whatWaitsForAFailedWorkerIsAnswered() {
    configure(1, CONFIG.withWorkers(1).withQueueCapacity(2));
    assign(0, 1);
    CompletionStage<IngestOutcome> first =
        pool.installSnapshot(identity(0), lease(0, 1), 4, words(0));
    CompletionStage<IngestOutcome> second =
        pool.installSnapshot(identity(0), lease(0, 1), 4, words(0));
    failNextCommand();
    runtime.runUntilIdle();
    assertThat(errorOf(first)).isEqualTo(LaneError.WORKER_FAILED);
    assertThat(errorOf(second)).isEqualTo(LaneError.WORKER_FAILED);
    assertThatWorkersFailed(1);
  }

  @Test
  void anUnansweredControlCommandTimesOutAndRetiresTheLane() {
    VirtualRuntime timers = VirtualRuntime.inOrder(2);
    configureOver(timers, CONFIG);
    readyOver(timers, 0, 1, 4);
    held = true;
    CompletionStage<IngestOutcome> drained = pool.completeDrain(lease(0, 1), 4);
    timers.advance(Duration.ofMillis(9_999));
    assertThat(drained.toCompletableFuture()).isNotDone();
    timers.advance(Duration.ofMillis(1));
    assertThat(errorOf(drained)).isEqualTo(LaneError.CONTROL_TIMEOUT);
    assertThat(index.isReady(0)).isFalse();
    assertThat(pool.pollFault()).isNull();
    releaseHeld(timers);
    assertThat(errorOf(pool.completeDrain(lease(0, 1), 4))).isEqualTo(LaneError.LANE_RETIRED);
  }

  @Test
  void aCommandWaitsForItsPlaceAndThenForItsAnswer() {
    VirtualRuntime timers = VirtualRuntime.inOrder(2);
    configureOver(
        timers,
        CONFIG
            .withWorkers(1)
            .withQueueCapacity(1)
            .withMaxDirtyToAppliedAge(Duration.ofSeconds(100)));
    readyOver(timers, 0, 1, 4);
    readyOver(timers, 1, 1, 4);
    held = true;
    pool.submitDelta(delta(0, 1, 4, 5, 1, 1));
    CompletionStage<IngestOutcome> drained = pool.completeDrain(lease(1, 1), 4);
    timers.advance(Duration.ofSeconds(9));
    heldTasks.forEach(timers.executor()::execute);
    heldTasks.clear();
    assertThat(timers.runOne()).isTrue(); // the turn: delta, promotion, answer
    assertThat(now(drained).result()).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);

    held = true;
    pool.submitDelta(delta(0, 1, 5, 6, 1, 1));
    CompletionStage<IngestOutcome> never = pool.completeDrain(lease(1, 1), 4);
    timers.advance(Duration.ofSeconds(10));
    assertThat(errorOf(never)).isEqualTo(LaneError.CONTROL_TIMEOUT);
    assertThat(index.readyLanes()).isEqualTo(1);
    releaseHeld(timers);
    assertThat(now(poolDrain(timers, 0, 6)).result()).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);
  }

  private CompletionStage<IngestOutcome> poolDrain(VirtualRuntime timers, int lane, long sequence) {
    CompletionStage<IngestOutcome> drained = pool.completeDrain(lease(lane, 1), sequence);
    timers.runUntilIdle();
    return drained;
  }

  @Test
  void aLeaseThatWasTakenWithoutAnAnswerIsNotTakenAgain() {
    // The worker takes the lease, and the answer is late: the timeout comes in between.
    VirtualRuntime inline = VirtualRuntime.inOrder(3);
    configureOver(inline, CONFIG);
    probe.afterAssignment = lane -> fireTimers(inline);
    CompletionStage<Void> assigned = pool.assign(identity(0), lease(0, 1), heard);
    inline.runUntilIdle();
    assertThat(errorOf(assigned)).isEqualTo(LaneError.CONTROL_TIMEOUT);
    probe.afterAssignment = lane -> {};
    CompletionStage<Void> again = pool.assign(identity(0), lease(0, 1), heard);
    inline.runUntilIdle();
    assertThat(errorOf(again)).isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
    CompletionStage<Void> fresh = pool.assign(identity(0), lease(0, 2), heard);
    inline.runUntilIdle();
    assertThat(fresh.toCompletableFuture()).isCompleted();
  }

  private static void fireTimers(VirtualRuntime inline) {
    // Advancing from within a task moves the clock; the task that is due then runs by hand.
    inline.advance(Duration.ofSeconds(10));
    while (inline.runOne()) {
      // due timers
    }
  }

  @Test
  void aFullFaultChannelDropsTheNewestAndBlocksNobody() {
    configure(1, CONFIG.withWorkers(1));
    for (int i = 0; i < 5; i++) {
      ready(0, i + 1, 4);
      pool.submitDelta(delta(0, i + 1, 100 + i, 101 + i, 1, 1));
      runtime.runUntilIdle();
    }
    assertThat(pool.droppedFaults()).isEqualTo(2); // capacity 2 * 1 lane + 1 worker
    assertThat(pool.pollFault().cause()).isEqualTo(new LaneFault.BaseSequenceMismatch(4, 100));
    assertThat(pool.pollFault().cause()).isEqualTo(new LaneFault.BaseSequenceMismatch(4, 101));
    assertThat(pool.pollFault().cause()).isEqualTo(new LaneFault.BaseSequenceMismatch(4, 102));
    assertThat(pool.pollFault()).isNull();
    assertThat(pool.counters().faults()).isEqualTo(5);
  }

  @Test
  void inputsForALaneThatIsNotThereYetSaySo() {
    configure(2, CONFIG);
    assertThat(pool.submitDelta(delta(3, 1, 0, 1, 1, 1))).isEqualTo(Admission.UNCONFIGURED_LANE);
    assertThat(pool.submitDelta(delta(0, 1, 0, 1, 1, 1))).isEqualTo(Admission.LANE_UNASSIGNED);
    assertThat(errorOf(install(0, 1, 1))).isEqualTo(LaneError.LANE_UNASSIGNED);
    assertThat(errorOf(install(3, 1, 1))).isEqualTo(LaneError.UNCONFIGURED_LANE);
    assign(0, 1);
    assertThat(pool.submitDelta(delta(0, 1, 0, 1, 1, 1))).isEqualTo(Admission.AWAITING_SNAPSHOT);
    assertThat(errorOf(drain(0, 1, 1))).isEqualTo(LaneError.LANE_RETIRED);
    assertThat(pool.counters().deltasRefused()).isEqualTo(3);
  }

  @Test
  void operationsOfOneLaneKeepTheirOrder() {
    CompletionStage<Void> assigned = pool.assign(identity(0), lease(0, 1), heard);
    CompletionStage<IngestOutcome> installed =
        pool.installSnapshot(identity(0), lease(0, 1), 4, words(0));
    CompletionStage<IngestOutcome> drained = pool.completeDrain(lease(0, 1), 4);
    runtime.runUntilIdle();
    assertThat(errorOf(assigned)).isNull();
    assertThat(now(installed).result()).isEqualTo(IngestResult.SNAPSHOT_INSTALLED);
    assertThat(now(drained).result()).isEqualTo(IngestResult.DRAIN_ACKNOWLEDGED);
  }

  @Test
  void aReleasedLaneServesAnotherPoolWithEpochsThatGoOn() {
    index = new LaneIndex(Manifest.empty(CONSUMER, DOMAIN, FORMAT, 1));
    pool = new IngestionPool(index, CONFIG, runtime, probe);
    int lane = pool.bindLane(pool(1));
    LaneLease first = pool.nextLease(lane);
    pool.assign(identity(0), first, heard);
    pool.installSnapshot(identity(0), first, 4, words(7));
    runtime.runUntilIdle();
    assertThat(index.isReady(lane)).isTrue();
    assertThat(errorOf(() -> pool.bindLane(pool(2)))).isEqualTo(LaneError.LANES_EXHAUSTED);

    pool.submitDelta(delta(identity(0), first, 4, 5, 1, 1));
    CompletionStage<Void> released = pool.releaseLane(lane);
    assertThat(index.isReady(lane)).isFalse(); // at once, not when the worker comes to it
    runtime.runUntilIdle();
    assertThat(errorOf(released)).isNull();
    assertThat(index.manifest().configuredLanes()).isZero();
    assertThat(index.table().get(1, 0)).isEqualTo(7);

    assertThat(pool.bindLane(pool(2))).isEqualTo(lane);
    LaneLease second = pool.nextLease(lane);
    assertThat(second.assignmentEpoch()).isGreaterThan(first.assignmentEpoch());
    assertThat(errorOf(pool.assign(identity(1), first, heard)))
        .isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
    CompletionStage<Void> assigned = pool.assign(identity(1), second, heard);
    runtime.runUntilIdle();
    assertThat(errorOf(assigned)).isNull();
    assertThat(index.isReady(lane)).isFalse();
  }

  @Test
  void aDeltaThatIsUnderWayWhenTheLaneTakesANewLeaseIsNoBusinessOfTheNewOne() {
    ready(0, 1, 4);
    Heard next = new Heard();
    giveToDuringADelta(next);
    pool.submitDelta(delta(0, 1, 4, 5, 9, 99));
    runtime.runUntilIdle();
    assertThat(heard.deltas).containsExactly(IngestResult.DELTA_APPLIED);
    assertThat(next.deltas).isEmpty();
    assertThat(install(0, 2, 8).toCompletableFuture()).isCompleted();
  }

  @Test
  void aDeactivationThatIsUnderWayWhenTheLaneTakesANewLeaseIsNoBusinessOfTheNewOne() {
    ready(0, 1, 4);
    Heard next = new Heard();
    giveToDuringADelta(next);
    pool.submitDelta(delta(0, 1, 5, 6, 9, 99));
    runtime.runUntilIdle();
    assertThat(heard.faults).hasSize(1);
    assertThat(heard.faults.get(0).lease()).isNull();
    assertThat(next.faults).isEmpty();
    assertThat(next.deltas).isEmpty();
    assertThat(install(0, 2, 8).toCompletableFuture()).isCompleted();
  }

  private void giveToDuringADelta(LaneListener next) {
    probe.afterDelta =
        lane -> {
          probe.afterDelta = any -> {};
          pool.retire(lease(0, 1));
          pool.assign(identity(0), lease(0, 2), next);
        };
  }

  @Test
  void leasesAreGivenOutOnce() {
    LaneLease first = pool.nextLease(0);
    LaneLease second = pool.nextLease(0);
    assertThat(second.assignmentEpoch()).isGreaterThan(first.assignmentEpoch());
    assertThat(errorOf(() -> pool.nextLease(9))).isEqualTo(LaneError.UNCONFIGURED_LANE);
  }

  @Test
  void shutDownMakesEveryLaneUnreadableAndRefusesWhatFollows() {
    ready(0, 1, 4);
    ready(1, 1, 4);
    pool.submitDelta(delta(0, 1, 4, 5, 1, 1));
    CompletionStage<Void> ended = pool.shutDown();
    assertThat(index.readyLanes()).isZero();
    runtime.runUntilIdle();
    assertThat(ended.toCompletableFuture()).isCompleted();
    assertThat(pool.submitDelta(delta(0, 1, 4, 5, 1, 1))).isEqualTo(Admission.WORKER_FAILED);
    assertThat(errorOf(assign(0, 2))).isEqualTo(LaneError.WORKER_FAILED);
    assertThat(pool.shutDown().toCompletableFuture()).isCompleted();
    assertThat(index.claimLane(0)).isNotNull(); // nobody owns it any more
    assertThat(index.table().get(1, 0)).isZero();
  }

  @Test
  void aStoppedExecutorIsAFailedWorker() {
    RejectedExecutionException stopped = new RejectedExecutionException("test");
    configureRejecting(stopped);
    CompletionStage<Void> assigned = pool.assign(identity(0), lease(0, 1), heard);
    assertThat(errorOf(assigned)).isEqualTo(LaneError.WORKER_FAILED);
    assertThat(pool.failedWorker()).isEqualTo(pool.workerForLane(0));
  }

  private void configureRejecting(RejectedExecutionException stopped) {
    RelayRuntime rejecting =
        new ForwardingRuntime(runtime) {
          @Override
          public Executor executor() {
            return task -> {
              throw stopped;
            };
          }
        };
    index = new LaneIndex(manifest(4));
    pool = new IngestionPool(index, CONFIG, rejecting, probe);
  }
}
