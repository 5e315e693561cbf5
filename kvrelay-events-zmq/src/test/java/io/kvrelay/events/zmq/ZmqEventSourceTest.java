package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.EngineWire;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Streams over real sockets on loopback. */
@Timeout(60)
class ZmqEventSourceTest {
  private static final QuerySemantics SEMANTICS =
      new QuerySemantics(StreamHarness.BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1);
  private static final ZmqOptions QUICK =
      ZmqOptions.builder()
          .replayJitter(Duration.ofMillis(2))
          .replayTimeout(Duration.ofSeconds(4))
          .reconnect(Duration.ofMillis(20), Duration.ofMillis(200))
          .build();

  private final List<AutoCloseable> open = new ArrayList<>();
  private final HeardRelay relay = new HeardRelay();

  @AfterEach
  void close() throws Exception {
    for (int i = open.size() - 1; i >= 0; i--) {
      open.get(i).close();
    }
  }

  private <T extends AutoCloseable> T opened(T resource) {
    open.add(resource);
    return resource;
  }

  private static EngineSimulator simulator(EngineWire wire) {
    return EngineSimulator.builder(wire).blockSize(StreamHarness.BLOCK).build();
  }

  private ServedEngine served(EngineWire wire) {
    return opened(ServedEngine.start(simulator(wire)));
  }

  private static EngineSource source(int rank, String address, String replayAddress) {
    return EngineSource.builder(StreamHarness.ENDPOINT, new Member(7, rank), address, SEMANTICS)
        .replayAddress(replayAddress)
        .rankChecked(false)
        .build();
  }

  private ZmqEventSource start(EngineSource... sources) {
    return start(QUICK, sources);
  }

  private ZmqEventSource start(ZmqOptions options, EngineSource... sources) {
    SystemRuntime runtime = opened(SystemRuntime.create());
    ZmqEventSource source = opened(ZmqEventSource.start(List.of(sources), options, runtime));
    source.follow(StreamHarness.ENDPOINT, relay);
    source.advertisements().forEach(one -> relay.recover(source, one));
    return source;
  }

  private static long publisher(ZmqEventSource source, int index) {
    return source.advertisements().get(index).publisherId();
  }

  private static int[] prompt(int seed, int blocks) {
    int[] tokens = new int[blocks * StreamHarness.BLOCK];
    Arrays.setAll(tokens, i -> seed * 1000 + i);
    return tokens;
  }

  private static Set<Long> truth(ServedEngine served) {
    return StreamHarness.truth(served.engine);
  }

  @Test
  void aLateStartGetsTheStateAndThenLives() {
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    served.act(engine -> engine.request(prompt(1, 20)));
    served.act(engine -> engine.request(prompt(2, 3)));
    ZmqEventSource source = start(source(0, served.address(), served.replayAddress()));
    long publisher = publisher(source, 0);
    relay.awaitExact(publisher, truth(served));
    served.act(engine -> engine.request(prompt(3, 5)));
    relay.awaitExact(publisher, truth(served));
    assertThat(relay.clears(publisher)).isZero();
  }

  @Test
  void lostMessagesAreReplayed() {
    ServedEngine served = served(EngineWire.SGLANG_ARRAYS);
    ZmqEventSource source = start(source(0, served.address(), served.replayAddress()));
    long publisher = publisher(source, 0);
    served.act(engine -> engine.request(prompt(1, 2)));
    relay.awaitExact(publisher, truth(served));
    served.faults.dropNext(3);
    for (int i = 2; i < 7; i++) {
      int seed = i;
      served.act(engine -> engine.request(prompt(seed, 4)));
    }
    relay.awaitExact(publisher, truth(served));
    assertThat(source.statistics().get(0).counter("gaps")).isPositive();
  }

  @Test
  void aRestartedEngineOnTheSamePortIsAnotherEngine() {
    ServedEngine served = served(EngineWire.VLLM_ARRAYS);
    served.act(engine -> engine.request(prompt(1, 6)));
    ZmqEventSource source = start(source(0, served.address(), served.replayAddress()));
    long publisher = publisher(source, 0);
    relay.awaitExact(publisher, truth(served));

    served.close();
    relay.await("loss noticed", () -> relay.trust(publisher) == SourceTrust.UNKNOWN);
    EngineSimulator other = simulator(EngineWire.VLLM_ARRAYS);
    other.restart();
    other.request(prompt(9, 2));
    other.step();
    ServedEngine again =
        opened(new ServedEngine(other, served.address(), served.replayAddress(), false));
    relay.awaitExact(publisher, truth(again));
    assertThat(relay.clears(publisher)).isPositive();
    assertThat(source.statistics().get(0).counter("restarts.reconnect")).isPositive();
  }

  @Test
  void enginesThatConnectShareOneBoundAddressByTopic() {
    ServedEngine probe = served(EngineWire.VLLM_MAPS);
    String address = probe.address();
    probe.close();
    List<EngineSource> sources = new ArrayList<>();
    List<ServedEngine> engines = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      EngineSimulator engine =
          EngineSimulator.builder(EngineWire.VLLM_MAPS)
              .blockSize(StreamHarness.BLOCK)
              .topic("kv@pod-" + i)
              .build();
      engines.add(opened(new ServedEngine(engine, address, "tcp://127.0.0.1:*", true)));
      sources.add(
          source(i, address, engines.get(i).replayAddress()).toBuilder()
              .topic("kv@pod-" + i)
              .bind(true)
              .build());
    }
    ZmqEventSource source = start(sources.toArray(new EngineSource[0]));
    for (int i = 0; i < 2; i++) {
      int seed = i + 1;
      engines.get(i).act(engine -> engine.request(prompt(seed, 3 + seed)));
    }
    for (int i = 0; i < 2; i++) {
      relay.awaitExact(publisher(source, i), truth(engines.get(i)));
    }
  }

  @Test
  void manyRanksShareOneThreadAndReplaysAreBounded() {
    List<ServedEngine> engines = new ArrayList<>();
    List<EngineSource> sources = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      int seed = i + 1;
      engines.add(served(i % 2 == 0 ? EngineWire.VLLM_MAPS : EngineWire.TRTLLM_MAPS));
      engines.get(i).act(engine -> engine.request(prompt(seed, 5)));
      sources.add(source(i, engines.get(i).address(), engines.get(i).replayAddress()));
    }
    ZmqEventSource source = start(sources.toArray(new EngineSource[0]));
    for (int i = 0; i < 20; i++) {
      relay.awaitExact(publisher(source, i), truth(engines.get(i)));
    }
  }

  @Test
  void sourcesComeAndGoWithoutDisturbingTheOthers() {
    ServedEngine first = served(EngineWire.VLLM_MAPS);
    ServedEngine second = served(EngineWire.VLLM_MAPS);
    first.act(engine -> engine.request(prompt(1, 2)));
    second.act(engine -> engine.request(prompt(2, 2)));
    EngineSource one = source(0, first.address(), first.replayAddress());
    EngineSource two = source(1, second.address(), second.replayAddress());
    ZmqEventSource source = start(one);
    long publisher = publisher(source, 0);
    relay.awaitExact(publisher, truth(first));

    List<EventSourceAdvertisement> both = source.replaceSources(List.of(one, two));
    assertThat(both.get(0).publisherId()).isEqualTo(publisher);
    relay.recover(source, both.get(1));
    relay.awaitExact(both.get(1).publisherId(), truth(second));
    source.replaceSources(List.of(two));
    assertThat(source.advertisements()).containsExactly(both.get(1));
    List<EventSourceAdvertisement> again = source.replaceSources(List.of(one, two));
    assertThat(again.get(0).publisherId()).isNotEqualTo(publisher);
    relay.recover(source, again.get(0));
    relay.awaitExact(again.get(0).publisherId(), truth(first));
    assertThat(relay.clears(both.get(1).publisherId())).isZero();
  }

  @Test
  void historyIsTheStateWithoutAskingTheEngine() throws Exception {
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    served.act(engine -> engine.request(prompt(1, 6)));
    ZmqEventSource source = start(source(0, served.address(), served.replayAddress()));
    EventSourceAdvertisement advertised = source.advertisements().get(0);
    relay.awaitExact(advertised.publisherId(), truth(served));
    int asked = served.replays();
    HistoryReply.TreeDump dump =
        (HistoryReply.TreeDump)
            source
                .history(advertised, HistoryRequest.full(new Member(7, 0)))
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
    RelayModel model = new RelayModel();
    model.replace(dump.events(), dump.last());
    assertThat(model.sequenceHashes()).isEqualTo(truth(served));
    assertThat(served.replays() - asked).as("only what confirms the subscription").isLessThan(2);
  }

  @Test
  void anOperatorMayHaveARankForgottenAndReadAgain() {
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    served.act(engine -> engine.request(prompt(1, 6)));
    ZmqEventSource source = start(source(0, served.address(), served.replayAddress()));
    long publisher = publisher(source, 0);
    relay.awaitExact(publisher, truth(served));
    source.reset(new Member(7, 0));
    relay.await("cleared", () -> relay.clears(publisher) == 1);
    relay.awaitExact(publisher, truth(served));
  }

  /** JeroMQ alone leaves about one in ten fresh connections alone, each for a whole handshake. */
  @Test
  void noReplayWaitsForAHandshakeThatTheLibraryForgot() {
    ZmqOptions impatient =
        ZmqOptions.builder()
            .replayJitter(Duration.ZERO)
            .replayTimeout(Duration.ofMillis(1500))
            .build();
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    served.act(engine -> engine.request(prompt(1, 2)));
    ZmqEventSource source = start(impatient, source(0, served.address(), served.replayAddress()));
    long publisher = publisher(source, 0);
    relay.awaitExact(publisher, truth(served));
    for (int round = 1; round <= 200; round++) {
      long clears = round;
      source.reset(new Member(7, 0));
      relay.await("reset", () -> relay.clears(publisher) == clears);
      relay.awaitExact(publisher, truth(served));
    }
    assertThat(source.statistics().get(0).counter("replays.timed_out")).isLessThan(4);
  }

  @Test
  void whatNobodyFollowsAnyMoreIsNotHeard() throws Exception {
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    SystemRuntime runtime = opened(SystemRuntime.create());
    EngineSource one = source(0, served.address(), served.replayAddress());
    ZmqEventSource source = opened(ZmqEventSource.start(List.of(one), QUICK, runtime));
    KvEventSource.Following following = source.follow(StreamHarness.ENDPOINT, relay);
    relay.recover(source, source.advertisements().get(0));
    served.act(engine -> engine.request(prompt(1, 6)));
    relay.awaitExact(publisher(source, 0), truth(served));
    following.stop().toCompletableFuture().get(10, TimeUnit.SECONDS);
    following.stop().toCompletableFuture().get(10, TimeUnit.SECONDS);
    Set<Long> before = relay.sequenceHashes(publisher(source, 0));
    HeardRelay other = new HeardRelay();
    source.follow(StreamHarness.ENDPOINT, other);
    other.recover(source, source.advertisements().get(0));
    served.act(engine -> engine.request(prompt(2, 1)));
    long publisher = publisher(source, 0);
    other.await("somebody else hears it", () -> other.sequenceHashes(publisher).size() == 7);
    assertThat(source.statistics().get(0).blocks()).isEqualTo(7);
    assertThat(relay.sequenceHashes(publisher)).isEqualTo(before);
  }

  @Test
  void afterCloseNothingIsAnsweredAndClosingAgainIsFine() {
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    ZmqEventSource source = start(source(0, served.address(), served.replayAddress()));
    EventSourceAdvertisement advertised = source.advertisements().get(0);
    source.close();
    source.close();
    assertThat(source.history(advertised, HistoryRequest.full(new Member(7, 0))))
        .isCompletedExceptionally();
    HeardRelay late = new HeardRelay();
    source.follow(StreamHarness.ENDPOINT, late);
    late.await("told", () -> late.failure() != null);
    assertThat(late.failure().reason()).isEqualTo(RelayErrorReason.CLOSED);
  }

  @Test
  void aReplayHostThatIsUnknownFailsItsOwnSourceOnly() {
    ServedEngine bad = served(EngineWire.VLLM_MAPS);
    ServedEngine good = served(EngineWire.VLLM_MAPS);
    good.act(engine -> engine.request(prompt(1, 3)));
    ZmqEventSource source =
        start(
            source(0, bad.address(), "tcp://no-such-host.invalid:5657"),
            source(1, good.address(), good.replayAddress()));
    long badPublisher = publisher(source, 0);
    relay.await("given up", () -> relay.reason(badPublisher).contains("does not answer"));
    relay.awaitExact(publisher(source, 1), truth(good));
    good.act(engine -> engine.request(prompt(2, 3)));
    relay.awaitExact(publisher(source, 1), truth(good));
  }

  @Test
  void aHostThatIsUnknownIsTriedAgainAndHarmsItsOwnSourceOnly() {
    ServedEngine good = served(EngineWire.VLLM_MAPS);
    good.act(engine -> engine.request(prompt(1, 3)));
    EngineSource bad = source(0, "tcp://no-such-host.invalid:5557", null);
    ZmqEventSource source = start(bad, source(1, good.address(), good.replayAddress()));
    long badPublisher = publisher(source, 0);
    relay.await("named", () -> relay.reason(badPublisher).contains("no-such-host.invalid"));
    assertThat(relay.trust(badPublisher)).isEqualTo(SourceTrust.UNKNOWN);
    relay.awaitExact(publisher(source, 1), truth(good));
    relay.await("tried again", () -> source.statistics().get(0).counter("connects.failed") >= 2);
    source.replaceSources(List.of(source(1, good.address(), good.replayAddress())));
    good.act(engine -> engine.request(prompt(2, 3)));
    relay.awaitExact(publisher(source, 0), truth(good));
  }

  @Test
  void aReplayThatRepeatsItselfForEverIsGivenUp() throws Exception {
    try (ZContext context = new ZContext(1)) {
      context.setLinger(0);
      ZMQ.Socket router = context.createSocket(SocketType.ROUTER);
      router.bind("tcp://127.0.0.1:*");
      String address = router.getLastEndpoint();
      AtomicBoolean done = new AtomicBoolean();
      Thread flood = new Thread(() -> repeat(router, done));
      flood.start();
      ServedEngine served = served(EngineWire.VLLM_MAPS);
      ZmqOptions impatient =
          ZmqOptions.builder()
              .replayJitter(Duration.ofMillis(2))
              .replayTimeout(Duration.ofMillis(300))
              .build();
      ZmqEventSource source = start(impatient, source(0, served.address(), address));
      long publisher = publisher(source, 0);
      try {
        relay.await("given up", () -> relay.reason(publisher).contains("does not answer"));
      } finally {
        done.set(true);
        flood.join();
      }
    }
  }

  /** Answers the first request, and each later one, with one batch again and again. */
  private static void repeat(ZMQ.Socket router, AtomicBoolean done) {
    byte[] batch = Pack.batch();
    byte[] who = null;
    while (!done.get()) {
      for (byte[] part = router.recv(ZMQ.DONTWAIT); part != null; ) {
        who = part;
        while (router.hasReceiveMore()) {
          router.recv();
        }
        part = router.recv(ZMQ.DONTWAIT);
      }
      if (who != null) {
        router.send(who, ZMQ.SNDMORE);
        router.send(new byte[0], ZMQ.SNDMORE);
        router.send(Pack.sequence(0), ZMQ.SNDMORE);
        router.send(batch, 0);
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void whoThrowsIsNotHeardAndDisturbsNobody() {
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    ZmqEventSource source = start(source(0, served.address(), served.replayAddress()));
    source.follow(StreamHarness.ENDPOINT, new Thrower());
    source.tap(
        batch -> {
          throw new IllegalStateException("a tap");
        });
    served.act(engine -> engine.request(prompt(1, 3)));
    relay.awaitExact(publisher(source, 0), truth(served));
    source.close();
    source.follow(StreamHarness.ENDPOINT, new Thrower());
    assertThat(source.unclaimedMessages()).isZero();
  }

  private static final class Thrower implements KvEventListener {
    @Override
    public void onBatch(KvEventBatch batch) {
      throw new IllegalStateException("a batch");
    }

    @Override
    public void onDiscontinuity(long publisherId, String reason) {
      throw new IllegalStateException(reason);
    }

    @Override
    public void onTrust(long publisherId, SourceTrust trust, String reason) {
      throw new IllegalStateException(reason);
    }

    @Override
    public void onFailure(RelayException error) {
      throw error;
    }
  }

  @Test
  void anAddressThatIsTakenIsNamed() {
    ServedEngine served = served(EngineWire.VLLM_MAPS);
    EngineSource bound = source(0, served.address(), null).toBuilder().bind(true).build();
    assertThatThrownBy(() -> start(bound))
        .isInstanceOf(RelayException.class)
        .hasMessageContaining(served.address());
  }
}
