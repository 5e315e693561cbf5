package io.kvrelay.transport.inproc;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransports;
import java.net.URI;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import org.reactivestreams.tck.TestEnvironment;
import org.reactivestreams.tck.flow.FlowPublisherVerification;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;

/** The Reactive Streams rules, by their own kit: pool streams through a link, of any length. */
public class InprocPoolTckTest extends FlowPublisherVerification<PublicationFrame> {
  private static final AtomicInteger NAMES = new AtomicInteger();

  private SystemRuntime runtime;

  public InprocPoolTckTest() {
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
  public Flow.Publisher<PublicationFrame> createFlowPublisher(long elements) {
    ScriptedSource source = new ScriptedSource(runtime, 23);
    source.chunks = (int) elements;
    source.completeAfterChunks = true;
    ProducerIdentity producer = source.advertise(1, 1, 16);
    return connect(source).pool(producer);
  }

  @Override
  public Flow.Publisher<PublicationFrame> createFailedFlowPublisher() {
    ScriptedSource source = new ScriptedSource(runtime, 23);
    ProducerIdentity known = source.advertise(1, 1, 16);
    return connect(source).pool(new ProducerIdentity(known.poolId(), 23, 2, known.format()));
  }

  private ConnectedSource connect(ScriptedSource source) {
    URI address = URI.create("inproc:kit-" + NAMES.incrementAndGet());
    RelayTransports.export(source, address, ExportOptions.defaults(runtime));
    return RelayTransports.connect(address, ConnectOptions.defaults(runtime))
        .toCompletableFuture()
        .join();
  }

  @Override
  public long maxElementsFromPublisher() {
    return 10_000;
  }
}
