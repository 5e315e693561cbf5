package io.kvrelay.engine.publication;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A registry under virtual time, with pools that the test drives. */
final class Fixture {
  static final int BUCKETS = 16;

  final VirtualRuntime runtime;
  final PoolRegistry registry;

  /** What the test wants to go wrong in the encoder; null entries mean that nothing does. */
  final FaultyEncoder faults = new FaultyEncoder();

  Fixture() {
    this(PublicationConfig.DEFAULTS);
  }

  Fixture(PublicationConfig config) {
    this(config, VirtualRuntime.inOrder(1));
  }

  Fixture(PublicationConfig config, VirtualRuntime runtime) {
    this.runtime = runtime;
    this.registry =
        PoolRegistry.create(new RelayIdentity(17, 23), config, runtime, faults::encoderOf);
  }

  /** One attached pool and the scripted producer behind it. */
  record Pool(PoolHandle handle, ScriptedPool producer) {
    void publish(int bucket, long word) {
      producer.publish(bucket, word);
    }
  }

  Pool attach(int number) {
    return attach(number, BUCKETS);
  }

  Pool attach(int number, int bucketCount) {
    return await(registry.attach(spec(number, bucketCount), ScriptedPool::new));
  }

  Pool await(CompletableFuture<PoolHandle> attached) {
    runtime.runUntilIdle();
    PoolHandle handle = attached.join();
    return new Pool(handle, (ScriptedPool) handle.producer());
  }

  Subscriber subscribe(Pool pool) {
    Subscriber subscriber = new Subscriber(pool.handle().identity());
    registry.source().pool(pool.handle().identity()).subscribe(subscriber);
    return subscriber;
  }

  /** Subscribes and asks for everything. */
  Subscriber follow(Pool pool) {
    Subscriber subscriber = subscribe(pool);
    runtime.runUntilIdle();
    subscriber.request(Long.MAX_VALUE);
    runtime.runUntilIdle();
    return subscriber;
  }

  PublicationStatistics.Totals totals() {
    return registry.statistics().totals();
  }

  /** Nothing is held: no stream, no permit, no pin, no listener. */
  boolean isAtRest() {
    PublicationContext context = registry.context();
    int encodings = context.config().publicationEncodingConcurrency();
    return context.streamPermits().available() == context.config().maxPoolStreamsTotal()
        && context.bootstrapPermits().available() == encodings
        && context.deltaPermits().available() == encodings
        && context.bootstrapPermits().waiting() == 0
        && context.deltaPermits().waiting() == 0
        && registry.shutdownSignal().listeners() == 0;
  }

  static PoolId poolId(int number) {
    return new PoolId(
        new IndexerDomainId(
            new CacheSemanticsId(digest(number), IdentitySource.EXPLICIT),
            new RoutingScopeId(digest(number + 1), IdentitySource.EXPLICIT)),
        new DcId(3));
  }

  private static Digest digest(int value) {
    byte[] bytes = new byte[16];
    Arrays.fill(bytes, (byte) value);
    return Digest.of(bytes);
  }

  static PoolSpec spec(int number, int bucketCount) {
    return new PoolSpec(
        poolId(number),
        new EndpointId("ns", "backend", "generate" + number),
        new CkfFormat(CkfFormat.DEFAULT_SEED, bucketCount),
        List.of(ModelRegistration.base("llama", "chat")),
        new QuerySemantics(64, QueryHashFormat.DYNAMO_STANDARD_V1),
        List.of(WorkerRole.LEGACY));
  }
}
