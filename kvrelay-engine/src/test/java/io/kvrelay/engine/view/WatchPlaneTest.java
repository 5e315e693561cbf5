package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The three planes of whole states, each alone. */
class WatchPlaneTest {
  private static final ProducerIdentity A = ScriptedRelay.producer(1, 1, 9, 1);
  private static final ProducerIdentity B = ScriptedRelay.producer(1, 2, 9, 2);

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ViewCounters counters = new ViewCounters();

  /** Records what a plane tells. */
  private static final class Heard<T> implements WatchPlane.Listener<T> {
    final List<T> states = new ArrayList<>();
    final List<String> invalidations = new ArrayList<>();

    @Override
    public void replaced(T state) {
      states.add(state);
    }

    @Override
    public void invalidated(String reason) {
      invalidations.add(reason);
    }

    @Override
    public void reported(PlaneKind kind, StreamPlane.Report report) {}
  }

  private final class Rig<T> {
    final ScriptedPublisher<T> publisher = new ScriptedPublisher<>();
    final Heard<T> heard = new Heard<>();
    final WatchPlane<T> plane;

    Rig(PlaneKind kind, WatchPlane.Rules<T> rules) {
      plane = new WatchPlane<>(kind, runtime, counters, () -> publisher, rules, heard);
      plane.start();
      runtime.runUntilIdle();
    }

    void send(T value) {
      publisher.last().send(value);
      runtime.runUntilIdle();
    }

    PlaneStatus status() {
      return plane.report().status();
    }

    void assertFaulted(String message) {
      assertThat(status()).isEqualTo(PlaneStatus.BACKING_OFF);
      assertThat(plane.report().reason()).contains("PROTOCOL_VIOLATION").contains(message);
      assertThat(publisher.last().cancelled).isTrue();
      assertThat(counters.snapshot().failures(plane.kind(), RelayErrorReason.PROTOCOL_VIOLATION))
          .isEqualTo(1);
    }
  }

  private Rig<PoolCatalog> catalogs() {
    return new Rig<>(PlaneKind.CATALOG, new CatalogRules(counters));
  }

  private Rig<TopologySnapshot> topologies() {
    return new Rig<>(PlaneKind.READINESS, new ReadinessRules(counters));
  }

  private Rig<LoadSnapshot> loads() {
    return new Rig<>(PlaneKind.LOAD, new LoadRules(counters));
  }

  private static PoolCatalog catalog(long revision, ProducerIdentity... producers) {
    return new PoolCatalog(
        revision, List.of(producers).stream().map(ScriptedRelay::descriptor).toList());
  }

  // Revisions.

  @Test
  void aHigherRevisionReplacesCompletelyAndNumbersMayBeSkipped() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(0));
    rig.send(catalog(5, A, B));
    rig.send(catalog(-1, B)); // 2^64 - 1: unsigned
    assertThat(rig.heard.states).containsExactly(catalog(0), catalog(5, A, B), catalog(-1, B));
    assertThat(rig.status()).isEqualTo(PlaneStatus.CURRENT);
    assertThat(rig.heard.invalidations).isEmpty();
  }

  @Test
  void theSameRevisionWithTheSameContentIsAHeartbeatThatOnlyRefreshes() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(3, A));
    rig.send(catalog(3, A));
    runtime.advance(Duration.ofSeconds(10));
    rig.send(catalog(3, A));
    assertThat(rig.heard.states).hasSize(1);
    assertThat(counters.snapshot().count(ViewCounter.CATALOG_HEARTBEATS)).isEqualTo(2);
    assertThat(rig.plane.freshness().atNanos()).isEqualTo(runtime.nanoTime());
  }

  @Test
  void theSameRevisionWithAnotherContentBreaksThePlane() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(3, A));
    rig.send(catalog(3, B));
    rig.assertFaulted("catalog revision = 3: repeated with another content");
    assertThat(rig.heard.states).hasSize(1);
    assertThat(rig.heard.invalidations).hasSize(1);
  }

  @Test
  void changedMetadataUnderTheSameRevisionIsAnotherContent() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(3, A));
    PoolDescriptor renamed =
        ScriptedRelay.descriptor(A, WorkerRole.AGGREGATED, ModelRegistration.base("other"));
    rig.send(new PoolCatalog(3, List.of(renamed)));
    rig.assertFaulted("repeated with another content");
  }

  @Test
  void aLowerRevisionBreaksThePlane() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(3, A));
    rig.send(catalog(2, A));
    rig.assertFaulted("catalog revision = 2: lower than 3");
  }

  @Test
  void revisionMemoryStartsAnewWithEachStream() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(9, A));
    rig.publisher.last().fail(unavailable());
    runtime.advance(Duration.ofMillis(500));
    assertThat(rig.publisher.opened()).isEqualTo(2);
    rig.send(catalog(1, B));
    assertThat(rig.heard.states).containsExactly(catalog(9, A), catalog(1, B));
    assertThat(rig.status()).isEqualTo(PlaneStatus.CURRENT);
  }

  @Test
  void readinessHasItsOwnRevisionsByTheSameRules() {
    Rig<TopologySnapshot> rig = topologies();
    TopologySnapshot ready =
        ScriptedRelay.topology(4, ServingState.READY, ScriptedRelay.descriptor(A));
    rig.send(ready);
    rig.send(ready);
    assertThat(counters.snapshot().count(ViewCounter.READINESS_HEARTBEATS)).isEqualTo(1);
    rig.send(ScriptedRelay.topology(4, ServingState.UNAVAILABLE, ScriptedRelay.descriptor(A)));
    rig.assertFaulted("readiness revision = 4: repeated with another content");
  }

  // Keys.

  @Test
  void aPoolListedTwiceBreaksTheCatalogAndAppliesNothing() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(1, A));
    rig.send(catalog(2, B, B));
    rig.assertFaulted("listed twice");
    assertThat(rig.heard.states).containsExactly(catalog(1, A));
  }

  @Test
  void twoGenerationsOfOnePoolBreakTheCatalog() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(1, A, ScriptedRelay.producer(1, 1, 9, 7)));
    rig.assertFaulted("listed twice");
  }

  @Test
  void aPoolThatIsBothUsableAndQuarantinedBreaksTheCatalog() {
    Rig<PoolCatalog> rig = catalogs();
    QuarantinedEntry entry = new QuarantinedEntry(A.poolId(), "a", true, "hash format = 9");
    rig.send(new PoolCatalog(1, List.of(ScriptedRelay.descriptor(A)), List.of(entry)));
    rig.assertFaulted("listed twice");
  }

  @Test
  void quarantinedEntriesAreCountedAndDoNotDelayTheReplacement() {
    Rig<PoolCatalog> rig = catalogs();
    QuarantinedEntry entry = new QuarantinedEntry(A.poolId(), "a", true, "hash format = 9");
    rig.send(new PoolCatalog(1, List.of(ScriptedRelay.descriptor(B)), List.of(entry)));
    assertThat(rig.status()).isEqualTo(PlaneStatus.CURRENT);
    assertThat(counters.snapshot().count(ViewCounter.CATALOG_ENTRIES_QUARANTINED)).isEqualTo(1);
  }

  @Test
  void aRepeatedReadinessKeyBreaksThePlane() {
    Rig<TopologySnapshot> rig = topologies();
    TopologyEntry entry = ScriptedRelay.entry("m", ServingState.READY, ScriptedRelay.descriptor(A));
    rig.send(new TopologySnapshot(1, List.of(entry, entry)));
    rig.assertFaulted("listed twice");
  }

  @Test
  void readinessEntriesThatContradictThemselvesAreQuarantinedAndTheirNeighboursKept() {
    EndpointId one = new EndpointId("prod", "a.b", "c");
    EndpointId two = new EndpointId("prod", "a", "b.c"); // the same dotted name, another endpoint
    EndpointId foreign = new EndpointId("dev", "a", "c");
    AdapterReadiness adapter = new AdapterReadiness("x", ServingState.READY, List.of());
    List<TopologyEntry> entries =
        List.of(
            entry("good", List.of(), List.of(adapter), one, two),
            entry("foreign", List.of(), List.of(), foreign),
            entry("twice", List.of(), List.of(), one, one),
            entry("adapters", List.of(), List.of(adapter, adapter), one),
            entry("roles", List.of(WorkerRole.ENCODE), List.of(), one),
            entry("observed", List.of(WorkerRole.PREFILL, WorkerRole.DECODE), List.of(), one));
    Rig<TopologySnapshot> rig = topologies();
    rig.send(new TopologySnapshot(1, entries));
    TopologySnapshot applied = rig.heard.states.get(0);
    assertThat(applied.entries())
        .extracting(TopologyEntry::canonicalModelId)
        .containsExactly("good", "observed");
    assertThat(applied.quarantined())
        .extracting(QuarantinedEntry::key)
        .containsExactly("prod/foreign", "prod/twice", "prod/adapters", "prod/roles");
    assertThat(counters.snapshot().count(ViewCounter.READINESS_ENTRIES_QUARANTINED)).isEqualTo(4);
  }

  private static TopologyEntry entry(
      String model,
      List<WorkerRole> duplicates,
      List<AdapterReadiness> adapters,
      EndpointId... endpoints) {
    List<TopologyMember> members = new ArrayList<>();
    for (EndpointId endpoint : endpoints) {
      members.add(new TopologyMember(endpoint, List.of(WorkerRole.AGGREGATED), null));
    }
    return new TopologyEntry(
        "prod",
        model,
        ServingState.READY,
        List.of(),
        List.of(),
        members,
        duplicates,
        false,
        adapters);
  }

  // Load windows.

  private static LoadSnapshot window(long sequence, ProducerIdentity... producers) {
    return new LoadSnapshot(
        List.of(producers).stream().map(p -> ScriptedRelay.load(p, 1, 2)).toList(),
        new LoadSnapshot.Window(sequence, 0, 1000),
        List.of());
  }

  @Test
  void windowsGrowByOneOrMoreAndReplaceEverything() {
    Rig<LoadSnapshot> rig = loads();
    rig.send(window(41, A, B));
    rig.send(window(42));
    rig.send(window(45, A));
    assertThat(rig.heard.states).hasSize(3);
    assertThat(rig.status()).isEqualTo(PlaneStatus.CURRENT);
  }

  @Test
  void aWindowThatIsNotLargerBreaksThePlane() {
    Rig<LoadSnapshot> rig = loads();
    rig.send(window(41, A));
    rig.send(window(41, A));
    rig.assertFaulted("load window sequence = 41");
  }

  @Test
  void aProducerListedTwiceBreaksTheLoadPlane() {
    Rig<LoadSnapshot> rig = loads();
    rig.send(window(1, A, B, A));
    rig.assertFaulted("listed twice");
    assertThat(rig.heard.states).isEmpty();
  }

  @Test
  void aBareRelaysLoadHasNoWindowAndEachValueReplaces() {
    Rig<LoadSnapshot> rig = loads();
    rig.send(new LoadSnapshot(List.of(ScriptedRelay.load(A, 1, 2))));
    rig.send(new LoadSnapshot(List.of(ScriptedRelay.load(A, 1, 2))));
    assertThat(rig.heard.states).hasSize(2);
  }

  // Streams.

  private static RelayException unavailable() {
    return new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, "gone");
  }

  @Test
  void anUnaskedEndInvalidatesAndReconnects() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(1, A));
    rig.publisher.last().complete();
    runtime.runUntilIdle();
    assertThat(rig.status()).isEqualTo(PlaneStatus.BACKING_OFF);
    assertThat(rig.heard.invalidations).hasSize(1);
    assertThat(rig.plane.freshness().isKnown()).isFalse();
    runtime.advance(Duration.ofMillis(500));
    assertThat(rig.publisher.opened()).isEqualTo(2);
  }

  @Test
  void reconnectsForeverInsideTheBackoffBounds() {
    Rig<PoolCatalog> rig = catalogs();
    rig.publisher.refuse(unavailable());
    rig.publisher.last().fail(unavailable());
    runtime.runUntilIdle();
    long[] ceilings = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000, 30000};
    for (long ceiling : ceilings) {
      int opened = rig.publisher.opened();
      long millis = 0;
      while (rig.publisher.opened() == opened) {
        runtime.advance(Duration.ofMillis(1));
        millis++;
      }
      assertThat(millis).isBetween(ceiling / 2, ceiling);
    }
  }

  @Test
  void aStreamThatLivedThirtySecondsStartsTheBackoffOver() {
    Rig<PoolCatalog> rig = catalogs();
    for (int i = 0; i < 6; i++) {
      rig.publisher.last().fail(unavailable());
      int opened = rig.publisher.opened();
      while (rig.publisher.opened() == opened) {
        runtime.advance(Duration.ofMillis(50));
      }
    }
    runtime.advance(Duration.ofSeconds(30));
    int opened = rig.publisher.opened();
    rig.publisher.last().fail(unavailable());
    runtime.advance(Duration.ofMillis(500));
    assertThat(rig.publisher.opened()).isEqualTo(opened + 1);
  }

  @ParameterizedTest
  @EnumSource(RecoveryAction.class)
  void onlyStopAndFixRequestForbidARetryOfAStatePlane(RecoveryAction action) {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(1, A));
    rig.publisher.last().fail(new RelayException(RelayErrorReason.UNSPECIFIED, action, "no", null));
    runtime.advance(Duration.ofMinutes(5));
    boolean stops = action == RecoveryAction.STOP || action == RecoveryAction.FIX_REQUEST;
    assertThat(rig.publisher.opened()).isEqualTo(stops ? 1 : 2);
    assertThat(rig.status()).isEqualTo(stops ? PlaneStatus.STOPPED : PlaneStatus.CONNECTING);
    assertThat(rig.heard.invalidations).hasSize(1);
  }

  @Test
  void whatAnotherExceptionMeansIsAnInternalFailure() {
    Rig<PoolCatalog> rig = catalogs();
    rig.publisher.last().fail(new IllegalStateException("boom"));
    runtime.advance(Duration.ofMillis(500));
    assertThat(counters.snapshot().failures(PlaneKind.CATALOG, RelayErrorReason.INTERNAL))
        .isEqualTo(1);
    assertThat(rig.publisher.opened()).isEqualTo(2);
  }

  @Test
  void lateSignalsOfAnOldStreamAreIgnoredAndCounted() {
    Rig<PoolCatalog> rig = catalogs();
    ScriptedPublisher<PoolCatalog>.Sub old = rig.publisher.last();
    old.subscriber.onError(unavailable());
    runtime.advance(Duration.ofMillis(500));
    rig.send(catalog(1, A));
    old.force(catalog(7, B));
    old.subscriber.onError(unavailable());
    runtime.runUntilIdle();
    assertThat(rig.heard.states).containsExactly(catalog(1, A));
    assertThat(rig.status()).isEqualTo(PlaneStatus.CURRENT);
    assertThat(counters.snapshot().count(ViewCounter.LATE_SIGNALS_IGNORED)).isEqualTo(2);
  }

  @Test
  void aSourceThatIgnoresDemandIsRefusedWithoutQueueing() {
    Rig<PoolCatalog> rig = catalogs();
    for (int i = 0; i < 1000; i++) {
      rig.publisher.last().force(catalog(i, A));
    }
    assertThat(runtime.readyTasks()).isLessThan(3);
    runtime.runUntilIdle();
    assertThat(rig.heard.states).hasSize(1);
    rig.assertFaulted("more than was asked for");
    assertThat(counters.snapshot().count(ViewCounter.UNREQUESTED_ITEMS_REFUSED)).isEqualTo(999);
  }

  @Test
  void closingCancelsPromptlyAndForGood() {
    Rig<PoolCatalog> rig = catalogs();
    rig.send(catalog(1, A));
    rig.plane.close("enough");
    runtime.runUntilIdle();
    assertThat(rig.publisher.last().cancelled).isTrue();
    assertThat(rig.heard.invalidations).hasSize(1);
    runtime.advance(Duration.ofMinutes(2));
    assertThat(rig.publisher.opened()).isEqualTo(1);
    assertThat(rig.status()).isEqualTo(PlaneStatus.CLOSED);
    assertThat(runtime.pendingTimers()).isZero();
  }

  @Test
  void closingWhileBackingOffDropsTheTimer() {
    Rig<PoolCatalog> rig = catalogs();
    rig.publisher.last().fail(unavailable());
    runtime.runUntilIdle();
    rig.plane.close("enough");
    runtime.runUntilIdle();
    assertThat(runtime.pendingTimers()).isZero();
  }

  /** A clock that says what it is told to. */
  private record Clock(LongSupplier time) implements RelayRuntime {
    static Clock at(long nanos) {
      return new Clock(() -> nanos);
    }

    @Override
    public long nanoTime() {
      return time.getAsLong();
    }

    @Override
    public long currentTimeMillis() {
      return 0;
    }

    @Override
    public Executor executor() {
      return Runnable::run;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
      return () -> {};
    }

    @Override
    public long randomLong() {
      return 0;
    }
  }

  @Test
  void freshnessIsLocalReceiveTime() {
    Freshness freshness = new Freshness();
    assertThat(freshness.isFresh(Clock.at(0), Freshness.NEVER_STALE)).isFalse();
    freshness.received(100);
    assertThat(freshness.isFresh(Clock.at(100), 10)).isTrue();
    assertThat(freshness.isFresh(Clock.at(110), 10)).isTrue();
    assertThat(freshness.isFresh(Clock.at(111), 10)).isFalse();
    assertThat(freshness.isFresh(Clock.at(99), 10)).as("received in the future").isFalse();
    assertThat(freshness.isFresh(Clock.at(Long.MAX_VALUE), Freshness.NEVER_STALE)).isTrue();
    freshness.forget();
    assertThat(freshness.isFresh(Clock.at(100), 10)).isFalse();
  }

  @Test
  void whatArrivesDuringTheQuestionIsNotFromTheFuture() {
    Freshness freshness = new Freshness();
    freshness.received(100);
    Clock clock =
        new Clock(
            () -> {
              freshness.received(106);
              return 105;
            });
    assertThat(freshness.isFresh(clock, 10)).isTrue();
  }
}
