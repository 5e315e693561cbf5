package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

/** Pools, generations, and what the catalog and the load list make of them. */
class PoolRegistryTest {
  private final Fixture fixture = new Fixture();

  private PoolCatalog catalog() {
    return fixture.registry.catalog().value();
  }

  private RelayException refused(PoolSpec spec) {
    CompletableFuture<PoolHandle> attached = fixture.registry.attach(spec, ScriptedPool::new);
    fixture.runtime.runUntilIdle();
    try {
      attached.join();
    } catch (CompletionException e) {
      return (RelayException) e.getCause();
    }
    throw new AssertionError("attached: " + spec);
  }

  private static PoolSpec with(PoolSpec spec, List<ModelRegistration> registrations) {
    return new PoolSpec(
        spec.poolId(),
        spec.endpoint(),
        spec.format(),
        registrations,
        spec.querySemantics(),
        spec.roles());
  }

  private static PoolSpec with(PoolSpec spec, EndpointId endpoint, List<WorkerRole> roles) {
    return new PoolSpec(
        spec.poolId(), endpoint, spec.format(), spec.registrations(), spec.querySemantics(), roles);
  }

  private static PoolLoad load(ProducerIdentity producer, long used) {
    return new PoolLoad(producer, OptionalLong.of(used), OptionalLong.of(100), 1, 1, 1);
  }

  @Test
  void theCatalogStartsEmptyAtRevisionZeroAndRisesByOnePerChange() {
    assertThat(catalog()).isEqualTo(PoolCatalog.EMPTY);
    Fixture.Pool pool = fixture.attach(1);
    assertThat(catalog().revision()).isEqualTo(1);
    pool.handle().updateRoles(List.of(WorkerRole.PREFILL, WorkerRole.DECODE));
    assertThat(catalog().revision()).isEqualTo(2);
    pool.handle().updateRegistrations(List.of(ModelRegistration.base("qwen")));
    assertThat(catalog().revision()).isEqualTo(3);
    pool.handle().withdraw();
    assertThat(catalog()).isEqualTo(new PoolCatalog(4, List.of()));
    pool.handle().withdraw();
    pool.handle().remove();
    assertThat(catalog().revision()).isEqualTo(4);
  }

  @Test
  void identicalRegistrationsAndRolesDoNotRaiseTheRevision() {
    Fixture.Pool pool = fixture.attach(1);
    assertThat(pool.handle().updateRoles(List.of(WorkerRole.LEGACY))).isTrue();
    assertThat(pool.handle().updateRegistrations(pool.handle().descriptor().registrations()))
        .isTrue();
    assertThat(catalog().revision()).isEqualTo(1);
  }

  @Test
  void updatesKeepTheIdentityAndTheQuerySemantics() {
    Fixture.Pool pool = fixture.attach(1);
    PoolDescriptor before = pool.handle().descriptor();
    pool.handle().updateRegistrations(List.of(ModelRegistration.base("qwen")));
    PoolDescriptor after = catalog().pools().get(0);
    assertThat(after.producer()).isEqualTo(before.producer());
    assertThat(after.querySemantics()).isEqualTo(before.querySemantics());
    assertThat(after.servingEndpoint()).isEqualTo(before.servingEndpoint());
    assertThat(after.registrations()).containsExactly(ModelRegistration.base("qwen"));
  }

  @Test
  void poolsAreListedInPoolOrder() {
    fixture.attach(7);
    fixture.attach(3);
    fixture.attach(5);
    assertThat(catalog().pools()).extracting(PoolDescriptor::poolId).isSorted();
  }

  @Test
  void aPoolHasOneOwnerAndAnEndpointOnePool() {
    Fixture.Pool pool = fixture.attach(1);
    PoolSpec same = Fixture.spec(1, 16);
    PoolSpec other = with(Fixture.spec(2, 16), same.endpoint(), same.roles());
    assertThat(refused(same)).hasMessageContaining("poolId");
    assertThat(refused(other)).hasMessageContaining("endpoint");
    pool.handle().withdraw(); // withdrawn is not removed: both stay taken
    assertThat(refused(same).reason()).isEqualTo(RelayErrorReason.INVALID_REQUEST);
    assertThat(refused(other).reason()).isEqualTo(RelayErrorReason.INVALID_REQUEST);
    pool.handle().remove();
    assertThat(fixture.attach(1).handle().identity().layoutGeneration()).isEqualTo(2);
  }

  @Test
  void aReservationCountsAsTaken() {
    CompletableFuture<PoolHandle> first =
        fixture.registry.attach(Fixture.spec(1, 16), ScriptedPool::new);
    CompletableFuture<PoolHandle> second =
        fixture.registry.attach(Fixture.spec(1, 16), ScriptedPool::new);
    assertThat(second).isCompletedExceptionally();
    fixture.runtime.runUntilIdle();
    assertThat(first).isCompleted();
  }

  @Test
  void contradictoryRegistrationsAndRolesAreRefused() {
    PoolSpec spec = Fixture.spec(1, 16);
    ModelRegistration llama = ModelRegistration.base("llama", "chat");
    ModelRegistration lora =
        new ModelRegistration("llama", new ModelTarget.Lora("llama", "a"), List.of());
    assertThat(refused(with(spec, List.of()))).hasMessageContaining("registrations");
    assertThat(refused(with(spec, List.of(llama, llama)))).hasMessageContaining("llama");
    assertThat(refused(with(spec, List.of(llama, lora)))).hasMessageContaining("llama");
    assertThat(refused(with(spec, List.of(llama, ModelRegistration.base("chat")))))
        .hasMessageContaining("alias = chat");
    assertThat(refused(with(spec, List.of(llama, ModelRegistration.base("qwen", "chat")))))
        .hasMessageContaining("alias = chat");
    assertThat(refused(with(spec, spec.endpoint(), List.of()))).hasMessageContaining("roles");
    assertThat(refused(with(spec, spec.endpoint(), List.of(WorkerRole.DECODE, WorkerRole.DECODE))))
        .hasMessageContaining("DECODE");
    assertThat(catalog().revision()).isZero();
  }

  @Test
  void anInvalidUpdateKeepsTheOldValues() {
    Fixture.Pool pool = fixture.attach(1);
    assertThatThrownBy(() -> pool.handle().updateRoles(List.of()))
        .isInstanceOf(RelayException.class);
    assertThatThrownBy(() -> pool.handle().updateRegistrations(List.of()))
        .isInstanceOf(RelayException.class);
    assertThat(catalog().revision()).isEqualTo(1);
  }

  @Test
  void oneModelMayLiveInSeveralPools() {
    fixture.attach(1);
    fixture.attach(2);
    assertThat(catalog().pools()).hasSize(2);
  }

  @Test
  void aFailedAttachUsesUpItsGenerationAndNothingElse() {
    CompletableFuture<PoolHandle> failed =
        fixture.registry.attach(
            Fixture.spec(1, 16),
            identity -> {
              throw new IllegalStateException("no memory");
            });
    fixture.runtime.runUntilIdle();
    assertThatThrownBy(failed::join).hasRootCauseMessage("no memory");
    assertThat(catalog().revision()).isZero();
    assertThat(fixture.attach(1).handle().identity().layoutGeneration()).isEqualTo(2);
  }

  @Test
  void aCancelledAttachGivesItsReservationBack() {
    CompletableFuture<PoolHandle> cancelled =
        fixture.registry.attach(Fixture.spec(1, 16), ScriptedPool::new);
    cancelled.cancel(false);
    fixture.runtime.runUntilIdle();
    assertThat(catalog().revision()).isZero();
    assertThat(fixture.attach(1).handle().identity().layoutGeneration()).isEqualTo(2);
  }

  @Test
  void aProducerOfAnotherIdentityIsRefused() {
    ScriptedPool[] made = new ScriptedPool[1];
    CompletableFuture<PoolHandle> failed =
        fixture.registry.attach(
            Fixture.spec(1, 16),
            identity -> {
              made[0] =
                  new ScriptedPool(
                      new ProducerIdentity(identity.poolId(), 1, 99, identity.format()));
              return made[0];
            });
    fixture.runtime.runUntilIdle();
    assertThat(failed).isCompletedExceptionally();
    assertThat(made[0].fenceReason).isNotNull();
    assertThat(catalog().revision()).isZero();
  }

  @Test
  void twoFiltersAreAllocatedAtATime() {
    int[] running = {0};
    List<CompletableFuture<PoolHandle>> attached = new ArrayList<>();
    for (int i = 1; i <= 5; i++) {
      attached.add(
          fixture.registry.attach(
              Fixture.spec(i, 16),
              identity -> {
                running[0]++;
                return new ScriptedPool(identity);
              }));
    }
    assertThat(fixture.runtime.readyTasks()).isEqualTo(2);
    fixture.runtime.runUntilIdle();
    assertThat(running[0]).isEqualTo(5);
    assertThat(attached).allMatch(CompletableFuture::isDone);
  }

  @Test
  void fencingIsStickyAndTellsItsFirstReason() {
    Fixture.Pool pool = fixture.attach(1);
    pool.handle().fence("first");
    pool.handle().fence("second");
    pool.handle().withdraw();
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(pool.handle().fenced().toCompletableFuture().join()).isEqualTo("first");
    assertThat(pool.producer().fenceReason).isEqualTo("first");
    assertThat(catalog()).isEqualTo(new PoolCatalog(2, List.of()));
    assertThat(fixture.totals().terminalFailures()).isEqualTo(1);
  }

  @Test
  void withdrawalLeavesTheProducerToItsOwner() {
    Fixture.Pool pool = fixture.attach(1);
    pool.handle().withdraw();
    assertThat(pool.producer().fenceReason).isNull();
    pool.producer().fence("torn down by its owner");
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.WITHDRAWN);
  }

  @Test
  void aProducerThatEndsByItselfTakesItsGenerationWithIt() {
    Fixture.Pool pool = fixture.attach(1);
    pool.producer().terminated.complete(null);
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(catalog().pools()).isEmpty();
  }

  @Test
  void aLateFailureOfAnOldGenerationCannotTouchANewOne() {
    Fixture.Pool old = fixture.attach(1);
    old.handle().withdraw();
    old.handle().remove();
    Fixture.Pool young = fixture.attach(1);
    old.handle().fence("late");
    old.handle().remove();
    assertThat(old.handle().updateRoles(List.of(WorkerRole.DECODE))).isFalse();
    assertThat(old.handle().updateLoad(load(old.handle().identity(), 1))).isFalse();
    assertThat(young.handle().state()).isEqualTo(PoolHandle.State.ACTIVE);
    assertThat(catalog().pools())
        .extracting(PoolDescriptor::producer)
        .containsExactly(young.handle().identity());
    assertThat(fixture.follow(young).hasSnapshot()).isTrue();
    assertThat(fixture.totals().ignoredUpdates()).isEqualTo(2);
  }

  @Test
  void whoLearnsOfAFenceFindsTheCatalogWithoutThePool() {
    Fixture.Pool pool = fixture.attach(1);
    pool.handle().updateLoad(load(pool.handle().identity(), 1));
    List<String> seen = new ArrayList<>();
    var unused =
        pool.handle()
            .fenced()
            .thenAccept(
                reason ->
                    seen.add(
                        catalog().pools().size()
                            + "/"
                            + fixture.registry.load().value().pools().size()));
    fixture
        .registry
        .find(pool.handle().identity())
        .cancelled()
        .add(() -> seen.add("cancelled with " + catalog().pools().size()));
    pool.handle().fence("test");
    assertThat(seen).containsExactly("cancelled with 0", "0/0");
    assertThat(unused).isNotNull();
  }

  @Test
  void loadIsListedForActivePoolsWithServingFactsAndPublishedOnChangeOnly() {
    Fixture.Pool one = fixture.attach(2);
    Fixture.Pool two = fixture.attach(1);
    List<LoadSnapshot> published = new ArrayList<>();
    fixture.registry.source().load().subscribe(new Collecting<>(published));
    fixture.runtime.runUntilIdle();
    one.handle().updateLoad(load(one.handle().identity(), 40));
    fixture.runtime.runUntilIdle();
    one.handle().updateLoad(load(one.handle().identity(), 40));
    fixture.runtime.runUntilIdle();
    two.handle().updateLoad(load(two.handle().identity(), 7));
    fixture.runtime.runUntilIdle();
    assertThat(one.handle().updateLoad(load(two.handle().identity(), 1))).isFalse();
    one.handle().withdraw();
    fixture.runtime.runUntilIdle();
    two.handle().updateLoad(null);
    fixture.runtime.runUntilIdle();
    assertThat(published)
        .extracting(snapshot -> snapshot.pools().size())
        .containsExactly(0, 1, 2, 1, 0);
    assertThat(published.get(2).pools()).extracting(pool -> pool.producer().poolId()).isSorted();
  }

  private record Collecting<T>(List<T> into) implements Flow.Subscriber<T> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(T item) {
      into.add(item);
    }

    @Override
    public void onError(Throwable error) {
      throw new AssertionError(error);
    }

    @Override
    public void onComplete() {}
  }

  private static TopologySnapshot topology(long revision, ServingState... states) {
    List<TopologyEntry> entries = new ArrayList<>();
    for (int i = 0; i < states.length; i++) {
      entries.add(
          new TopologyEntry(
              "ns",
              "model" + i,
              states[i],
              List.of(),
              List.of(),
              List.of(
                  new TopologyMember(
                      new EndpointId("ns", "backend", "generate"),
                      List.of(WorkerRole.LEGACY),
                      Optional.<io.kvrelay.api.PoolId>empty().orElse(null))),
              List.of(),
              true,
              List.of()));
    }
    return new TopologySnapshot(revision, entries);
  }

  @Test
  void readinessIsPublishedAsItIsNumberedAndNeverBackwards() {
    fixture.registry.setTopology(topology(5, ServingState.READY, ServingState.UNKNOWN));
    fixture.registry.setTopology(topology(4, ServingState.UNAVAILABLE));
    assertThat(fixture.registry.readiness().value().revision()).isEqualTo(5);
    PublicationStatistics statistics = fixture.registry.statistics();
    assertThat(statistics.topologyReady()).isEqualTo(1);
    assertThat(statistics.topologyUnknown()).isEqualTo(1);
    assertThat(statistics.topologyUnavailable()).isZero();
    assertThat(fixture.totals().ignoredUpdates()).isEqualTo(1);
  }

  @Test
  void theStatisticsCountWhatThereIs() {
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.attach(3);
    fixture.follow(one);
    fixture.follow(two).cancel();
    one.handle()
        .updateLoad(
            new PoolLoad(
                one.handle().identity(), OptionalLong.empty(), OptionalLong.of(1), 1, 2, 2));
    one.publish(1, 1);
    fixture.runtime.runUntilIdle();
    PublicationStatistics statistics = fixture.registry.statistics();
    assertThat(statistics.catalogPools()).isEqualTo(3);
    assertThat(statistics.poolSubscribers()).isEqualTo(1);
    assertThat(statistics.requestedHubs()).isEqualTo(2);
    assertThat(statistics.initializedHubs()).isEqualTo(2);
    assertThat(statistics.readyHubs()).isEqualTo(2);
    assertThat(statistics.idleHubs()).isEqualTo(1);
    assertThat(statistics.degradedLoadPools()).isEqualTo(1);
    assertThat(statistics.totals().encodedDeltas()).isEqualTo(1);
    assertThat(statistics.totals().queuedDeltas()).isEqualTo(1);
    assertThat(statistics.totals().encodedChunks()).isEqualTo(2);
    assertThat(statistics.totals().encodedDeltaBytes()).isEqualTo(72);
    assertThat(statistics.totals().encodedChunkBytes()).isEqualTo(2 * (64 + 16 * 8));
  }

  @Test
  void shutdownEmptiesTheCatalogFencesAllPoolsAndRefusesAttaches() {
    Fixture.Pool pool = fixture.attach(1);
    CompletableFuture<PoolHandle> pending =
        fixture.registry.attach(Fixture.spec(2, 16), ScriptedPool::new);
    List<PoolCatalog> seen = new ArrayList<>();
    fixture.registry.source().catalog().subscribe(new Collecting<>(seen));
    fixture.registry.shutdown();
    fixture.registry.shutdown();
    fixture.runtime.runUntilIdle();
    assertThat(pending).isCompletedExceptionally();
    assertThat(catalog()).isEqualTo(new PoolCatalog(2, List.of()));
    assertThat(seen).last().isEqualTo(catalog());
    assertThat(pool.producer().fenceReason).isNotNull();
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(refused(Fixture.spec(3, 16)).reason()).isEqualTo(RelayErrorReason.CLOSED);
    assertThat(fixture.totals().terminalFailures()).isZero();
  }

  @Test
  void anUpdateDuringShutdownDoesNotBringThePoolBackIntoTheCatalog() {
    Fixture.Pool pool = fixture.attach(1);
    List<Boolean> updates = new ArrayList<>();
    fixture
        .registry
        .source()
        .shutdown()
        .thenRun(() -> updates.add(pool.handle().updateRoles(List.of(WorkerRole.DECODE))));
    fixture.registry.shutdown();
    fixture.runtime.runUntilIdle();
    assertThat(updates).containsExactly(false);
    assertThat(catalog().pools()).isEmpty();
    assertThat(pool.producer().fenceReason).isNotNull();
  }

  @Test
  void theIdentityIsTheRelaysOwn() {
    assertThat(fixture.registry.source().relayIdentity().incarnation()).isEqualTo(23);
    assertThat(fixture.attach(1).handle().identity().producerIncarnation()).isEqualTo(23);
  }
}
