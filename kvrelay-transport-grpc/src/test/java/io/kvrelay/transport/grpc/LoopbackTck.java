package io.kvrelay.transport.grpc;

import io.kvrelay.api.transport.ConnectOptions;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.tck.TestEnvironment;
import org.reactivestreams.tck.flow.FlowPublisherVerification;
import org.testng.annotations.AfterClass;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeClass;

/**
 * The Reactive Streams rules, by their own kit, for one kind of stream of a connected source behind
 * a real server on a loopback socket. Every subscription has a connection of its own; what is
 * published changes all the time.
 *
 * <p>A remote stream has no last item: it completes when its connection is closed. So a stream of
 * {@code n} items is one whose connection is closed within the {@code n}th.
 */
public abstract class LoopbackTck<T> extends FlowPublisherVerification<T> {
  /** How long an expected signal may take. What it waits for is a busy machine, not the wire. */
  private static final long PATIENCE_MILLIS = 10_000;

  private static final long NO_SIGNAL_MILLIS = 50;
  private static final long COLLECTION_MILLIS = 1_000;
  private static final long CHANGE_NANOS = 1_000_000;
  private static final int LOAD_WINDOWS = 65_536;

  private final List<GrpcConnectedSource> connections = new ArrayList<>();
  private Loopback loopback;
  private URI address;
  private long changes;

  LoopbackTck() {
    super(
        new TestEnvironment(PATIENCE_MILLIS, NO_SIGNAL_MILLIS, NO_SIGNAL_MILLIS),
        COLLECTION_MILLIS);
  }

  /** Publishes change {@code n}; 0 comes before the export. */
  abstract void change(Loopback relay, long n);

  abstract Flow.Publisher<T> stream(GrpcConnectedSource remote);

  /** A stream that fails: nothing can be asked of a closed connection. */
  Flow.Publisher<T> failedStream(GrpcConnectedSource remote) {
    remote.close();
    return stream(remote);
  }

  @BeforeClass
  public void open() {
    loopback = new Loopback();
    change();
    // The kit pauses for many windows, and lag is no subject of its rules.
    var limits =
        Loopback.quiet()
            .loadWindow(Duration.ofNanos(CHANGE_NANOS))
            .loadFanoutCapacity(LOAD_WINDOWS)
            .build();
    address = loopback.export(loopback.exportOptions().withLimits(limits)).address();
  }

  private void change() {
    change(loopback, changes++);
    loopback.runtime.schedule(CHANGE_NANOS, this::change);
  }

  @AfterMethod(alwaysRun = true)
  public void disconnect() {
    connections.forEach(GrpcConnectedSource::close);
    connections.clear();
  }

  @AfterClass(alwaysRun = true)
  public void close() throws Exception {
    loopback.close();
  }

  private GrpcConnectedSource connect() {
    GrpcConnectedSource remote =
        (GrpcConnectedSource)
            new GrpcTransport()
                .connect(address, ConnectOptions.defaults(loopback.runtime))
                .toCompletableFuture()
                .orTimeout(PATIENCE_MILLIS, TimeUnit.MILLISECONDS)
                .join();
    connections.add(remote);
    return remote;
  }

  @Override
  public final Flow.Publisher<T> createFlowPublisher(long elements) {
    if (elements == Long.MAX_VALUE) {
      return stream(connect());
    }
    return subscriber -> {
      Objects.requireNonNull(subscriber, "subscriber");
      GrpcConnectedSource remote = connect();
      stream(remote).subscribe(new Closing<>(subscriber, remote, elements));
    };
  }

  @Override
  public final Flow.Publisher<T> createFailedFlowPublisher() {
    return failedStream(connect());
  }

  /** Passes everything on, and closes the connection within the last item. */
  private static final class Closing<T> implements Flow.Subscriber<T> {
    private final Flow.Subscriber<? super T> subscriber;
    private final GrpcConnectedSource remote;
    private long left;

    Closing(Flow.Subscriber<? super T> subscriber, GrpcConnectedSource remote, long items) {
      this.subscriber = subscriber;
      this.remote = remote;
      this.left = items;
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscriber.onSubscribe(subscription);
      if (left == 0) {
        remote.close();
      }
    }

    @Override
    public void onNext(T item) {
      subscriber.onNext(item);
      if (--left == 0) {
        remote.close();
      }
    }

    @Override
    public void onError(Throwable failure) {
      subscriber.onError(failure);
    }

    @Override
    public void onComplete() {
      subscriber.onComplete();
    }
  }
}
