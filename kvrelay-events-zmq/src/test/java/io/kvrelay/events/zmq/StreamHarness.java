package io.kvrelay.events.zmq;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.StreamFaults;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;

/** A stream between a simulated engine and a model of a relay, without sockets. */
final class StreamHarness implements StreamOutput {
  static final int BLOCK = 4;
  static final EndpointId ENDPOINT = new EndpointId("ns", "engine", "generate");
  static final Member MEMBER = new Member(7, 0);

  final StreamFaults faults = new StreamFaults();
  final RelayModel relay = new RelayModel();
  final List<SourceTrust> trusts = new ArrayList<>();
  final List<Long> requests = new ArrayList<>();
  final EngineStream stream;
  SourceTrust trust = SourceTrust.EXACT;
  String reason = "";
  long now;

  private long request;
  private long from;
  private boolean wanted;

  StreamHarness(UnaryOperator<EngineSource.Builder> changes) {
    this(
        changes
            .apply(
                EngineSource.builder(
                    ENDPOINT,
                    MEMBER,
                    "tcp://engine:5557",
                    new QuerySemantics(BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1)))
            .build());
  }

  StreamHarness(EngineSource source) {
    this.stream = new EngineStream(source, this, new SharedMemory(WireLimits.DEFAULT));
  }

  static StreamHarness withReplay() {
    return new StreamHarness(source -> source.replayAddress("tcp://engine:5657"));
  }

  static StreamHarness withoutReplay() {
    return new StreamHarness(source -> source);
  }

  /** Connected, and, if it can, bootstrapped from an engine that has said nothing. */
  StreamHarness fresh(EngineSimulator engine) {
    stream.onConnected();
    pump(engine);
    return this;
  }

  void live(long sequence, byte[] payload) {
    stream.onLive(new byte[][] {{}, Pack.sequence(sequence), payload}, now);
  }

  void live(long sequence, Object... events) {
    live(sequence, Pack.batch(events));
  }

  /** Delivers what the engine has to say, as far as the faults let it. */
  void step(EngineSimulator engine) {
    byte[][] frames = engine.step();
    if (frames != null) {
      deliver(faults.live(frames));
    }
  }

  void deliver(List<byte[][]> messages) {
    for (byte[][] message : messages) {
      stream.onLive(message, now);
    }
  }

  /** Answers replay requests until none is left. */
  void pump(EngineSimulator engine) {
    for (int i = 0; wanted && i < 100; i++) {
      pumpOnce(engine);
    }
    if (wanted) {
      throw new AssertionError("the stream asks for ever, now from " + from);
    }
  }

  void pumpOnce(EngineSimulator engine) {
    wanted = false;
    long answered = request;
    List<byte[][]> replies = faults.replay(engine.replay(from));
    for (byte[][] reply : replies) {
      stream.onReplay(answered, reply, now);
    }
    if (replies.isEmpty() || !isEnd(replies)) {
      stream.onReplayFailed(answered, now);
    }
  }

  private static boolean isEnd(List<byte[][]> replies) {
    byte[][] last = replies.get(replies.size() - 1);
    return last[last.length - 1].length == 0;
  }

  /** Hands over one reply to the newest request. */
  boolean reply(byte[]... frames) {
    return stream.onReplay(request, frames, now);
  }

  void replyEnd() {
    reply(new byte[0], Pack.sequence(-1), new byte[0]);
  }

  void failReplay() {
    wanted = false;
    stream.onReplayFailed(request, now);
  }

  boolean isReplayWanted() {
    return wanted;
  }

  long replayFrom() {
    return from;
  }

  long count(Counter counter) {
    return stream.counters().get(counter);
  }

  long count(Refusal refusal) {
    return stream.counters().get(refusal);
  }

  static Set<Long> truth(EngineSimulator engine, QuerySemantics semantics) {
    BlockHasher hasher = new BlockHasher(semantics);
    Set<Long> names = new HashSet<>();
    for (EngineSimulator.CachedBlock block : engine.cached()) {
      long[] hashes =
          hasher.sequenceHashes(block.prefix(), BlockSalt.of(block.adapter(), block.salt()));
      names.add(hashes[hashes.length - 1]);
    }
    return names;
  }

  static Set<Long> truth(EngineSimulator engine) {
    return truth(engine, new QuerySemantics(BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1));
  }

  @Override
  public void events(List<KvEvent> events) {
    relay.apply(events);
  }

  @Override
  public void trust(SourceTrust level, String why) {
    trust = level;
    reason = why;
    trusts.add(level);
  }

  @Override
  public void requestReplay(long number, long start) {
    request = number;
    from = start;
    wanted = true;
    requests.add(start);
  }

  @Override
  public void cancelReplay() {
    wanted = false;
  }
}
