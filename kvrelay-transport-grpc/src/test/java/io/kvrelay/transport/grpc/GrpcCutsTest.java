package io.kvrelay.transport.grpc;

import static io.kvrelay.transport.grpc.Loopback.POOL;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.testkit.transport.ProbeSubscriber;
import io.kvrelay.testkit.transport.ScriptedPool;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Our client and our server with a network between them that does its worst. */
@Timeout(60)
class GrpcCutsTest {
  private final Loopback loopback = new Loopback();

  @AfterEach
  void close() throws Exception {
    loopback.close();
  }

  private TcpProxy proxy(GrpcRelayExport export) throws Exception {
    return loopback.closing(new TcpProxy(export.address().getPort()));
  }

  private static void assertLost(ProbeSubscriber<?> probe) {
    RelayException failure = probe.failure();
    assertThat(failure.reason())
        .as(failure.toString())
        .isIn(RelayErrorReason.PUBLICATION_UNAVAILABLE, RelayErrorReason.UNSPECIFIED);
    probe.assertRulesKept();
  }

  @Test
  void aResetEndsStreamsAndTheSameConnectionServesNewOnes() throws Exception {
    ScriptedPool pool = loopback.addPool(POOL, 0);
    TcpProxy proxy = proxy(loopback.export());
    GrpcConnectedSource remote = loopback.connect(proxy.address());
    ProbeSubscriber<PublicationFrame> frames = ProbeSubscriber.toAllOf(remote.pool(POOL));
    ProbeSubscriber<PoolCatalog> catalog = ProbeSubscriber.toAllOf(remote.catalog());
    frames.next();
    catalog.next();
    proxy.reset();
    assertThat(frames.failure().reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(catalog.failure().reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    Loopback.eventually(() -> pool.subscribers() == 0);
    // Nobody subscribed again meanwhile; who does gets a snapshot from the start.
    ProbeSubscriber<PublicationFrame> again = ProbeSubscriber.toAllOf(remote.pool(POOL));
    assertThat(again.next().kind()).isEqualTo(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    assertThat(remote.shutdown().toCompletableFuture()).isNotDone();
  }

  @Test
  void aConnectionCutInTheMiddleOfAMessageDeliversNothingOfIt() throws Exception {
    ProducerIdentity large = Fixtures.producer(Fixtures.pool(0x21), 1, 1 << 19);
    loopback.addPool(large, 0);
    TcpProxy proxy = proxy(loopback.export());
    GrpcConnectedSource remote = loopback.connect(proxy.address());
    proxy.cutAfter(proxy.bytesFromServer() + (2 << 20));
    ProbeSubscriber<PublicationFrame> frames = ProbeSubscriber.toAllOf(remote.pool(large));
    assertLost(frames);
    assertThat(frames.waiting()).isZero();
  }

  @Test
  void aFlippedBitNeverHangsAndNeverBreaksTheRules() throws Exception {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    loopback.addPool(POOL, 0);
    GrpcRelayExport export = loopback.export();
    for (int i = 0; i < 60; i++) {
      try (TcpProxy proxy = new TcpProxy(export.address().getPort())) {
        proxy.flipAt(random.nextInt(900));
        attempt(proxy, seed);
      }
    }
    assertThat(loopback.connect(export.address()).relayIdentity()).isEqualTo(Loopback.RELAY);
  }

  /** Whatever a flipped bit does, every outcome is a typed error or a value that decodes. */
  private void attempt(TcpProxy proxy, long seed) throws Exception {
    GrpcConnectedSource remote;
    try {
      remote =
          (GrpcConnectedSource)
              new GrpcTransport()
                  .connect(
                      proxy.address(),
                      loopback.connectOptions().withConnectTimeout(Duration.ofMillis(500)))
                  .toCompletableFuture()
                  .get(5, TimeUnit.SECONDS);
    } catch (java.util.concurrent.ExecutionException e) {
      assertThat(e.getCause()).as("seed %d", seed).isInstanceOf(RelayException.class);
      return;
    }
    try (remote) {
      ProbeSubscriber<PublicationFrame> frames = ProbeSubscriber.toAllOf(remote.pool(POOL));
      PublicationFrame first = frames.poll(Duration.ofMillis(200));
      if (first != null) {
        assertThat(first.producer()).as("seed %d", seed).isEqualTo(POOL);
      } else if (frames.hasEnded()) {
        assertThat(frames.end()).as("seed %d", seed).isInstanceOf(RelayException.class);
      }
      frames.assertRulesKept();
    }
  }

  @Test
  void aStalledNetworkCostsTheServerOneBoundedQueue() throws Exception {
    ScriptedPool pool = loopback.addPool(POOL, 0);
    TcpProxy proxy = proxy(loopback.export());
    GrpcConnectedSource remote = loopback.connect(proxy.address());
    ProbeSubscriber<PublicationFrame> frames = ProbeSubscriber.toAllOf(remote.pool(POOL));
    frames.next();
    proxy.stall();
    // 64 frames wait at the source at most; sockets and windows hold some more.
    long sequence = 0;
    while (pool.subscribers() == 1 && sequence < 2048) {
      pool.publish(Fixtures.delta(POOL, ++sequence, 64 << 10));
      Loopback.drain(loopback.runtime);
    }
    assertThat(pool.subscribers()).isZero();
    proxy.resume();
    long expected = 0;
    PublicationFrame frame = frames.poll(ProbeSubscriber.PATIENCE);
    while (frame != null) {
      assertThat(frame.sequence()).isEqualTo(++expected);
      frame = frames.poll(ProbeSubscriber.PATIENCE);
    }
    assertThat(frames.failure().reason()).isEqualTo(RelayErrorReason.SUBSCRIBER_LAGGED);
    assertThat(expected).isLessThan(sequence);
  }

  /** Takes as long as gRPC's shortest keepalive: 10 seconds and the timeout. */
  @Test
  @EnabledIfSystemProperty(named = "kvrelay.long", matches = "true")
  void keepaliveEndsWhatAStalledNetworkHolds() throws Exception {
    loopback.addPool(POOL, 0);
    TcpProxy proxy = proxy(loopback.export());
    GrpcConnectedSource remote =
        loopback.connect(
            proxy.address(),
            GrpcTransport.withChannelBuilder(
                loopback.connectOptions(),
                builder ->
                    builder
                        .keepAliveTime(10, TimeUnit.SECONDS)
                        .keepAliveTimeout(1, TimeUnit.SECONDS)));
    ProbeSubscriber<PublicationFrame> frames = ProbeSubscriber.toAllOf(remote.pool(POOL));
    frames.next();
    proxy.stall();
    assertThat(frames.poll(Duration.ofSeconds(20))).isNull();
    assertThat(frames.failure().reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
  }
}
