package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Subscriptions to publishers on loopback, and to some that are not there. */
@Timeout(60)
class EventPlaneTest {
  private static final EndpointId ENDPOINT = EndpointId.parse("dynamo.backend.generate");
  private static final long MILLI = 1_000_000;

  private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 50 * MILLI);
  private final ZContext context = new ZContext(1);
  private final ZMQ.Socket publisher = context.createSocket(SocketType.XPUB);
  private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();
  private EventPlane plane;

  private final EventPlane.Receiver receiver =
      new EventPlane.Receiver() {
        @Override
        public void onMessage(DiscoveryRecord.Channel channel, Envelope envelope) {
          heard.add("message " + envelope.sequence());
        }

        @Override
        public void onMalformed(DiscoveryRecord.Channel channel, String reason) {
          heard.add("malformed " + reason);
        }

        @Override
        public void onClosed() {
          heard.add("closed");
        }
      };

  @AfterEach
  void close() {
    if (plane != null) {
      plane.close();
    }
    context.close();
  }

  private void start(Runnable connectionsChanged) throws IOException {
    plane = new EventPlane(clock::get, connectionsChanged);
    plane.follow(ENDPOINT, Topic.KV_EVENTS, receiver);
  }

  private static DiscoveryRecord.Channel channel(long publisher, String address) {
    return new DiscoveryRecord.Channel(
        new RecordKey(RecordKey.Bucket.CHANNELS, "k/" + publisher),
        ENDPOINT,
        Topic.KV_EVENTS,
        publisher,
        address,
        "Zmq");
  }

  private String bind() {
    publisher.bind("tcp://127.0.0.1:*");
    publisher.setReceiveTimeOut(20_000);
    return publisher.getLastEndpoint();
  }

  private void send(List<byte[]> frames) {
    for (int i = 0; i < frames.size(); i++) {
      publisher.send(frames.get(i), i + 1 < frames.size() ? ZMQ.SNDMORE : 0);
    }
  }

  private String next() throws InterruptedException {
    String what = heard.poll(20, TimeUnit.SECONDS);
    assertThat(what).as("something within 20 s").isNotNull();
    return what;
  }

  /** What was asked before has taken effect. */
  private void settle() throws Exception {
    CompletableFuture<Void> done = new CompletableFuture<>();
    plane.onceHeard(ENDPOINT, -1, () -> done.complete(null), () -> {});
    done.get(20, TimeUnit.SECONDS);
  }

  /** JeroMQ alone leaves about one in a hundred of these alone, each for a whole handshake. */
  @Test
  void noSubscriptionWaitsForAHandshakeThatTheLibraryForgot() throws Exception {
    String address = bind();
    plane = new EventPlane(System::nanoTime, () -> {});
    plane.follow(ENDPOINT, Topic.KV_EVENTS, receiver);
    List<DiscoveryRecord.Channel> channels = new ArrayList<>();
    long longest = 0;
    for (int i = 1; i <= 300; i++) {
      long before = System.nanoTime();
      channels.add(channel(i, address));
      plane.channels(channels);
      CountDownLatch established = new CountDownLatch(1);
      plane.onceHeard(ENDPOINT, i, established::countDown, established::countDown);
      assertThat(established.await(20, TimeUnit.SECONDS)).isTrue();
      longest = Math.max(longest, System.nanoTime() - before);
    }
    assertThat(longest).isLessThan(1900 * MILLI);
  }

  @Test
  void anAddressThatCannotBeUsedIsTriedAgainAtGrowingIntervalsAndNamed() throws Exception {
    List<String> changes = new ArrayList<>();
    start(() -> changes.add("changed"));
    DiscoveryRecord.Channel bad = channel(1, "carrier-pigeon://host:1");
    plane.channels(List.of(bad));
    settle();
    assertThat(plane.failedSockets()).isEqualTo(1);
    assertThat(plane.unreachable()).containsOnlyKeys(bad);
    assertThat(plane.unreachable().get(bad))
        .startsWith("carrier-pigeon://host:1 cannot be followed");
    assertThat(changes).hasSize(1);
    long[] waits = {100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000};
    for (int i = 0; i < waits.length; i++) {
      clock.addAndGet(waits[i] * MILLI - 1);
      settle();
      assertThat(plane.failedSockets()).as("too early").isEqualTo(1 + i);
      clock.addAndGet(1);
      // A turn looks at the clock after it has run the commands that it found.
      for (int turn = 0; turn < 1000 && plane.failedSockets() < 2 + i; turn++) {
        settle();
      }
      assertThat(plane.failedSockets()).as("after %d ms", waits[i]).isEqualTo(2 + i);
    }
    plane.channels(List.of());
    settle();
    assertThat(plane.unreachable()).isEmpty();
    clock.addAndGet(60_000 * MILLI);
    settle();
    assertThat(plane.failedSockets()).isEqualTo(1 + waits.length);
  }

  @Test
  void oneAddressThatCannotBeUsedDoesNotKeepOthersFromBeingHeard() throws Exception {
    String address = bind();
    start(() -> {});
    plane.channels(List.of(channel(1, "carrier-pigeon://host:1"), channel(2, address)));
    assertThat(publisher.recv()).isNotNull();
    send(Published.frames("kv-events", 2, 5, Published.batch(1, 0, 9)));
    assertThat(next()).isEqualTo("message 5");
  }

  @Test
  void whoeverWaitsForAPublisherIsLetGoWithTheChannelAndWithThePlane() throws Exception {
    start(() -> {});
    plane.channels(List.of(channel(1, "tcp://127.0.0.1:1"), channel(2, "tcp://127.0.0.1:1")));
    CountDownLatch first = new CountDownLatch(1);
    CountDownLatch second = new CountDownLatch(1);
    plane.onceHeard(ENDPOINT, 1, () -> {}, first::countDown);
    plane.onceHeard(ENDPOINT, 2, () -> {}, second::countDown);
    plane.channels(List.of(channel(2, "tcp://127.0.0.1:1")));
    assertThat(first.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(second.getCount()).isEqualTo(1);
    plane.close();
    assertThat(second.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(next()).isEqualTo("closed");
  }

  @Test
  void whoThrowsWhenItIsToldDoesNotEndThePlane() throws Exception {
    String address = bind();
    start(
        () -> {
          throw new IllegalStateException("a host");
        });
    plane.channels(List.of(channel(1, "carrier-pigeon://host:1")));
    plane.channels(List.of(channel(1, "carrier-pigeon://host:1"), channel(2, address)));
    assertThat(publisher.recv()).isNotNull();
    send(Published.frames("kv-events", 2, 5, Published.batch(1, 0, 9)));
    assertThat(next()).isEqualTo("message 5");
    clock.addAndGet(100 * MILLI);
    send(Published.frames("kv-events", 2, 6, Published.batch(1, 0, 10)));
    assertThat(next()).isEqualTo("message 6");
  }

  @Test
  void aMessageOfManyFramesIsOneMalformedMessage() throws Exception {
    String address = bind();
    start(() -> {});
    plane.channels(List.of(channel(2, address)));
    assertThat(publisher.recv()).isNotNull();
    List<byte[]> many = new ArrayList<>(Published.frames("kv-events", 2, 1, new byte[1]));
    for (int i = 0; i < 5_000; i++) {
      many.add(new byte[0]);
    }
    send(many);
    send(Published.frames("kv-events", 2, 5, Published.batch(1, 0, 9)));
    assertThat(next()).startsWith("malformed");
    assertThat(next()).isEqualTo("message 5");
    assertThat(plane.malformed()).isEqualTo(1);
  }
}
