package io.kvrelay.engine.publication;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.runtime.SystemRuntime;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import org.reactivestreams.tck.TestEnvironment;
import org.reactivestreams.tck.flow.FlowPublisherVerification;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;

/** The Reactive Streams rules, by their own kit: pool streams of a pool that publishes steadily. */
public class PoolStreamTckTest extends FlowPublisherVerification<PublicationFrame> {
  private static final long PUBLISH_NANOS = 1_000_000;

  /** The kit pauses for longer than the usual queue lasts, and lag is no subject of its rules. */
  private static final PublicationConfig CONFIG =
      PublicationConfig.builder().publicationQueueCapacity(1 << 20).build();

  private final List<ScriptedPool> pools = new CopyOnWriteArrayList<>();
  private SystemRuntime runtime;
  private long word;

  public PoolStreamTckTest() {
    super(new TestEnvironment(2000, 50));
  }

  @BeforeClass
  public void startPublishing() {
    runtime = SystemRuntime.create(2);
    publish();
  }

  private void publish() {
    word++;
    pools.forEach(pool -> pool.publish(3, word));
    runtime.schedule(PUBLISH_NANOS, this::publish);
  }

  @AfterClass
  public void stopPublishing() {
    runtime.close();
  }

  private PoolHandle attach() {
    PoolRegistry registry = PoolRegistry.create(new RelayIdentity(17, 23), CONFIG, runtime);
    PoolHandle handle = registry.attach(Fixture.spec(1, 16), ScriptedPool::new).join();
    pools.add((ScriptedPool) handle.producer());
    source = registry.source().pool(handle.identity());
    stale =
        registry
            .source()
            .pool(
                new ProducerIdentity(
                    handle.identity().poolId(), 23, 99, handle.identity().format()));
    return handle;
  }

  private Flow.Publisher<PublicationFrame> source;
  private Flow.Publisher<PublicationFrame> stale;

  @Override
  public Flow.Publisher<PublicationFrame> createFlowPublisher(long elements) {
    attach();
    return source;
  }

  @Override
  public Flow.Publisher<PublicationFrame> createFailedFlowPublisher() {
    attach();
    return stale;
  }

  /** A pool has no last delta; how a stream ends at shutdown is tested elsewhere. */
  @Override
  public long maxElementsFromPublisher() {
    return publisherUnableToSignalOnComplete();
  }
}
