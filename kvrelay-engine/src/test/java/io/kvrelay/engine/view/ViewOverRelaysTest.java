package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
import io.kvrelay.engine.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** A view over real relays, on real threads: queries run while events stream in. */
class ViewOverRelaysTest {
  private static final int RELAYS = 3;
  private static final int PROMPTS = 20;
  private static final int BLOCKS = 24;
  private static final int EVENTS = 3000;

  /** One data center: a relay with one pool, and what its one worker holds of each prompt. */
  private static final class DataCenter {
    final PoolId pool;
    final PoolRegistry registry;
    final PoolActor actor;
    final int[] held = new int[PROMPTS];
    private final Member worker = new Member(1, 0);
    private long eventId;

    DataCenter(int number, SystemRuntime runtime) {
      this.pool = ScriptedRelay.pool(1, number);
      PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(4096).build();
      this.registry =
          PoolRegistry.create(
              new RelayIdentity(number, 100 + number), PublicationConfig.DEFAULTS, runtime);
      PoolSpec spec =
          new PoolSpec(
              pool,
              new EndpointId(ScriptedRelay.NAMESPACE, "w", "generate"),
              config.format(),
              List.of(ModelRegistration.base(ScriptedRelay.MODEL)),
              ScriptedRelay.SEMANTICS,
              List.of(WorkerRole.AGGREGATED));
      AtomicReference<PoolActor> made = new AtomicReference<>();
      registry
          .attach(
              spec,
              identity -> {
                made.set(new PoolActor(config, identity, runtime));
                return made.get();
              })
          .join();
      this.actor = made.get();
    }

    /** Stores more of a prompt, or clears everything. */
    void step(Random random, long[][] locals) throws InterruptedException {
      if (random.nextInt(200) == 0) {
        Arrays.fill(held, 0);
        actor.admitBlocking(KvEvent.cleared(worker, eventId++).build(), 1);
        return;
      }
      int prompt = random.nextInt(PROMPTS);
      int from = held[prompt];
      int to = Math.min(BLOCKS, from + 1 + random.nextInt(4));
      if (from == to) {
        return;
      }
      long[] engine = new long[to - from];
      long[] local = new long[to - from];
      for (int i = 0; i < engine.length; i++) {
        engine[i] = engineHash(prompt, from + i);
        local[i] = locals[prompt][from + i];
      }
      KvEvent.Builder event = KvEvent.stored(worker, eventId++, engine, local);
      if (from > 0) {
        event.parent(engineHash(prompt, from - 1));
      }
      actor.admitBlocking(event.build(), 1);
      held[prompt] = to;
    }

    private static long engineHash(int prompt, int block) {
      return 1_000_000L * (prompt + 1) + block;
    }
  }

  @Test
  void queriesRunBesideEventsAndEndUpExact() throws Exception {
    Random random = Seeds.random();
    int[][] prompts = new int[PROMPTS][];
    long[][] locals = new long[PROMPTS][BLOCKS];
    for (int i = 0; i < PROMPTS; i++) {
      prompts[i] = ViewRig.prompt(i + 1, BLOCKS);
      new BlockHasher(ScriptedRelay.SEMANTICS)
          .localHashes(prompts[i], 0, prompts[i].length, BlockSalt.NONE, locals[i], 0);
    }
    try (SystemRuntime runtime = SystemRuntime.create(3);
        KvGlobalView view =
            KvGlobalView.create(ViewConfig.builder().lanes(RELAYS).build(), runtime)) {
      List<DataCenter> centers = new ArrayList<>();
      for (int i = 1; i <= RELAYS; i++) {
        DataCenter center = new DataCenter(i, runtime);
        centers.add(center);
        view.attach(center.registry.source());
      }
      for (DataCenter center : centers) {
        view.awaitSequence(center.pool, 0).get(30, TimeUnit.SECONDS);
      }
      AtomicBoolean stop = new AtomicBoolean();
      CompletableFuture<Long> reader =
          CompletableFuture.supplyAsync(() -> query(view, prompts, stop), thread("reader"));
      List<CompletableFuture<Void>> writers = new ArrayList<>();
      for (DataCenter center : centers) {
        long seed = random.nextLong();
        writers.add(
            CompletableFuture.runAsync(() -> write(center, locals, seed), thread("writer")));
      }
      for (CompletableFuture<Void> writer : writers) {
        writer.get(60, TimeUnit.SECONDS);
      }
      stop.set(true);
      assertThat(reader.get(60, TimeUnit.SECONDS)).isPositive();
      for (DataCenter center : centers) {
        long sequence = center.actor.flush().toCompletableFuture().get(30, TimeUnit.SECONDS);
        assertThat(center.actor.statistics().lastSequence()).isEqualTo(sequence);
        view.awaitSequence(center.pool, sequence).get(30, TimeUnit.SECONDS);
        for (int i = 0; i < PROMPTS; i++) {
          PoolMatch match =
              view.match(PrefixRequest.of(ScriptedRelay.MODEL, prompts[i]))
                  .pool(center.pool)
                  .orElseThrow();
          assertThat(match.depthBlocks()).as("prompt %s", i).hasValue(center.held[i]);
        }
      }
      centers.forEach(center -> center.registry.shutdown());
    }
  }

  private static Executor thread(String name) {
    return task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      thread.start();
    };
  }

  private static void write(DataCenter center, long[][] locals, long seed) {
    Random random = new Random(seed);
    try {
      for (int i = 0; i < EVENTS; i++) {
        center.step(random, locals);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long query(KvGlobalView view, int[][] prompts, AtomicBoolean stop) {
    ViewQuery query = view.newQuery();
    long queries = 0;
    do {
      int[] prompt = prompts[(int) (queries % PROMPTS)];
      query.clear().model(ScriptedRelay.MODEL).tokens(prompt, 0, prompt.length).run();
      assertThat(query.size()).isEqualTo(RELAYS);
      for (int i = 0; i < RELAYS; i++) {
        assertThat(query.depthBlocks(i)).isBetween(-1, BLOCKS);
      }
      queries++;
    } while (!stop.get());
    return queries;
  }
}
