package io.kvrelay.engine.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import io.kvrelay.engine.ingest.IngestCount;
import io.kvrelay.engine.load.HostLoadReports;
import io.kvrelay.engine.topology.HostDeployment;
import io.kvrelay.engine.topology.SlotCounters;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PoolReadiness;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

/** A whole relay that follows a deployment, in virtual time. */
class DeploymentRelayTest {
  private static final EndpointId E = new EndpointId("prod", "backend", "generate");
  private static final Member A = new Member(1, 0);
  private static final Member B = new Member(2, 0);
  private static final int RING = 8;

  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final HostDeployment facts = new HostDeployment(time.executor());
  private final InMemoryEventSource events = new InMemoryEventSource(time, RING);
  private final HostLoadReports loads = new HostLoadReports(time.executor());
  private final KvDcRelay relay =
      KvDcRelay.builder()
          .dcName("dc-a")
          .runtime(time)
          .deployment(facts, DiscoveryScope.ALL)
          .events(events)
          .loadReports(loads)
          .deploymentConfig(DeploymentConfig.builder().expectedUniqueBlocks(1000).build())
          .start();
  private final KvGlobalView view = KvGlobalView.create(ViewConfig.DEFAULTS, time);

  DeploymentRelayTest() {
    view.attach(relay.source());
  }

  private void settle() {
    time.advance(Duration.ofSeconds(1));
  }

  /** A worker with one rank of 100 blocks, live, its event source advertised. */
  private InMemoryEventSource.Rank worker(Member member) {
    InMemoryEventSource.Rank rank = events.start(E, member, true);
    facts.edit(
        deployment -> {
          deployment.put(card(member.workerId(), "llama"));
          Set<Long> live = new HashSet<>(Set.of(member.workerId()));
          Set<Long> before = deployment.current().liveWorkers().get(E);
          live.addAll(before == null ? Set.of() : before);
          deployment.live(E, live);
          deployment.advertise(rank.advertisement());
        });
    settle();
    return rank;
  }

  private static ModelCard card(long worker, String model) {
    return ModelCard.builder(E, worker, model)
        .kvBlockSize(4)
        .role(WorkerRole.AGGREGATED)
        .runtime(RuntimeConfig.ranks(0, 1, 100))
        .build();
  }

  private PoolMatch look(long... locals) {
    List<PoolMatch> pools =
        view.match(PrefixRequest.builder("llama").localHashes(null, locals).build()).pools();
    assertThat(pools).hasSize(1);
    return pools.get(0);
  }

  private int depth(long... locals) {
    return look(locals).depth();
  }

  private KvPoolStatistics pool() {
    assertThat(relay.statistics().pools()).hasSize(1);
    return relay.statistics().pools().get(0);
  }

  private long counted(IngestCount what) {
    return Objects.requireNonNull(pool().following()).ingest().of(what);
  }

  private void join(CompletionStage<?> stage) {
    settle();
    CompletableFuture<?> future = stage.toCompletableFuture();
    assertThat(future).isDone();
    future.join();
  }

  @Test
  void factsMakeAPoolWhoseWorkersEventsAreVisible() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {11, 12}, new long[] {7, 8});
    settle();

    assertThat(depth(7, 8, 9)).isEqualTo(2);
    assertThat(look(7).readiness()).isEqualTo(PoolReadiness.READY);
    RelayHealth health = relay.health();
    assertThat(health.healthy()).isTrue();
    assertThat(health.activeEndpointCount()).isEqualTo(1);
    assertThat(health.problems()).isEmpty();
    assertThat(Objects.requireNonNull(pool().following()).ranks())
        .singleElement()
        .satisfies(rank -> assertThat(rank.trust()).isEqualTo(SourceTrust.EXACT));
  }

  @Test
  void batchesThatAreLostComeBackOutOfTheRing() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {11}, new long[] {7});
    a.loseBatches(2);
    a.store(11, new long[] {12}, new long[] {8});
    a.store(12, new long[] {13}, new long[] {9});
    a.store(13, new long[] {14}, new long[] {10});
    settle();

    assertThat(depth(7, 8, 9, 10)).isEqualTo(4);
    assertThat(a.lostBatches()).isEqualTo(2);
    assertThat(counted(IngestCount.GAPS)).isEqualTo(1);
    assertThat(counted(IngestCount.RECOVERED_BY_EVENTS)).isEqualTo(1);
  }

  @Test
  void moreThanTheRingHoldsComesBackAsADump() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {1}, new long[] {1});
    settle();
    long dumps = counted(IngestCount.RECOVERED_BY_DUMP);
    a.loseBatches(3 * RING);
    for (long i = 2; i <= 3 * RING + 2; i++) {
      a.store(i - 1, new long[] {i}, new long[] {i});
    }
    settle();

    assertThat(depth(1, 2, 3, 4, 5, 6)).isEqualTo(6);
    assertThat(counted(IngestCount.RECOVERED_BY_DUMP)).isEqualTo(dumps + 1);
  }

  @Test
  void aWorkerThatRestartsLosesWhatItHeldAndKeepsItsPool() {
    InMemoryEventSource.Rank a = worker(A);
    InMemoryEventSource.Rank b = worker(B);
    a.store(new long[] {11, 12}, new long[] {7, 8});
    b.store(new long[] {21}, new long[] {7});
    settle();
    long generation = pool().producer().layoutGeneration();
    assertThat(depth(7, 8)).isEqualTo(2);

    InMemoryEventSource.Rank again = a.restart();
    facts.edit(
        deployment -> {
          deployment.withdraw(E, A, a.advertisement().publisherId());
          deployment.advertise(again.advertisement());
        });
    settle();
    assertThat(depth(7, 8)).isEqualTo(1);

    again.store(new long[] {5, 6}, new long[] {7, 9});
    settle();
    assertThat(depth(7, 9)).isEqualTo(2);
    assertThat(pool().producer().layoutGeneration()).isEqualTo(generation);
  }

  @Test
  void anEndpointThatLeavesIsGoneAndComesBackAsALaterGeneration() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {11}, new long[] {7});
    settle();
    long generation = pool().producer().layoutGeneration();

    facts.edit(
        deployment -> {
          deployment.remove(E, 1, null);
          deployment.withdraw(E, A, a.advertisement().publisherId());
        });
    settle();
    assertThat(relay.statistics().pools()).isEmpty();
    assertThat(view.pools()).isEmpty();
    assertThat(relay.health().endpointCount()).isZero();

    facts.edit(
        deployment -> {
          deployment.put(card(1, "llama"));
          deployment.live(E, Set.of(1L));
          deployment.advertise(a.advertisement());
        });
    settle();
    assertThat(depth(7)).as("what the worker still holds is dumped").isEqualTo(1);
    assertThat(pool().producer().layoutGeneration()).isGreaterThan(generation);
  }

  @Test
  void namesAndCapacityChangeInPlace() {
    worker(A);
    long generation = pool().producer().layoutGeneration();
    loads.report(E, LoadReport.kvUsed(A, 40));
    settle();
    assertThat(look(1).load().usedBlocks()).hasValue(40);

    facts.put(card(1, "llama").toBuilder().aliases("l").build());
    settle();
    assertThat(view.match(PrefixRequest.builder("l").localHashes(null, 1).build()).pools())
        .hasSize(1);
    assertThat(pool().producer().layoutGeneration()).isEqualTo(generation);
    assertThat(relay.statistics().deployment().slotEvents().get(SlotCounters.Event.UPDATES))
        .isEqualTo(1);
  }

  @Test
  void anotherModelIsAnotherPoolWhoseNamesNeverMeetTheOldGeneration() {
    worker(A);
    long generation = pool().producer().layoutGeneration();
    facts.put(card(1, "mistral"));
    settle();
    assertThat(view.pools())
        .singleElement()
        .satisfies(
            pool -> {
              assertThat(pool.registrations().get(0).target())
                  .isEqualTo(new ModelTarget.Base("mistral"));
              assertThat(pool.producer().layoutGeneration()).isGreaterThan(generation);
            });
  }

  @Test
  void aFencedGenerationIsReplacedAndRefilled() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {11, 12}, new long[] {7, 8});
    settle();
    long generation = pool().producer().layoutGeneration();

    Objects.requireNonNull(Objects.requireNonNull(relay.deployment()).pool(E))
        .actor()
        .fence("a test's");
    time.advance(Duration.ofMillis(20));
    assertThat(relay.health().healthy()).isFalse();
    assertThat(relay.health().fencedEndpointCount()).isEqualTo(1);
    settle();

    assertThat(pool().producer().layoutGeneration()).isGreaterThan(generation);
    assertThat(depth(7, 8)).isEqualTo(2);
    assertThat(relay.health().healthy()).isTrue();
  }

  @Test
  void aSourceThatContradictsTheStateIsBarredAndNamed() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {11}, new long[] {7});
    settle();
    a.send(
        new KvEventBatch(
            a.advertisement().publisherId(),
            List.of(
                KvEvent.stored(A, a.nextEventId(), new long[] {99}, new long[] {9})
                    .parent(12345)
                    .build())));
    settle();

    assertThat(depth(7)).as("an unknown parent empties the rank").isZero();
    assertThat(counted(IngestCount.REJECTED_SOURCES)).isEqualTo(1);
    assertThat(relay.health().problems())
        .singleElement()
        .satisfies(problem -> assertThat(problem.subject()).isEqualTo(E + " worker 1 rank 0"));
  }

  /** Operators can clear one source by hand. */
  @Test
  void anOperatorClearsOneRankAndItsSourceIsReadAgain() {
    InMemoryEventSource.Rank a = worker(A);
    InMemoryEventSource.Rank b = worker(B);
    a.store(new long[] {11}, new long[] {7});
    b.store(new long[] {21}, new long[] {8});
    settle();

    join(relay.clearRank(E, A));
    assertThat(counted(IngestCount.OPERATOR_CLEARS)).isEqualTo(1);
    assertThat(depth(8)).as("the other rank is untouched").isEqualTo(1);
    assertThat(depth(7)).as("what the worker still holds came back").isEqualTo(1);

    assertThatThrownBy(() -> join(relay.clearRank(E, new Member(9, 9))))
        .isInstanceOf(CompletionException.class)
        .hasMessageContaining("9/9");
    assertThatThrownBy(() -> join(relay.clearRank(new EndpointId("no", "such", "endpoint"), A)))
        .hasMessageContaining("no.such.endpoint");
  }

  @Test
  void losingTheFactsKeepsThePoolsAndSaysSo() {
    class Facts implements DeploymentFactsSource {
      private Flow.Subscriber<? super DeploymentFacts> subscriber;

      @Override
      public Flow.Publisher<DeploymentFacts> facts(DiscoveryScope scope) {
        return given -> {
          subscriber = given;
          facts.facts(scope).subscribe(given);
        };
      }
    }

    Facts breakable = new Facts();
    KvDcRelay second =
        KvDcRelay.builder()
            .dcName("dc-b")
            .runtime(time)
            .deployment(breakable, DiscoveryScope.ALL)
            .events(events)
            .start();
    worker(A);
    assertThat(second.health().factsError()).isNull();
    breakable.subscriber.onError(new IllegalStateException("the watch was cut"));
    time.runUntilIdle();
    assertThat(second.health().factsError()).contains("the watch was cut");
    assertThat(second.health().activeEndpointCount()).isEqualTo(1);
    settle();
    assertThat(second.health().factsError()).isNull();
    join(second.shutdown());
  }

  @Test
  void aShutdownWithdrawsEverythingAndLeavesNothingScheduled() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {11}, new long[] {7});
    settle();
    view.close();
    settle();
    int before = time.pendingTimers();
    Last<TopologySnapshot> readiness = new Last<>();
    relay.source().readiness().subscribe(readiness);
    settle();
    assertThat(readiness.value.entries())
        .singleElement()
        .satisfies(entry -> assertThat(entry.state()).isEqualTo(ServingState.READY));

    CompletionStage<Void> ended = relay.shutdown();
    assertThat(relay.health().shuttingDown()).isTrue();
    join(ended);

    assertThat(readiness.value.entries()).isEmpty();
    assertThat(readiness.completed).isTrue();
    assertThat(relay.statistics().pools()).isEmpty();
    assertThat(relay.health().hostLastError()).isNull();
    assertThat(time.pendingTimers()).isLessThanOrEqualTo(before).isZero();
    assertThat(time.readyTasks()).isZero();
  }

  @Test
  void aFailureOfTheRelayItselfEndsItAndTheFirstReasonStays() {
    worker(A);
    relay.hostFailed("the first");
    relay.hostFailed("the second");
    settle();
    RelayHealth health = relay.health();
    assertThat(health.healthy()).isFalse();
    assertThat(health.hostLastError()).isEqualTo("the first");
    assertThat(health.shuttingDown()).isTrue();
    assertThat(relay.statistics().pools()).isEmpty();
    assertThat(relay.statistics().publication().catalogPools()).isZero();
    assertThat(relay.statistics().publication().topologyReady()).isZero();
  }

  @Test
  void oneEndpointsPoolIsPublishedAndCopiedWhoeverOpenedIt() {
    InMemoryEventSource.Rank a = worker(A);
    a.store(new long[] {11}, new long[] {7});
    time.runUntilIdle();
    CompletableFuture<Long> flushed = relay.flush(E);
    CompletableFuture<long[]> words = relay.filterWords(E);
    time.runUntilIdle();
    assertThat(flushed.join()).isEqualTo(pool().actor().lastSequence()).isPositive();
    assertThat(words.join()).isNotEqualTo(new long[words.join().length]);
    assertThatThrownBy(() -> relay.flush(new EndpointId("no", "such", "pool")).join())
        .hasMessageContaining("no.such.pool");
  }

  /** A fleet that fails as a whole is not listed rank by rank. */
  @Test
  void healthNamesABoundedNumberOfRanks() {
    facts.edit(
        deployment -> {
          for (long worker = 1; worker <= 50; worker++) {
            deployment.put(card(worker, "llama"));
            InMemoryEventSource.Rank rank = events.start(E, new Member(worker, 0), true);
            rank.leaveUnanswered(true);
            deployment.advertise(rank.advertisement());
          }
        });
    settle();
    assertThat(relay.health().problems()).hasSizeBetween(33, 34);
    assertThat(relay.health().problems())
        .anySatisfy(problem -> assertThat(problem.detail()).contains("18 more ranks"));
  }

  @Test
  void aShutdownDoesNotWaitForeverForASourceThatDoesNotLetGo() {
    KvDcRelay stuck =
        KvDcRelay.builder()
            .dcName("dc-c")
            .runtime(time)
            .deployment(facts, DiscoveryScope.ALL)
            .events(
                new KvEventSource() {
                  @Override
                  public Following follow(EndpointId endpoint, KvEventListener listener) {
                    return CompletableFuture<Void>::new;
                  }

                  @Override
                  public CompletionStage<HistoryReply> history(
                      EventSourceAdvertisement source, HistoryRequest request) {
                    return new CompletableFuture<>();
                  }
                })
            .deploymentConfig(
                DeploymentConfig.builder()
                    .expectedUniqueBlocks(1000)
                    .stopTimeout(Duration.ofSeconds(2))
                    .build())
            .start();
    worker(A);
    CompletableFuture<Void> ended = stuck.shutdown().toCompletableFuture();
    time.advance(Duration.ofMillis(1999));
    assertThat(ended).isNotDone();
    time.advance(Duration.ofMillis(2));
    assertThat(ended).isCompleted();
  }

  @Test
  void whatFollowsFromADeploymentCannotBeStatedByHand() {
    assertThatThrownBy(() -> relay.setTopology(TopologySnapshot.EMPTY))
        .isInstanceOf(RelayException.class)
        .extracting(e -> ((RelayException) e).reason())
        .isEqualTo(RelayErrorReason.INVALID_REQUEST);
    assertThatThrownBy(() -> KvDcRelay.builder().dcName("dc").runtime(time).events(events).start())
        .hasMessageContaining("deployment is missing");
  }

  @Test
  void aHostMayOpenPoolsBesideTheDeployments() {
    worker(A);
    KvPool opened =
        relay
            .openPool(
                KvPoolSpec.builder()
                    .endpoint("prod.other.generate")
                    .model("other")
                    .blockSize(4)
                    .expectedUniqueBlocks(1000)
                    .build())
            .whenComplete((pool, error) -> {})
            .toCompletableFuture()
            .getNow(null);
    settle();
    assertThat(opened).isNull();
    assertThat(relay.statistics().pools()).hasSize(2);
    assertThat(relay.health().endpointCount()).isEqualTo(2);
    assertThat(view.pools()).hasSize(2);
  }

  @Test
  void settingsOutOfRangeAreRefusedByName() {
    for (var broken :
        List.<Runnable>of(
            () -> DeploymentConfig.builder().recoveryTimeout(Duration.ZERO).build(),
            () -> DeploymentConfig.builder().publicationDelay(Duration.ZERO).build(),
            () -> DeploymentConfig.builder().publicationThreshold(0).build(),
            () -> DeploymentConfig.builder().expectedUniqueBlocks(0).build(),
            () -> DeploymentConfig.builder().stopTimeout(Duration.ZERO).build(),
            () -> DeploymentConfig.builder().maxConcurrentRecoveries(0).build())) {
      assertThatThrownBy(broken::run)
          .isInstanceOf(RelayException.class)
          .hasMessageMatching("(?s).* = (PT)?0S?.*");
    }
  }

  @Test
  void aTimeThatNoClockCanCountIsRefusedByName() {
    Duration ages = Duration.ofSeconds(Long.MAX_VALUE);
    for (var broken :
        List.<Runnable>of(
            () -> DeploymentConfig.builder().recoveryTimeout(ages).build(),
            () -> DeploymentConfig.builder().unknownGrace(ages).build(),
            () -> DeploymentConfig.builder().publicationDelay(ages).build(),
            () -> DeploymentConfig.builder().stopTimeout(ages).build())) {
      assertThatThrownBy(broken::run)
          .isInstanceOf(RelayException.class)
          .hasMessageContaining(" = " + ages + ": must be at most");
    }
  }

  private static final class Last<T> implements Flow.Subscriber<T> {
    private T value;
    private boolean completed;

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(T next) {
      value = next;
    }

    @Override
    public void onError(Throwable failure) {}

    @Override
    public void onComplete() {
      completed = true;
    }
  }
}
