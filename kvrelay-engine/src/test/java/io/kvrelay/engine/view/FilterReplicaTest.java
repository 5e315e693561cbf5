package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.PublicationFrame.Kind;
import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The filter plane of one generation, over a lane that does what a test says. */
class FilterReplicaTest {
  private static final ProducerIdentity PRODUCER = ScriptedRelay.producer(1, 1, 9, 1);
  private static final int WINDOW = 4;

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ViewCounters counters = new ViewCounters();
  private final ScriptedPublisher<PublicationFrame> stream = new ScriptedPublisher<>();
  private final ScriptedFilter filter = new ScriptedFilter(PRODUCER).put(11, 12, 13);
  private final ScriptedLane lane = new ScriptedLane();
  private final ScriptedHost host = new ScriptedHost();
  private final FilterReplica replica =
      new FilterReplica(PRODUCER, lane, host, runtime, counters, WINDOW);

  /** A lane that takes everything at once, unless told to wait or to answer otherwise. */
  private static final class ScriptedLane implements ReplicaLane {
    final List<LaneLease> leases = new ArrayList<>();
    final List<LaneDelta> submitted = new ArrayList<>();
    final List<long[]> images = new ArrayList<>();
    final List<CompletableFuture<LaneLease>> pendingAssigns = new ArrayList<>();
    final List<CompletableFuture<IngestOutcome>> pendingInstalls = new ArrayList<>();
    Admission admission = Admission.ADMITTED;
    IngestResult installed = IngestResult.SNAPSHOT_INSTALLED;
    IngestResult applied = IngestResult.DELTA_APPLIED;
    boolean holdAssigns;
    boolean holdInstalls;
    boolean holdDeltas;
    boolean outOfMemory;
    boolean readable;
    int retired;
    long epoch;
    @Nullable Listener listener;

    @Override
    public CompletionStage<LaneLease> assign(ProducerIdentity identity, Listener newListener) {
      readable = false;
      listener = newListener;
      LaneLease lease = new LaneLease(5, 0, ++epoch);
      leases.add(lease);
      CompletableFuture<LaneLease> answer = new CompletableFuture<>();
      if (holdAssigns) {
        pendingAssigns.add(answer);
      } else {
        answer.complete(lease);
      }
      return answer;
    }

    @Override
    public CompletionStage<IngestOutcome> install(
        ProducerIdentity identity, LaneLease lease, long sequence, long[] words) {
      images.add(words);
      runOutOfMemory();
      CompletableFuture<IngestOutcome> answer = new CompletableFuture<>();
      if (holdInstalls) {
        pendingInstalls.add(answer);
      } else {
        readable = installed == IngestResult.SNAPSHOT_INSTALLED;
        answer.complete(new IngestOutcome(installed, sequence, null, null));
      }
      return answer;
    }

    @Override
    public Admission submit(LaneDelta delta) {
      runOutOfMemory();
      submitted.add(delta);
      if (admission == Admission.ADMITTED && !holdDeltas) {
        apply(delta);
      }
      return admission;
    }

    private void runOutOfMemory() {
      if (outOfMemory) {
        outOfMemory = false;
        throw new OutOfMemoryError("on purpose");
      }
    }

    void apply(LaneDelta delta) {
      listener.applied(delta, applied);
    }

    @Override
    public void retire() {
      retired++;
      readable = false;
    }
  }

  private final class ScriptedHost implements FilterReplica.Host {
    final List<Consumer<FilterReplica.Advertised>> asked = new ArrayList<>();
    boolean throwing;
    int givenUp;
    int advanced;

    @Override
    public Flow.Publisher<PublicationFrame> stream(ProducerIdentity producer) {
      return stream;
    }

    @Override
    public Runnable refreshCatalog(
        ProducerIdentity producer, Consumer<FilterReplica.Advertised> answer) {
      asked.add(answer);
      if (throwing) {
        throw new IllegalStateException("on purpose");
      }
      return () -> givenUp++;
    }

    @Override
    public void reported(FilterReplica who, StreamPlane.Report report) {}

    @Override
    public void advanced(FilterReplica who) {
      advanced++;
    }
  }

  private void start() {
    replica.start();
    runtime.runUntilIdle();
  }

  private void send(PublicationFrame... frames) {
    for (PublicationFrame frame : frames) {
      stream.last().send(frame);
    }
    runtime.runUntilIdle();
  }

  private void install() {
    start();
    filter.snapshot(2).forEach(frame -> send(frame));
    assertThat(replica.isServing()).isTrue();
  }

  private PlaneStatus status() {
    return replica.report().status();
  }

  private void assertFailed(String message) {
    assertThat(status()).isEqualTo(PlaneStatus.BACKING_OFF);
    assertThat(replica.report().reason()).contains(message);
    assertThat(replica.isServing()).isFalse();
    assertThat(lane.readable).isFalse();
    assertThat(replica.freshness().isKnown()).isFalse();
    assertThat(stream.last().cancelled || stream.last().ended).isTrue();
  }

  // Bootstrap.

  @Test
  void nothingIsUsableBeforeTheWholeSnapshotIsInstalled() {
    start();
    assertThat(status()).isEqualTo(PlaneStatus.CONNECTING);
    List<PublicationFrame> chunks = filter.snapshot(2);
    send(chunks.get(0));
    assertThat(status()).isEqualTo(PlaneStatus.ASSEMBLING);
    assertThat(replica.isServing()).isFalse();
    assertThat(lane.images).isEmpty();
    send(chunks.get(1));
    assertThat(status()).isEqualTo(PlaneStatus.CURRENT);
    assertThat(replica.isServing()).isTrue();
    assertThat(lane.images).hasSize(1);
    assertThat(lane.images.get(0)).containsExactly(filter.words);
    assertThat(replica.installedSequence()).isZero();
  }

  @Test
  void anyContiguousPartitionAssembles() {
    filter.sequence = 6;
    start();
    send(
        filter.chunk(6, 0, 4, 0, 1),
        filter.chunk(6, 1, 4, 1, 0),
        filter.chunk(6, 2, 4, 1, 62),
        filter.chunk(6, 3, 4, 63, 1));
    assertThat(lane.images.get(0)).containsExactly(filter.words);
    assertThat(replica.installedSequence()).isEqualTo(6);
  }

  @Test
  void chunkZeroRestartsAnAssembly() {
    start();
    send(filter.chunk(3, 0, 2, 0, 32));
    filter.put(99);
    filter.sequence = 4;
    filter.snapshot(2).forEach(frame -> send(frame));
    assertThat(lane.images.get(0)).containsExactly(filter.words);
    assertThat(replica.installedSequence()).isEqualTo(4);
  }

  @Test
  void eachOpeningTakesAFreshLeaseBeforeItSubscribes() {
    lane.holdAssigns = true;
    start();
    assertThat(stream.opened()).isZero();
    lane.pendingAssigns.get(0).complete(lane.leases.get(0));
    runtime.runUntilIdle();
    assertThat(stream.opened()).isEqualTo(1);
    stream.last().complete();
    runtime.advance(Duration.ofMillis(500));
    assertThat(lane.leases).hasSize(2);
    assertThat(lane.leases.get(1).assignmentEpoch())
        .isGreaterThan(lane.leases.get(0).assignmentEpoch());
  }

  @Test
  void aRefusedLeaseBacksOff() {
    lane.holdAssigns = true;
    start();
    lane.pendingAssigns
        .get(0)
        .completeExceptionally(new LaneException(LaneError.WORKER_FAILED, "worker = 0: failed"));
    runtime.runUntilIdle();
    assertThat(status()).isEqualTo(PlaneStatus.BACKING_OFF);
    assertThat(stream.opened()).isZero();
  }

  @Test
  void framesThatArriveDuringTheInstallWaitInOrder() {
    lane.holdInstalls = true;
    start();
    filter.snapshot(1).forEach(frame -> send(frame));
    send(filter.store(21), filter.heartbeat(), filter.store(22));
    assertThat(lane.submitted).isEmpty();
    lane.pendingInstalls
        .get(0)
        .complete(new IngestOutcome(IngestResult.SNAPSHOT_INSTALLED, 0, null, null));
    runtime.runUntilIdle();
    assertThat(lane.submitted).hasSize(2);
    assertThat(replica.installedSequence()).isEqualTo(2);
    assertThat(host.advanced).as("the install and two deltas").isEqualTo(3);
    assertThat(counters.snapshot().count(ViewCounter.FILTER_HEARTBEATS)).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(
      value = IngestResult.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = "SNAPSHOT_INSTALLED")
  void anyInstallOutcomeButInstalledFailsTheStream(IngestResult result) {
    lane.installed = result;
    start();
    filter.snapshot(1).forEach(frame -> send(frame));
    assertFailed("did not install the snapshot");
  }

  @ParameterizedTest
  @EnumSource(value = IngestResult.class, mode = EnumSource.Mode.EXCLUDE, names = "DELTA_APPLIED")
  void anyDeltaOutcomeButAppliedFailsTheStream(IngestResult result) {
    install();
    lane.applied = result;
    send(filter.store(21));
    assertFailed("did not apply a delta: " + result);
  }

  @ParameterizedTest
  @EnumSource(value = Admission.class, mode = EnumSource.Mode.EXCLUDE, names = "ADMITTED")
  void aRefusedDeltaFailsTheStream(Admission admission) {
    install();
    lane.admission = admission;
    send(filter.store(21));
    assertFailed("the lane refused a delta: " + admission);
  }

  // Frames that break a rule.

  private void assertFirstFrameFails(PublicationFrame frame, String message) {
    start();
    send(frame);
    assertFailed(message);
  }

  @Test
  void aHeartbeatBeforeTheSnapshotFails() {
    assertFirstFrameFails(filter.heartbeat(), "heartbeat");
  }

  @Test
  void aHeartbeatAmongTheChunksFails() {
    start();
    send(filter.snapshot(2).get(0), filter.heartbeat());
    assertFailed("missing snapshot");
  }

  @Test
  void aHeartbeatWithPayloadFails() {
    install();
    send(ScriptedFilter.frame(PRODUCER, Kind.HEARTBEAT, 0, 0, ByteBuffer.allocate(1)));
    assertFailed("heartbeat");
  }

  @Test
  void aHeartbeatAtAnotherSequenceFails() {
    install();
    send(PublicationFrame.heartbeat(PRODUCER, 1, 0));
    assertFailed("does not repeat the sequence 0");
  }

  @Test
  void aHeartbeatWithAnotherBaseFails() {
    install();
    send(ScriptedFilter.frame(PRODUCER, Kind.HEARTBEAT, 1, 0, ByteBuffer.allocate(0)));
    assertFailed("heartbeat");
  }

  @Test
  void aHeartbeatOnlyRefreshes() {
    install();
    runtime.advance(Duration.ofSeconds(10));
    send(filter.heartbeat());
    assertThat(replica.freshness().atNanos()).isEqualTo(runtime.nanoTime());
    assertThat(replica.installedSequence()).isZero();
    assertThat(lane.submitted).isEmpty();
  }

  @Test
  void aHeartbeatMayOvertakeTheApplicationOfADeltaButNotItsArrival() {
    install();
    lane.holdDeltas = true;
    send(filter.store(21), filter.heartbeat());
    assertThat(status()).isEqualTo(PlaneStatus.CURRENT);
    assertThat(replica.installedSequence()).isZero();
    lane.apply(lane.submitted.get(0));
    runtime.runUntilIdle();
    assertThat(replica.installedSequence()).isEqualTo(1);
  }

  @Test
  void anotherProducerFails() {
    ProducerIdentity next = ScriptedRelay.producer(1, 1, 9, 2);
    assertFirstFrameFails(new ScriptedFilter(next).snapshot(1).get(0), "frame producer");
  }

  @Test
  void anotherDataCenterInTheHeaderFails() {
    ProducerIdentity other = ScriptedRelay.producer(1, 2, 9, 1);
    ByteBuffer payload = new ScriptedFilter(other).payload(0, 0, 1, 0, 64);
    assertFirstFrameFails(
        ScriptedFilter.frame(PRODUCER, Kind.SNAPSHOT_CHUNK, 0, 0, payload), "CBI1 dc_id = 2");
  }

  @Test
  void aChunkWhoseBaseDiffersFails() {
    assertFirstFrameFails(
        ScriptedFilter.frame(PRODUCER, Kind.SNAPSHOT_CHUNK, 0, 1, filter.payload(1, 0, 1, 0, 64)),
        "base sequence differs");
  }

  @Test
  void aChunkWhoseHeaderHasAnotherSequenceFails() {
    assertFirstFrameFails(
        ScriptedFilter.frame(PRODUCER, Kind.SNAPSHOT_CHUNK, 5, 5, filter.payload(4, 0, 1, 0, 64)),
        "CBI1 epoch = 4");
  }

  @Test
  void aPayloadOfAnotherKindThanTheFrameFails() {
    ByteBuffer delta = filter.deltaFrame(0, 1, 0, 1, new int[] {1}, new long[] {1}).payload();
    assertFirstFrameFails(
        ScriptedFilter.frame(PRODUCER, Kind.SNAPSHOT_CHUNK, 1, 1, delta),
        "CBI1 payload is a DELTA");
  }

  @Test
  void anUndecodablePayloadFails() {
    assertFirstFrameFails(
        ScriptedFilter.frame(PRODUCER, Kind.SNAPSHOT_CHUNK, 0, 0, ByteBuffer.allocate(100)),
        "CBI1");
  }

  @Test
  void aMissingChunkFails() {
    start();
    send(filter.chunk(0, 0, 3, 0, 20), filter.chunk(0, 2, 3, 40, 24));
    assertFailed("does not continue the assembly");
  }

  @Test
  void aRepeatedChunkFails() {
    start();
    send(
        filter.chunk(0, 0, 3, 0, 20), filter.chunk(0, 1, 3, 20, 20), filter.chunk(0, 1, 3, 20, 20));
    assertFailed("does not continue the assembly");
  }

  @Test
  void aChunkOfAnotherSequenceFails() {
    start();
    send(filter.chunk(0, 0, 2, 0, 32), filter.chunk(1, 1, 2, 32, 32));
    assertFailed("does not continue the assembly");
  }

  @Test
  void aFirstChunkThatDoesNotStartAtZeroFails() {
    assertFirstFrameFails(filter.chunk(0, 0, 2, 32, 32), "does not continue the assembly");
  }

  @Test
  void uncoveredBucketsFail() {
    start();
    send(filter.chunk(0, 0, 2, 0, 32), filter.chunk(0, 1, 2, 32, 31));
    assertFailed("uncovered");
  }

  @Test
  void aDeltaDuringTheAssemblyFails() {
    start();
    send(filter.snapshot(2).get(0), filter.store(21));
    assertFailed("before the snapshot is complete");
  }

  @Test
  void aChunkAfterTheSnapshotFails() {
    install();
    send(filter.snapshot(2).get(0));
    assertFailed("after the snapshot");
  }

  @Test
  void aDeltaWhosePayloadHasAnotherBaseFails() {
    install();
    send(filter.deltaFrame(0, 1, 7, 1, new int[] {1}, new long[] {1}));
    assertFailed("CBI1 base_epoch = 7");
  }

  @Test
  void aDeltaWhosePayloadHasAnotherSequenceFails() {
    install();
    send(filter.deltaFrame(0, 1, 0, 2, new int[] {1}, new long[] {1}));
    assertFailed("CBI1 epoch = 2");
  }

  @Test
  void nothingIsAppliedAfterABadFrame() {
    install();
    PublicationFrame good = filter.store(21);
    send(PublicationFrame.heartbeat(PRODUCER, 9, 0));
    stream.last().force(good);
    runtime.runUntilIdle();
    assertThat(lane.submitted).isEmpty();
    assertThat(counters.snapshot().count(ViewCounter.LATE_SIGNALS_IGNORED)).isEqualTo(1);
  }

  // Demand.

  @Test
  void aSlowLaneBoundsWhatTheSourceMaySend() {
    install();
    lane.holdDeltas = true;
    for (int i = 0; i < 20; i++) {
      send(filter.store(100 + i));
    }
    assertThat(lane.submitted.size()).isLessThanOrEqualTo(WINDOW);
    assertThat(stream.last().waiting).hasSize(20 - lane.submitted.size());
    for (int i = 0; i < 20; i++) {
      lane.apply(lane.submitted.get(i));
      runtime.runUntilIdle();
    }
    assertThat(replica.installedSequence()).isEqualTo(20);
    assertThat(stream.last().waiting).isEmpty();
  }

  @Test
  void aSlowInstallBoundsWhatIsHeld() {
    lane.holdInstalls = true;
    start();
    filter.snapshot(1).forEach(frame -> send(frame));
    for (int i = 0; i < 20; i++) {
      send(filter.store(100 + i));
    }
    assertThat(stream.last().delivered).isLessThanOrEqualTo(WINDOW + 1);
  }

  // Failure and recovery.

  private static RelayException failure(RelayErrorReason reason) {
    return new RelayException(reason, "it said so");
  }

  @ParameterizedTest
  @EnumSource(RelayErrorReason.class)
  void everyReasonWithdrawsAtOnceAndRecoversAsItsActionSays(RelayErrorReason reason) {
    install();
    stream.last().fail(failure(reason));
    runtime.runUntilIdle();
    assertThat(replica.isServing()).isFalse();
    assertThat(lane.readable).isFalse();
    assertThat(counters.snapshot().failures(PlaneKind.FILTER, reason)).isEqualTo(1);
    runtime.advance(Duration.ofMinutes(5));
    switch (reason.action()) {
      case RETRY_WITH_BACKOFF -> assertThat(stream.opened()).isEqualTo(2);
      case REFRESH_CATALOG -> {
        assertThat(stream.opened()).isEqualTo(1);
        assertThat(host.asked).as("again and again, since nobody answers").hasSizeBetween(8, 40);
      }
      case STOP, FIX_REQUEST, QUARANTINE, ABANDON_GENERATION -> {
        assertThat(stream.opened()).isEqualTo(1);
        assertThat(status()).isEqualTo(PlaneStatus.STOPPED);
        assertThat(counters.snapshot().count(ViewCounter.GENERATIONS_ABANDONED)).isEqualTo(1);
      }
    }
  }

  @Test
  void aRefusedGenerationIsTriedAgainOnlyIfAFreshCatalogShowsIt() {
    start();
    stream.last().fail(failure(RelayErrorReason.POOL_NOT_FOUND));
    runtime.advance(Duration.ofSeconds(1));
    host.asked.get(0).accept(FilterReplica.Advertised.CATALOG_UNAVAILABLE);
    runtime.runUntilIdle();
    assertThat(status()).isEqualTo(PlaneStatus.BACKING_OFF);
    runtime.advance(Duration.ofSeconds(1));
    host.asked.get(1).accept(FilterReplica.Advertised.YES);
    runtime.runUntilIdle();
    assertThat(stream.opened()).isEqualTo(2);
    stream.last().fail(failure(RelayErrorReason.PRODUCER_CHANGED));
    runtime.advance(Duration.ofSeconds(4));
    host.asked.get(2).accept(FilterReplica.Advertised.NO);
    runtime.advance(Duration.ofMinutes(5));
    assertThat(stream.opened()).isEqualTo(2);
    assertThat(status()).isEqualTo(PlaneStatus.STOPPED);
    replica.advertised();
    runtime.runUntilIdle();
    assertThat(stream.opened()).as("shown again").isEqualTo(3);
  }

  @Test
  void aCatalogLookUpThatIsNeverAnsweredIsGivenUpAndRepeated() {
    start();
    stream.last().fail(failure(RelayErrorReason.POOL_NOT_FOUND));
    runtime.advance(Duration.ofSeconds(1));
    assertThat(host.asked).hasSize(1);
    runtime.advance(Duration.ofSeconds(12));
    assertThat(host.givenUp).isEqualTo(1);
    assertThat(host.asked).hasSize(2);
    assertThat(counters.snapshot().count(ViewCounter.CATALOG_REFRESHES_FAILED)).isEqualTo(1);
    host.asked.get(0).accept(FilterReplica.Advertised.YES);
    runtime.runUntilIdle();
    assertThat(stream.opened()).as("an answer that comes too late").isEqualTo(1);
    host.asked.get(1).accept(FilterReplica.Advertised.YES);
    runtime.runUntilIdle();
    assertThat(stream.opened()).isEqualTo(2);
  }

  @Test
  void aCatalogLookUpThatThrowsIsRepeated() {
    host.throwing = true;
    start();
    stream.last().fail(failure(RelayErrorReason.POOL_NOT_FOUND));
    runtime.advance(Duration.ofSeconds(5));
    assertThat(host.asked.size()).isGreaterThan(1);
    assertThat(status()).isEqualTo(PlaneStatus.BACKING_OFF);
  }

  @Test
  void closingGivesALookUpUp() {
    start();
    stream.last().fail(failure(RelayErrorReason.POOL_NOT_FOUND));
    runtime.advance(Duration.ofSeconds(1));
    replica.close("over");
    runtime.runUntilIdle();
    assertThat(host.givenUp).isEqualTo(1);
    assertThat(runtime.pendingTimers()).isZero();
  }

  @Test
  void failedLookUpsKeepTheirBackoffHoweverLongTheyGoOn() {
    start();
    stream.last().fail(failure(RelayErrorReason.POOL_NOT_FOUND));
    List<Long> times = new ArrayList<>();
    for (int i = 0; i < 3000; i++) {
      runtime.advance(Duration.ofMillis(100));
      while (times.size() < host.asked.size()) {
        times.add(runtime.nanoTime());
        host.asked.get(times.size() - 1).accept(FilterReplica.Advertised.CATALOG_UNAVAILABLE);
        runtime.runUntilIdle();
      }
    }
    int last = times.size() - 1;
    assertThat(Duration.ofNanos(times.get(last) - times.get(last - 1)))
        .isBetween(Duration.ofMillis(14_900), Duration.ofMillis(30_200));
    assertThat(times.size()).isLessThan(40);
  }

  @Test
  void aCatalogThatCameDuringTheLookUpCountsForMoreThanItsAnswer() {
    start();
    stream.last().fail(failure(RelayErrorReason.POOL_NOT_FOUND));
    runtime.advance(Duration.ofSeconds(1));
    replica.advertised();
    host.asked.get(0).accept(FilterReplica.Advertised.NO);
    runtime.runUntilIdle();
    assertThat(stream.opened()).isEqualTo(2);
  }

  @Test
  void aSourceThatThrowsWhenItIsCancelledWithdrawsTheReplicaAllTheSame() {
    try (RecordedLog log = RecordedLog.of(StreamPlane.class)) {
      install();
      stream.last().throwsWhenCancelled = true;
      lane.admission = Admission.SATURATED;
      send(filter.store(21));
      assertFailed("the lane refused a delta");
      lane.admission = Admission.ADMITTED;
      runtime.advance(Duration.ofSeconds(1));
      assertThat(stream.opened()).isEqualTo(2);
      assertThat(log.thrown()).hasSize(1);
    }
  }

  @Test
  void aSourceThatThrowsWhenItIsAskedForMoreFailsItsStream() {
    install();
    stream.last().throwsWhenAsked = true;
    for (int i = 0; i < WINDOW; i++) {
      send(filter.store(21 + i));
    }
    assertFailed("on purpose");
    runtime.advance(Duration.ofSeconds(1));
    assertThat(stream.opened()).isEqualTo(2);
  }

  @Test
  void aDeltaForWhichThereIsNoMemoryFailsTheStream() {
    install();
    lane.outOfMemory = true;
    send(filter.store(21));
    assertFailed("on purpose");
    runtime.advance(Duration.ofSeconds(1));
    assertThat(stream.opened()).isEqualTo(2);
  }

  @Test
  void aSnapshotForWhichThereIsNoMemoryFailsTheStream() {
    lane.outOfMemory = true;
    start();
    filter.snapshot(1).forEach(frame -> send(frame));
    assertFailed("on purpose");
    runtime.advance(Duration.ofSeconds(1));
    assertThat(stream.opened()).isEqualTo(2);
  }

  @Test
  void aHeldDeltaForWhichThereIsNoMemoryTakesTheFramesBehindItAlong() {
    lane.holdInstalls = true;
    start();
    filter.snapshot(1).forEach(frame -> send(frame));
    send(filter.store(21), filter.store(22), filter.store(23));
    lane.outOfMemory = true;
    lane.pendingInstalls
        .get(0)
        .complete(new IngestOutcome(IngestResult.SNAPSHOT_INSTALLED, 0, null, null));
    runtime.runUntilIdle();
    assertFailed("on purpose");
    assertThat(lane.submitted).isEmpty();
    assertThat(counters.snapshot().count(ViewCounter.FILTER_FRAMES_DROPPED)).isEqualTo(3);
  }

  @Test
  void anAbandonedGenerationIsNotTriedAgainWhenTheCatalogRepeatsIt() {
    start();
    stream.last().fail(failure(RelayErrorReason.INVALID_PUBLICATION));
    runtime.runUntilIdle();
    replica.advertised();
    runtime.advance(Duration.ofMinutes(5));
    assertThat(stream.opened()).isEqualTo(1);
  }

  @Test
  void theActionOfAnUnnamedReasonDecides() {
    start();
    stream
        .last()
        .fail(
            new RelayException(
                RelayErrorReason.UNSPECIFIED, RecoveryAction.ABANDON_GENERATION, "old", null));
    runtime.advance(Duration.ofMinutes(5));
    assertThat(stream.opened()).isEqualTo(1);
  }

  @Test
  void aLostLeaseFailsTheStreamAndTheNextOneStartsOverWithASnapshot() {
    install();
    lane.listener.lost(failure(RelayErrorReason.RESOURCE_LIMIT));
    runtime.runUntilIdle();
    assertFailed("RESOURCE_LIMIT");
    filter.put(31);
    runtime.advance(Duration.ofMillis(500));
    filter.snapshot(2).forEach(frame -> send(frame));
    assertThat(replica.isServing()).isTrue();
    assertThat(lane.images).hasSize(2);
    assertThat(counters.snapshot().count(ViewCounter.REPLICAS_WITHDRAWN)).isEqualTo(1);
  }

  @Test
  void aLostOldLeaseDoesNotTouchTheNewOne() {
    install();
    ReplicaLane.Listener old = lane.listener;
    stream.last().complete();
    runtime.advance(Duration.ofMillis(500));
    filter.snapshot(2).forEach(frame -> send(frame));
    old.lost(failure(RelayErrorReason.RESOURCE_LIMIT));
    runtime.runUntilIdle();
    assertThat(replica.isServing()).isTrue();
  }

  @Test
  void anInstallThatAnswersTooLateIsIgnored() {
    lane.holdInstalls = true;
    start();
    filter.snapshot(1).forEach(frame -> send(frame));
    stream.last().fail(failure(RelayErrorReason.SNAPSHOT_PROGRESS_TIMEOUT));
    runtime.runUntilIdle();
    lane.pendingInstalls
        .get(0)
        .complete(new IngestOutcome(IngestResult.SNAPSHOT_INSTALLED, 0, null, null));
    runtime.runUntilIdle();
    assertThat(replica.isServing()).isFalse();
    assertThat(status()).isEqualTo(PlaneStatus.BACKING_OFF);
  }

  @Test
  void closingRetiresTheLaneBeforeItSaysSo() {
    install();
    int before = lane.retired;
    boolean[] done = {false};
    replica.close(
        "gone",
        () -> {
          done[0] = true;
          assertThat(lane.retired).isGreaterThan(before);
          assertThat(stream.last().cancelled).isTrue();
        });
    runtime.runUntilIdle();
    assertThat(done[0]).isTrue();
    assertThat(replica.isServing()).isFalse();
    runtime.advance(Duration.ofMinutes(1));
    assertThat(stream.opened()).isEqualTo(1);
  }

  @Test
  void aSequenceThatStandsStillIsNotStale() {
    install();
    runtime.advance(Duration.ofHours(1));
    assertThat(replica.isServing()).isTrue();
    assertThat(replica.freshness().isFresh(runtime, Freshness.NEVER_STALE)).isTrue();
  }
}
