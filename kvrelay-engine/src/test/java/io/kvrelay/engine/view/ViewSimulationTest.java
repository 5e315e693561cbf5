package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import io.kvrelay.engine.testing.Seeds;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random relays with random faults on every plane, in random interleavings, against a model that
 * knows only what the relays say now. At every moment a lane that may be read must hold exactly the
 * words its producer had at the installed sequence; once the faults stop, the view must come to
 * agree with the model in everything. {@code -Dkvrelay.view.simulations=} sets the number of runs.
 */
class ViewSimulationTest {
  private static final int RUNS = Integer.getInteger("kvrelay.view.simulations", 60);
  private static final int STEPS = 150;
  private static final int RELAYS = 3;
  private static final int PROMPTS = 3;
  private static final int BLOCKS = 6;
  private static final RelayErrorReason[] FILTER_REASONS = {
    RelayErrorReason.PUBLICATION_UNAVAILABLE,
    RelayErrorReason.SUBSCRIBER_LAGGED,
    RelayErrorReason.SNAPSHOT_PROGRESS_TIMEOUT,
    RelayErrorReason.RESOURCE_LIMIT,
    RelayErrorReason.POOL_NOT_FOUND,
    RelayErrorReason.PRODUCER_CHANGED,
    RelayErrorReason.INVALID_PUBLICATION,
    RelayErrorReason.UNSUPPORTED_FEATURE,
    RelayErrorReason.INTERNAL
  };

  @Test
  void theViewIsNeverWrongAndAlwaysConverges() {
    Random seeds = Seeds.random();
    for (int run = 0; run < RUNS; run++) {
      new Simulation(seeds.nextLong()).run();
    }
  }

  /** One pool of the model. */
  private static final class Pool {
    final ScriptedFilter filter;
    PoolLoad load;
    ServingState state = ServingState.READY;
    boolean quarantined;

    /** Leading blocks of each prompt: what is held has no holes, so its depth is one number. */
    final int[] held = new int[PROMPTS];

    Pool(ProducerIdentity producer) {
      this.filter = new ScriptedFilter(producer);
      this.load = ScriptedRelay.load(producer, 1, 10);
    }

    ProducerIdentity producer() {
      return filter.producer();
    }
  }

  /** One relay of the model. */
  private static final class Relay {
    final ScriptedRelay source;
    final Map<PoolId, Pool> pools = new TreeMap<>();
    long revision;
    long topologyRevision;
    long window;
    @Nullable Attachment attachment;

    Relay(long incarnation) {
      this.source = new ScriptedRelay(incarnation);
    }
  }

  private static final class Simulation {
    private final long seed;
    private final Random random;
    private final VirtualRuntime runtime;
    private final ViewRig rig;
    private final List<Relay> relays = new ArrayList<>();

    /** The words of every generation at every sequence. */
    private final Map<ProducerIdentity, Map<Long, long[]>> history = new HashMap<>();

    private final List<int[]> prompts = new ArrayList<>();
    private long generations;

    Simulation(long seed) {
      this.seed = seed;
      this.random = new Random(seed);
      this.runtime = VirtualRuntime.shuffling(seed);
      ViewConfig config = ViewConfig.builder().lanes(8).frameWindow(1 + random.nextInt(8)).build();
      this.rig = new ViewRig(config, runtime);
      for (int i = 0; i < PROMPTS; i++) {
        prompts.add(ViewRig.prompt(i + 1, BLOCKS));
      }
    }

    void run() {
      try {
        for (int i = 0; i < RELAYS; i++) {
          Relay relay = new Relay(100 + i);
          relays.add(relay);
          addPool(relay);
          publishAll(relay);
          attach(relay);
        }
        for (int step = 0; step < STEPS; step++) {
          act(relays.get(random.nextInt(relays.size())));
          runSome();
        }
        heal();
        assertConverged();
        end();
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("simulation " + seed + ": " + e.getMessage(), e);
      }
    }

    private void runSome() {
      int tasks = random.nextInt(30);
      for (int i = 0; i < tasks && runtime.runOne(); i++) {
        if (random.nextInt(8) == 0) {
          assertLanesMatchTheirSequences();
        }
      }
      if (random.nextInt(4) == 0) {
        runtime.advance(Duration.ofMillis(random.nextInt(2000)));
      }
      assertLanesMatchTheirSequences();
    }

    private void act(Relay relay) {
      switch (random.nextInt(16)) {
        case 0 -> addPool(relay);
        case 1 -> pick(relay, pool -> relay.pools.remove(pool.producer().poolId()));
        case 2 -> pick(relay, pool -> regenerate(relay, pool));
        case 3 -> pick(relay, pool -> pool.quarantined = !pool.quarantined);
        case 4 -> pick(relay, this::changeState);
        case 5 -> pick(relay, this::changeLoad);
        case 6, 7, 8, 9 -> pick(relay, pool -> store(relay, pool));
        case 10, 11 -> pick(relay, pool -> breakFilter(relay, pool));
        case 12 -> breakWatch(relay.source.catalog, catalog(relay, 0));
        case 13 -> breakWatch(relay.source.readiness, TopologySnapshot.EMPTY);
        case 14 -> breakWatch(relay.source.load, LoadSnapshot.EMPTY);
        default -> toggle(relay);
      }
      publishAll(relay);
    }

    private void pick(Relay relay, Consumer<Pool> action) {
      if (!relay.pools.isEmpty()) {
        List<Pool> all = List.copyOf(relay.pools.values());
        action.accept(all.get(random.nextInt(all.size())));
      }
    }

    private void toggle(Relay relay) {
      Attachment attachment = relay.attachment;
      if (attachment == null) {
        attach(relay);
      } else {
        attachment.close();
        relay.attachment = null;
      }
    }

    private void attach(Relay relay) {
      relay.attachment = rig.view.attach(relay.source);
    }

    // What relays do.

    private void addPool(Relay relay) {
      int dc = relays.indexOf(relay) * 2 + random.nextInt(2) + 1;
      ProducerIdentity producer = newGeneration(relay, 1 + random.nextInt(2), dc);
      relay.pools.computeIfAbsent(producer.poolId(), id -> newPool(relay, producer));
    }

    private ProducerIdentity newGeneration(Relay relay, int domain, long dc) {
      long incarnation = relay.source.identity.incarnation();
      return ScriptedRelay.producer(domain, dc, incarnation, ++generations);
    }

    private Pool newPool(Relay relay, ProducerIdentity producer) {
      Pool pool = new Pool(producer);
      int prompt = random.nextInt(PROMPTS);
      long[] hashes = ViewRig.hashes(prompts.get(prompt));
      for (int i = random.nextInt(BLOCKS); i >= 0; i--) {
        pool.filter.put(hashes[pool.held[prompt]++]);
      }
      pool.filter.sequence = random.nextInt(100);
      record(pool);
      relay.source.stream(producer).onSubscribe =
          sub -> pool.filter.snapshot(1 << random.nextInt(3)).forEach(sub::send);
      return pool;
    }

    private void regenerate(Relay relay, Pool pool) {
      PoolId id = pool.producer().poolId();
      long domain = id.indexerDomain().cacheSemantics().digest().low();
      ProducerIdentity next = newGeneration(relay, Math.toIntExact(domain), id.dcId().value());
      relay.source.stream(pool.producer()).refuse(failure(RelayErrorReason.PRODUCER_CHANGED));
      relay.pools.put(id, newPool(relay, next));
    }

    private void record(Pool pool) {
      history
          .computeIfAbsent(pool.producer(), p -> new HashMap<>())
          .put(pool.filter.sequence, pool.filter.words.clone());
    }

    private void store(Relay relay, Pool pool) {
      int prompt = random.nextInt(PROMPTS);
      if (pool.held[prompt] == BLOCKS) {
        return;
      }
      long[] hashes = ViewRig.hashes(prompts.get(prompt));
      PublicationFrame delta = pool.filter.store(hashes[pool.held[prompt]++]);
      record(pool);
      int fate = random.nextInt(20);
      if (fate > 0) {
        relay.source.publish(pool.filter, delta);
      }
      if (fate == 1) {
        relay.source.publish(pool.filter, delta);
      }
      if (fate == 2) {
        relay.source.publish(pool.filter, pool.filter.heartbeat());
      }
    }

    private void breakFilter(Relay relay, Pool pool) {
      ProducerIdentity producer = pool.producer();
      ScriptedPublisher<PublicationFrame> stream = relay.source.stream(producer);
      switch (random.nextInt(5)) {
        case 0 -> stream.sendAll(PublicationFrame.heartbeat(producer, -5, 0));
        case 1 ->
            stream.sendAll(
                ScriptedFilter.frame(
                    producer, PublicationFrame.Kind.DELTA, 0, 1, ByteBuffer.allocate(70)));
        case 2 -> stream.live().forEach(ScriptedPublisher.Sub::complete);
        case 3 -> {
          ProducerIdentity other = ScriptedRelay.producer(1, 77, 1, 1);
          stream.sendAll(PublicationFrame.heartbeat(other, 0, 0));
        }
        default -> {
          RelayException why = failure(FILTER_REASONS[random.nextInt(FILTER_REASONS.length)]);
          stream.live().forEach(sub -> sub.fail(why));
        }
      }
    }

    private <T> void breakWatch(ScriptedPublisher<T> watch, T stale) {
      switch (random.nextInt(4)) {
        case 0 -> watch.live().forEach(ScriptedPublisher.Sub::complete);
        case 1 -> watch.sendAll(stale);
        case 2 -> watch.live().forEach(sub -> sub.force(stale));
        default ->
            watch
                .live()
                .forEach(sub -> sub.fail(failure(RelayErrorReason.PUBLICATION_UNAVAILABLE)));
      }
    }

    private void changeState(Pool pool) {
      pool.state =
          switch (random.nextInt(3)) {
            case 0 -> ServingState.READY;
            case 1 -> ServingState.UNAVAILABLE;
            default -> ServingState.UNKNOWN;
          };
    }

    private void changeLoad(Pool pool) {
      ProducerIdentity producer = pool.producer();
      pool.load =
          switch (random.nextInt(3)) {
            case 0 -> ScriptedRelay.load(producer, random.nextInt(10), 10);
            case 1 -> ScriptedRelay.load(producer, 0, 0);
            default -> new PoolLoad(producer, OptionalLong.empty(), OptionalLong.of(9), 1, 2, 2);
          };
    }

    private static RelayException failure(RelayErrorReason reason) {
      return new RelayException(reason, "by chance");
    }

    private static PoolDescriptor descriptor(Pool pool) {
      return ScriptedRelay.descriptor(
          pool.producer(), WorkerRole.AGGREGATED, ModelRegistration.base(ScriptedRelay.MODEL));
    }

    private static PoolCatalog catalog(Relay relay, long revision) {
      List<PoolDescriptor> shown = new ArrayList<>();
      List<QuarantinedEntry> quarantined = new ArrayList<>();
      for (Pool pool : relay.pools.values()) {
        if (pool.quarantined) {
          quarantined.add(
              new QuarantinedEntry(pool.producer().poolId(), "by chance", true, "by chance"));
        } else {
          shown.add(descriptor(pool));
        }
      }
      return new PoolCatalog(revision, shown, quarantined);
    }

    private void publishAll(Relay relay) {
      PoolCatalog catalog = catalog(relay, ++relay.revision);
      relay.source.catalog.answer(catalog);
      relay.source.catalog.sendAll(catalog);
      TopologySnapshot topology = topology(relay, ++relay.topologyRevision);
      relay.source.readiness.answer(topology);
      relay.source.readiness.sendAll(topology);
      LoadSnapshot load =
          new LoadSnapshot(
              relay.pools.values().stream().map(pool -> pool.load).toList(),
              new LoadSnapshot.Window(++relay.window, 0, 1000),
              List.of());
      relay.source.load.answer(load);
      relay.source.load.sendAll(load);
    }

    /** One entry per relay, in the state of its first pool. */
    private static TopologySnapshot topology(Relay relay, long revision) {
      if (relay.pools.isEmpty()) {
        return new TopologySnapshot(revision, List.of());
      }
      PoolDescriptor[] members =
          relay.pools.values().stream().map(Simulation::descriptor).toArray(PoolDescriptor[]::new);
      return new TopologySnapshot(
          revision, List.of(ScriptedRelay.entry(ScriptedRelay.MODEL, stateOf(relay), members)));
    }

    private static ServingState stateOf(Relay relay) {
      return relay.pools.values().iterator().next().state;
    }

    // Checks.

    private void assertLanesMatchTheirSequences() {
      for (Relay relay : relays) {
        for (PoolSlot slot : rig.view.board().slots().values()) {
          FilterReplica replica = slot.replica();
          if (replica != null && slot.session().source() == relay.source && replica.isServing()) {
            long[] words = new long[ScriptedRelay.FORMAT.bucketCount()];
            assertThat(rig.view.copyLaneWords(slot.poolId(), words)).isTrue();
            long[] expected = history.get(slot.producer()).get(replica.installedSequence());
            assertThat(words)
                .as("%s at %s", slot.producer(), replica.installedSequence())
                .isEqualTo(expected);
          }
        }
      }
    }

    /** Faults stop; what was abandoned for good gets a new generation. */
    private void heal() {
      rig.settle();
      for (Relay relay : relays) {
        for (Pool pool : List.copyOf(relay.pools.values())) {
          regenerate(relay, pool);
        }
        if (relay.attachment == null) {
          attach(relay);
        }
        publishAll(relay);
      }
      runtime.advance(Duration.ofMinutes(3));
    }

    private void assertConverged() {
      Map<PoolId, Pool> expected = new TreeMap<>();
      Map<PoolId, Relay> owners = new HashMap<>();
      for (Relay relay : relays) {
        relay
            .pools
            .values()
            .forEach(
                pool -> {
                  if (!pool.quarantined) {
                    expected.put(pool.producer().poolId(), pool);
                    owners.put(pool.producer().poolId(), relay);
                  }
                });
      }
      for (int[] prompt : prompts) {
        PrefixMatch match = rig.match(prompt);
        assertThat(match.pools())
            .extracting(PoolMatch::poolId)
            .containsExactlyElementsOf(expected.keySet());
        for (PoolMatch found : match.pools()) {
          Pool pool = expected.get(found.poolId());
          assertThat(found.descriptor().producer()).isEqualTo(pool.producer());
          assertThat(found.answer()).as(found.detail()).isEqualTo(PoolAnswer.DEPTH);
          assertThat(found.depth()).isEqualTo(depth(pool.filter, prompt));
          assertThat(found.load()).isEqualTo(LoadReading.of(pool.load));
          assertThat(found.readiness().name())
              .isEqualTo(stateOf(owners.get(found.poolId())).name());
          assertThat(rig.view.installedSequence(found.poolId())).hasValue(pool.filter.sequence);
        }
      }
      for (Relay relay : relays) {
        boolean clean = relay.pools.values().stream().noneMatch(pool -> pool.quarantined);
        assertThat(relay.attachment.state().trust())
            .isEqualTo(clean ? SourceState.Trust.EXACT : SourceState.Trust.DEGRADED);
        assertThat(relay.source.catalog.live()).hasSize(1);
        assertThat(relay.source.readiness.live()).hasSize(1);
        assertThat(relay.source.load.live()).hasSize(1);
      }
    }

    private static int depth(ScriptedFilter filter, int[] prompt) {
      CkfAddressing addressing = new CkfAddressing(ScriptedRelay.FORMAT);
      long[] hashes = ViewRig.hashes(prompt);
      int depth = 0;
      while (depth < hashes.length) {
        long mix = addressing.mix(hashes[depth]);
        int fingerprint = CkfAddressing.fingerprint(mix);
        if (!CkfBuckets.contains(filter.words[addressing.bucketA(mix)], fingerprint)
            && !CkfBuckets.contains(filter.words[addressing.bucketB(mix)], fingerprint)) {
          break;
        }
        depth++;
      }
      return depth;
    }

    private void end() {
      rig.view.close();
      runtime.advance(Duration.ofMinutes(1));
      assertThat(rig.view.state().tables()).isEmpty();
      assertThat(runtime.pendingTimers()).isZero();
      for (Relay relay : relays) {
        assertThat(relay.source.catalog.live()).isEmpty();
        relay.source.pools.values().forEach(stream -> assertThat(stream.live()).isEmpty());
      }
    }
  }
}
