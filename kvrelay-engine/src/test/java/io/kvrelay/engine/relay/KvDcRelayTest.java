package io.kvrelay.engine.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.testing.Settled;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PoolReadiness;
import io.kvrelay.engine.view.PrefixMatch;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class KvDcRelayTest {
  private static final Member A = new Member(1, 0);
  private static final Member B = new Member(2, 0);

  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final Settled settled = new Settled(time);
  private final KvDcRelay relay = KvDcRelay.builder().dcName("dc-a").runtime(time).start();

  private static KvPoolSpec.Builder spec() {
    return KvPoolSpec.builder()
        .endpoint("prod.backend.generate")
        .model("llama", "l")
        .blockSize(4)
        .expectedUniqueBlocks(100);
  }

  private <T> T join(CompletionStage<T> stage) {
    return settled.join(stage);
  }

  private RelayException failure(CompletionStage<?> stage) {
    return settled.failure(stage);
  }

  private KvGlobalView view() {
    KvGlobalView view = KvGlobalView.create(ViewConfig.DEFAULTS, time);
    view.attach(relay.source());
    time.runUntilIdle();
    return view;
  }

  private static KvEvent root(Member member, long engineHash, long local) {
    return KvEvent.stored(member, 0, new long[] {engineHash}, new long[] {local}).build();
  }

  private static KvEvent child(Member member, long parent, long engineHash, long local) {
    return KvEvent.stored(member, 1, new long[] {engineHash}, new long[] {local})
        .parent(parent)
        .build();
  }

  private PoolMatch look(KvGlobalView view, long... locals) {
    PrefixMatch match = view.match(PrefixRequest.builder("l").localHashes(null, locals).build());
    assertThat(match.pools()).hasSize(1);
    return match.pools().get(0);
  }

  @Test
  void anEventIsVisibleInAViewAfterThePublicationDelay() {
    KvPool pool = join(relay.openPool(spec().publicationDelay(Duration.ofMillis(3)).build()));
    KvGlobalView view = view();
    join(pool.apply(root(A, 11, 7)));
    assertThat(look(view, 7, 8).depth()).isZero();
    time.advance(Duration.ofMillis(3));
    assertThat(look(view, 7, 8).depth()).isEqualTo(1);
    assertThat(look(view, 7, 8).poolId().dcId()).isEqualTo(Identities.dcId("dc-a"));
  }

  @Test
  void aFlushIsAnExactDrain() {
    KvPool pool = join(relay.openPool(spec().build()));
    KvGlobalView view = view();
    join(pool.apply(new KvEventBatch(5, List.of(root(A, 11, 7), child(A, 11, 12, 8)))));
    long sequence = join(pool.flush());
    assertThat(sequence).isEqualTo(1);
    join(view.awaitSequence(pool.identity().poolId(), sequence));
    long[] produced = join(pool.filterWords());
    long[] seen = new long[produced.length];
    assertThat(view.copyLaneWords(pool.identity().poolId(), seen)).isTrue();
    assertThat(seen).isEqualTo(produced).isNotEqualTo(new long[produced.length]);
    assertThat(look(view, 7, 8).depth()).isEqualTo(2);
  }

  @Test
  void aSourceThatDriftedApartLosesItsRankAndIsNotHeardAgain() {
    KvPool pool = join(relay.openPool(spec().build()));
    KvGlobalView view = view();
    join(pool.apply(root(A, 11, 7)));
    join(pool.apply(root(B, 21, 9)));
    join(pool.apply(child(A, 99, 12, 8))); // nobody has 99
    assertThat(look(view, 7).depth()).as("its rank is empty").isZero();
    assertThat(look(view, 9).depth()).as("others keep theirs").isEqualTo(1);

    join(pool.apply(root(A, 11, 7)));
    join(pool.flush());
    assertThat(look(view, 7).depth()).isZero();
    assertThat(pool.statistics().rejectedEvents()).isEqualTo(1);
    assertThat(pool.statistics().rejectedSources()).isEqualTo(1);

    join(pool.apply(new KvEventBatch(6, List.of(root(A, 11, 7)))));
    join(pool.flush());
    assertThat(look(view, 7).depth()).as("a new publisher is heard").isEqualTo(1);
  }

  @Test
  void aResetListensToTheSourceAgain() {
    KvPool pool = join(relay.openPool(spec().build()));
    join(pool.apply(child(A, 99, 12, 8)));
    join(pool.resetRank(A));
    join(pool.apply(root(A, 11, 7)));
    join(pool.flush());
    assertThat(pool.statistics().rejectedEvents()).isZero();
    assertThat(pool.statistics().actor().pool().contributions()).isEqualTo(1);
  }

  @Test
  void aWorkerIsRemovedWithAllItsRanks() {
    KvPool pool = join(relay.openPool(spec().build()));
    join(pool.apply(root(A, 11, 7)));
    join(pool.apply(root(new Member(1, 1), 11, 8)));
    join(pool.apply(root(B, 11, 9)));
    join(pool.apply(child(new Member(1, 2), 99, 1, 1)));
    join(pool.removeWorker(1));
    join(pool.apply(root(new Member(1, 2), 11, 7)));
    join(pool.flush());
    assertThat(pool.statistics().actor().pool().members()).isEqualTo(2);
    assertThat(pool.statistics().rejectedEvents()).isZero();
  }

  @Test
  void moreFaultsThanThePoolHoldsDoNotStopIt() {
    KvPool pool = join(relay.openPool(spec().build()));
    for (int worker = 10; worker < 60; worker++) {
      join(pool.apply(child(new Member(worker, 0), 99, 1, 1)));
    }
    join(pool.apply(root(A, 11, 7)));
    join(pool.flush());
    assertThat(pool.statistics().rejectedSources()).isEqualTo(50);
    assertThat(pool.statistics().actor().pool().contributions()).isEqualTo(1);
  }

  @Test
  void readinessIsWhatTheHostSays() {
    KvPool pool = join(relay.openPool(spec().build()));
    KvGlobalView view = view();
    assertThat(look(view, 7).readiness()).isEqualTo(PoolReadiness.UNKNOWN);
    pool.setServing(ServingState.READY);
    time.runUntilIdle();
    assertThat(look(view, 7).readiness()).isEqualTo(PoolReadiness.READY);
    pool.setServing(ServingState.UNAVAILABLE);
    time.runUntilIdle();
    assertThat(look(view, 7).readiness()).isEqualTo(PoolReadiness.UNAVAILABLE);
  }

  @Test
  void aGivenTopologyOverridesWhatIsSaidOfAPool() {
    KvPool pool = join(relay.openPool(spec().build()));
    KvGlobalView view = view();
    relay.setTopology(topology(7, pool, ServingState.READY));
    pool.setServing(ServingState.UNAVAILABLE);
    time.runUntilIdle();
    assertThat(look(view, 7).readiness()).isEqualTo(PoolReadiness.READY);
  }

  @Test
  void theHostsFirstTopologyCountsHoweverMuchWasStatedBefore() {
    KvPool pool = join(relay.openPool(spec().build()));
    KvGlobalView view = view();
    pool.setServing(ServingState.READY);
    pool.setServing(ServingState.UNAVAILABLE);
    time.runUntilIdle();
    relay.setTopology(topology(1, pool, ServingState.READY));
    time.runUntilIdle();
    assertThat(look(view, 7).readiness()).isEqualTo(PoolReadiness.READY);
    relay.setTopology(topology(2, pool, ServingState.UNAVAILABLE));
    time.runUntilIdle();
    assertThat(look(view, 7).readiness()).isEqualTo(PoolReadiness.UNAVAILABLE);
    relay.setTopology(topology(1, pool, ServingState.READY));
    time.runUntilIdle();
    assertThat(look(view, 7).readiness()).as("an older one").isEqualTo(PoolReadiness.UNAVAILABLE);
    relay.setTopology(topology(-1L, pool, ServingState.READY));
    time.runUntilIdle();
    assertThat(look(view, 7).readiness()).as("the last one").isEqualTo(PoolReadiness.READY);
  }

  private static TopologySnapshot topology(long revision, KvPool pool, ServingState state) {
    boolean ready = state == ServingState.READY;
    List<WorkerRole> role = List.of(WorkerRole.AGGREGATED);
    TopologyMember member =
        new TopologyMember(pool.descriptor().servingEndpoint(), role, pool.identity().poolId());
    return new TopologySnapshot(
        revision,
        List.of(
            new TopologyEntry(
                "prod",
                "llama",
                state,
                ready ? role : List.of(),
                ready ? List.of() : role,
                List.of(member),
                List.of(),
                false,
                List.of())));
  }

  @Test
  void anEndpointHasOnePoolAndAReopenedOneIsANewGeneration() {
    KvPool pool = join(relay.openPool(spec().build()));
    assertThat(failure(relay.openPool(spec().build())).reason())
        .isEqualTo(RelayErrorReason.INVALID_REQUEST);
    KvGlobalView view = view();
    pool.close();
    pool.close();
    time.runUntilIdle();
    assertThat(view.match(PrefixRequest.of("llama", 1, 2, 3, 4)).pools()).isEmpty();
    assertThat(relay.statistics().pools()).isEmpty();
    KvPool again = join(relay.openPool(spec().build()));
    assertThat(again.identity().poolId()).isEqualTo(pool.identity().poolId());
    assertThat(again.identity().layoutGeneration())
        .isGreaterThan(pool.identity().layoutGeneration());
    assertThat(failure(pool.apply(root(A, 11, 7))).reason())
        .isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
  }

  @Test
  void poolsOfDataCentersAreComparableUnlessToldOtherwise() {
    KvPoolSpec here = spec().build();
    KvPoolSpec there = spec().role(WorkerRole.PREFILL).build();
    PoolId a = here.poolId(Identities.dcId("dc-a"));
    PoolId b = there.poolId(Identities.dcId("dc-b"));
    assertThat(a.indexerDomain()).isEqualTo(b.indexerDomain());
    assertThat(a).isNotEqualTo(b);
    assertThat(spec().blockSize(8).build().indexerDomain()).isNotEqualTo(a.indexerDomain());
    assertThat(spec().endpoint("prod.backend.other").build().indexerDomain())
        .isNotEqualTo(a.indexerDomain());
    assertThat(
            spec()
                .endpoint("prod.backend.other")
                .routingScope(a.indexerDomain().routingScope())
                .build()
                .indexerDomain())
        .isEqualTo(a.indexerDomain());
  }

  @Test
  void aSpecificationIsRefusedByFieldAndValue() {
    assertRefused(KvPoolSpec.builder().model("m").blockSize(4), "endpoint is missing");
    assertRefused(KvPoolSpec.builder().endpoint("a.b.c").blockSize(4), "registrations = []");
    assertRefused(KvPoolSpec.builder().endpoint("a.b.c").model("m"), "kvBlockSize = 0");
    assertRefused(spec().publicationThreshold(0), "publicationThreshold = 0");
    assertRefused(spec().publicationDelay(Duration.ZERO), "publicationDelay = PT0S");
    assertRefused(spec().expectedUniqueBlocks(0), "expectedUniqueBlocks = 0");
    assertRefused(spec().maxKicks(4097), "maxKicks = 4097");
    assertThatThrownBy(() -> KvDcRelay.builder().start())
        .isInstanceOf(RelayException.class)
        .hasMessageContaining("dcName is missing");
    assertThatThrownBy(() -> KvDcRelay.builder().dcName(" x"))
        .hasMessageContaining("dcName = \" x\"");
  }

  private static void assertRefused(KvPoolSpec.Builder builder, String message) {
    assertThatThrownBy(builder::build)
        .isInstanceOf(RelayException.class)
        .hasMessageContaining(message)
        .extracting(e -> ((RelayException) e).reason())
        .isEqualTo(RelayErrorReason.INVALID_CONFIGURATION);
  }

  @Test
  void aShutdownPublishesWhatIsPendingAndRefusesWhatComesLater() {
    KvPool pool = join(relay.openPool(spec().build()));
    join(pool.apply(root(A, 11, 7)));
    CompletionStage<Void> ended = relay.shutdown();
    assertThat(failure(relay.openPool(spec().endpoint("prod.backend.other").build())).reason())
        .isEqualTo(RelayErrorReason.CLOSED);
    join(ended);
    join(relay.shutdown());
    relay.close();
    join(pool.fenced());
    join(relay.source().shutdown());
    assertThat(failure(pool.flush()).reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    time.advance(Duration.ofMillis(1)); // a disarmed timer may still be under way
    assertThat(time.pendingTimers()).isZero();
  }

  @Test
  void twoLivesOfARelayAreTwoIncarnations() {
    KvDcRelay next = KvDcRelay.builder().dcName("dc-a").runtime(time).instanceId(9).start();
    assertThat(next.dcId()).isEqualTo(relay.dcId());
    assertThat(next.identity().incarnation())
        .isNotNegative()
        .isNotEqualTo(relay.identity().incarnation());
    assertThat(next.statistics().relay()).isEqualTo(next.identity());
  }

  @Test
  void aRelayOnItsOwnRuntimeLeavesNoThreadBehind() throws InterruptedException {
    Set<Thread> before = threads();
    try (KvDcRelay own = KvDcRelay.builder().dcName("dc-b").start()) {
      KvPool pool = own.openPool(spec().build()).join();
      pool.apply(root(A, 11, 7)).toCompletableFuture().join();
      assertThat(pool.flush().join()).isZero();
      assertThat(threads()).as("threads while it runs").isNotEqualTo(before);
    }
    Set<Thread> left = threads();
    left.removeAll(before);
    for (Thread thread : left) {
      thread.join(10_000); // its pool has ended; the thread itself needs a moment more
      assertThat(thread.isAlive()).as("%s is alive", thread).isFalse();
    }
  }

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("kvrelay-"))
        .collect(Collectors.toSet());
  }
}
