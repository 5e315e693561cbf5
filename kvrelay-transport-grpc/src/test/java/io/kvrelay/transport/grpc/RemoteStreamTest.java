package io.kvrelay.transport.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogUpdate;
import java.net.URI;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class RemoteStreamTest {
  private static final RelayIdentity RELAY = new RelayIdentity(1, 2);
  private static final KvPoolCatalogUpdate MESSAGE =
      KvPoolCatalogUpdate.newBuilder()
          .setContractMarker(KvRelayWire.CONTRACT_MARKER)
          .setProtocolVersion(KvRelayWire.PROTOCOL_VERSION)
          .setRelay(KvRelayWire.toWire(RELAY))
          .build();

  /** Answers the first request at once, on the thread that asks. */
  private static final class EagerCall extends ClientCall<Object, Received<KvPoolCatalogUpdate>> {
    private final AtomicInteger asked = new AtomicInteger();
    private @Nullable Listener<Received<KvPoolCatalogUpdate>> listener;

    @Override
    public void start(Listener<Received<KvPoolCatalogUpdate>> to, Metadata headers) {
      listener = to;
    }

    @Override
    public void request(int messages) {
      if (asked.getAndAdd(messages) == 0) {
        listener.onMessage(new Received<>(MESSAGE, null));
      }
    }

    @Override
    public void cancel(@Nullable String message, @Nullable Throwable cause) {}

    @Override
    public void halfClose() {}

    @Override
    public void sendMessage(Object message) {}
  }

  private record Counting(
      AtomicReferenceArray<Flow.Subscription> subscriptions, int index, AtomicInteger received)
      implements Flow.Subscriber<KvPoolCatalogUpdate> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscriptions.set(index, subscription);
    }

    @Override
    public void onNext(KvPoolCatalogUpdate message) {
      received.incrementAndGet();
    }

    @Override
    public void onError(Throwable failure) {}

    @Override
    public void onComplete() {}
  }

  @Test
  @Timeout(60)
  void noMessageIsLostToARequestFromAnotherThreadDuringOnSubscribe() throws InterruptedException {
    int rounds = 50_000;
    ManagedChannel unused = InProcessChannelBuilder.forName("unused").build();
    GrpcConnection connection =
        new GrpcConnection(
            URI.create("grpc://unused"),
            unused,
            ConnectOptions.defaults(VirtualRuntime.inOrder(1)),
            RELAY);
    AtomicReferenceArray<Flow.Subscription> subscriptions = new AtomicReferenceArray<>(rounds);
    AtomicInteger received = new AtomicInteger();
    Thread requester = new Thread(() -> requestOneOfEach(subscriptions));
    requester.setDaemon(true);
    requester.start();
    for (int i = 0; i < rounds; i++) {
      EagerCall call = new EagerCall();
      RemoteStream.start(
          new RemoteStream<>(
              connection,
              call,
              new Envelope<>(
                  KvPoolCatalogUpdate::getContractMarker,
                  KvPoolCatalogUpdate::getProtocolVersion,
                  KvPoolCatalogUpdate::hasRelay,
                  KvPoolCatalogUpdate::getRelay),
              message -> {},
              message -> message,
              new Counting(subscriptions, i, received)),
          call,
          "request");
    }
    requester.join();
    unused.shutdownNow();
    assertThat(received).hasValue(rounds);
  }

  private static void requestOneOfEach(AtomicReferenceArray<Flow.Subscription> subscriptions) {
    for (int i = 0; i < subscriptions.length(); i++) {
      Flow.Subscription next = subscriptions.get(i);
      for (; next == null; next = subscriptions.get(i)) {
        Thread.onSpinWait();
      }
      next.request(1);
    }
  }
}
