package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.EngineWire;
import io.kvrelay.testkit.engine.ReplayLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Engines of every generation under random requests, evictions, clears, losses, delays, restarts
 * and reconnects. At rest the relay's state is the engine's, or the source says that it is not, and
 * then holds nothing that the engine does not.
 *
 * <p>{@code -Dkvrelay.seed=N} repeats one run; {@code -Dkvrelay.runs=N} does more of them.
 */
class RandomStreamTest {
  private static final int BLOCK = StreamHarness.BLOCK;

  @Test
  void atRestTheStateIsTheEnginesOrSaysThatItIsNot() {
    Long seed = Long.getLong("kvrelay.seed");
    int runs = seed != null ? 1 : Integer.getInteger("kvrelay.runs", 400);
    long first = seed != null ? seed : System.nanoTime();
    int exact = 0;
    for (int run = 0; run < runs; run++) {
      try {
        exact += run(new Random(first + run)) ? 1 : 0;
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("-Dkvrelay.seed=" + (first + run), e);
      }
    }
    if (seed == null) {
      assertThat(exact).as("runs that end exact").isGreaterThan(runs / 4);
    }
  }

  private static boolean run(Random random) {
    EngineWire wire = List.of(EngineWire.values()).get(random.nextInt(EngineWire.values().length));
    boolean replays = random.nextInt(4) != 0;
    boolean named = random.nextInt(4) == 0;
    EngineSimulator engine =
        EngineSimulator.builder(wire)
            .blockSize(BLOCK)
            .cacheBlocks(5 + random.nextInt(60))
            .bufferSteps(random.nextInt(3) == 0 ? 5 : 10_000)
            .namesItself(named)
            .byteHashes(random.nextBoolean())
            .topic(random.nextBoolean() ? "kv@pod" : "")
            .replayLayout(List.of(ReplayLayout.values()).get(random.nextInt(2)))
            .build();
    StreamHarness harness =
        new StreamHarness(
            source ->
                source
                    .replayAddress(replays ? "tcp://engine:5657" : null)
                    .historyEvents(random.nextInt(8))
                    .heldBatches(1 + random.nextInt(20)));
    List<int[]> prompts = new ArrayList<>();
    harness.stream.onConnected();
    for (int i = 0; i < 120; i++) {
      act(random, harness, engine, prompts, wire);
      if (random.nextInt(3) == 0 && harness.isReplayWanted()) {
        harness.pumpOnce(engine);
      }
      compareWithADump(harness);
    }
    settle(harness, engine, prompts, random, wire);
    return judge(harness, engine);
  }

  private static void act(
      Random random,
      StreamHarness harness,
      EngineSimulator engine,
      List<int[]> prompts,
      EngineWire wire) {
    harness.now += 1_000_000_000L;
    switch (random.nextInt(40)) {
      case 0 -> engine.clear();
      case 1 -> {
        engine.restart();
        reconnect(harness);
      }
      case 2 -> reconnect(harness);
      case 3 -> harness.faults.surprise(random);
      case 4 -> harness.faults.cutNextReplayAfter(random.nextInt(5));
      case 5 -> harness.stream.onTick(harness.now);
      case 6 -> engine.skipSequence();
      case 7 -> harness.deliver(harness.faults.release());
      default -> request(random, engine, prompts, wire);
    }
    harness.step(engine);
  }

  /** Messages that were under way are lost with the connection. */
  private static void reconnect(StreamHarness harness) {
    harness.faults.delayNext(0).release();
    harness.stream.onDisconnected();
    harness.stream.onConnected();
  }

  private static void request(
      Random random, EngineSimulator engine, List<int[]> prompts, EngineWire wire) {
    int[] more = new int[1 + random.nextInt(5 * BLOCK)];
    Arrays.setAll(more, i -> random.nextInt(1000));
    int[] before =
        prompts.isEmpty() || random.nextBoolean()
            ? new int[0]
            : prompts.get(random.nextInt(prompts.size()));
    int[] prompt = Arrays.copyOf(before, before.length + more.length);
    System.arraycopy(more, 0, prompt, before.length, more.length);
    prompts.add(prompt);
    boolean vllm = wire == EngineWire.VLLM_ARRAYS || wire == EngineWire.VLLM_MAPS;
    boolean sglang = wire == EngineWire.SGLANG_ARRAYS || wire == EngineWire.SGLANG_MAPS;
    String adapter = vllm && random.nextInt(5) == 0 ? "adapter" : null;
    String salt = (vllm || sglang) && random.nextInt(5) == 0 ? "tenant" : null;
    engine.request(prompt, adapter, salt, random.nextInt(6) == 0);
  }

  /** Whatever has happened, a dump says what the events said. */
  private static void compareWithADump(StreamHarness harness) {
    HistoryReply reply = harness.stream.history(HistoryRequest.full(StreamHarness.MEMBER));
    RelayModel other = new RelayModel();
    HistoryReply.TreeDump dump = (HistoryReply.TreeDump) reply;
    other.replace(dump.events(), dump.last());
    assertThat(other.sequenceHashes()).isEqualTo(harness.relay.sequenceHashes());
    assertThat(other.engineHashes()).isEqualTo(harness.relay.engineHashes());
    assertThat(dump.last()).isEqualTo(harness.relay.lastId());
  }

  private static void settle(
      StreamHarness harness,
      EngineSimulator engine,
      List<int[]> prompts,
      Random random,
      EngineWire wire) {
    harness.faults.dropNext(0).delayNext(0).cutNextReplayAfter(-1);
    harness.deliver(harness.faults.release());
    for (int i = 0; i < 3; i++) {
      harness.pump(engine);
      harness.now += 400_000_000_000L;
      harness.stream.onTick(harness.now);
      request(random, engine, prompts, wire);
      harness.deliver(List.<byte[][]>of(engine.heartbeat()));
    }
    harness.pump(engine);
  }

  private static boolean judge(StreamHarness harness, EngineSimulator engine) {
    var truth =
        StreamHarness.truth(engine, new QuerySemantics(BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1));
    assertThat(harness.stream.blocks()).isEqualTo(harness.relay.engineHashes().size());
    if (harness.trust == SourceTrust.EXACT) {
      Set<Long> missing = new HashSet<>(truth);
      missing.removeAll(harness.relay.sequenceHashes());
      Set<Long> surplus = new HashSet<>(harness.relay.sequenceHashes());
      surplus.removeAll(truth);
      assertThat(missing.isEmpty() && surplus.isEmpty())
          .as("missing %s, surplus %s, %s", missing, surplus, counted(harness))
          .isTrue();
      return true;
    }
    assertThat(harness.reason).isNotEmpty();
    assertThat(truth).as(harness.reason).containsAll(harness.relay.sequenceHashes());
    return false;
  }

  private static Map<String, Long> counted(StreamHarness harness) {
    Map<String, Long> counters = harness.stream.counters().snapshot();
    counters.values().removeIf(value -> value == 0);
    return counters;
  }
}
