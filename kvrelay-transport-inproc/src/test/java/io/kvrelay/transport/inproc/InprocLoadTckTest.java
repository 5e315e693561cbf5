package io.kvrelay.transport.inproc;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.api.transport.TransportLimits;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.tck.TestEnvironment;
import org.reactivestreams.tck.flow.FlowPublisherVerification;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;

/** The Reactive Streams rules, by their own kit: load windows through a link. */
public class InprocLoadTckTest extends FlowPublisherVerification<LoadSnapshot> {
  private static final AtomicInteger NAMES = new AtomicInteger();

  /** The kit pauses for many windows, and lag is no subject of its rules. */
  private static final TransportLimits FAST =
      TransportLimits.builder().loadWindow(Duration.ofMillis(1)).loadFanoutCapacity(65_536).build();

  private SystemRuntime runtime;

  public InprocLoadTckTest() {
    super(new TestEnvironment(2000, 50));
  }

  @BeforeClass
  public void open() {
    runtime = SystemRuntime.create(2);
  }

  @AfterClass
  public void close() {
    runtime.close();
  }

  @Override
  public Flow.Publisher<LoadSnapshot> createFlowPublisher(long elements) {
    return connect().load();
  }

  @Override
  public Flow.Publisher<LoadSnapshot> createFailedFlowPublisher() {
    ConnectedSource closed = connect();
    closed.close();
    return closed.load();
  }

  private ConnectedSource connect() {
    URI address = URI.create("inproc:kit-load-" + NAMES.incrementAndGet());
    RelayTransports.export(
        new ScriptedSource(runtime, 23), address, ExportOptions.defaults(runtime).withLimits(FAST));
    return RelayTransports.connect(address, ConnectOptions.defaults(runtime))
        .toCompletableFuture()
        .join();
  }

  /** There is always another window. */
  @Override
  public long maxElementsFromPublisher() {
    return publisherUnableToSignalOnComplete();
  }
}
