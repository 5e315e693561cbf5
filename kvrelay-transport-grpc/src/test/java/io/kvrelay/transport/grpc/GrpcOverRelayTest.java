package io.kvrelay.transport.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.engine.cbi1.Cbi1Decoder;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.publication.PoolHandle;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.testkit.transport.ProbeSubscriber;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A real relay behind the wire: the contract's fixture, and chains that end in a view. */
@Timeout(60)
class GrpcOverRelayTest {
  private static final PoolId POOL = Fixtures.pool(0x11);
  private static final QuerySemantics SEMANTICS =
      new QuerySemantics(64, QueryHashFormat.DYNAMO_STANDARD_V1);
  private static final Member WORKER = new Member(7, 0);

  private final SystemRuntime runtime = SystemRuntime.create(4);
  private final PoolRegistry registry =
      PoolRegistry.create(new RelayIdentity(0x11, 0x17), PublicationConfig.DEFAULTS, runtime);
  private final PoolConfig config =
      PoolConfig.builder().expectedUniqueBlocks(32).publicationThreshold(1).build();
  private PoolActor actor;
  private PoolHandle handle;

  @BeforeEach
  void attach() {
    PoolSpec spec =
        new PoolSpec(
            POOL,
            new EndpointId("ns", "backend", "generate"),
            config.format(),
            List.of(ModelRegistration.base("llama", "chat")),
            SEMANTICS,
            List.of(WorkerRole.LEGACY));
    AtomicReference<PoolActor> made = new AtomicReference<>();
    handle =
        registry
            .attach(
                spec,
                identity -> {
                  made.set(new PoolActor(config, identity, runtime));
                  return made.get();
                })
            .join();
    actor = made.get();
    handle.updateLoad(Fixtures.load(handle.identity(), 40, 100));
    registry.setTopology(new TopologySnapshot(1, List.of(Fixtures.ready("llama", POOL))));
  }

  @AfterEach
  void close() {
    registry.shutdown();
    runtime.close();
  }

  private GrpcRelayExport export(RelayPublicationSource source) {
    return new GrpcTransport()
        .export(
            source,
            URI.create("grpc://127.0.0.1:0"),
            ExportOptions.defaults(runtime)
                .withLimits(Loopback.quiet().loadWindow(java.time.Duration.ofMillis(20)).build()));
  }

  private GrpcConnectedSource connect(GrpcRelayExport export) throws Exception {
    return (GrpcConnectedSource)
        new GrpcTransport()
            .connect(export.address(), ConnectOptions.defaults(runtime))
            .toCompletableFuture()
            .get(5, TimeUnit.SECONDS);
  }

  private static void store(PoolActor actor, int[] tokens, int blocks) throws Exception {
    long[] locals = new long[blocks];
    new BlockHasher(SEMANTICS).localHashes(tokens, 0, blocks * 64, BlockSalt.NONE, locals, 0);
    long[] engine = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      engine[i] = 1L + i;
    }
    actor.admitBlocking(KvEvent.stored(WORKER, 1, engine, locals).build(), 1);
  }

  private static long[] words(PublicationFrame frame, ProducerIdentity producer, long[] words) {
    Cbi1Decoder decoder = new Cbi1Decoder(producer.format());
    decoder.decodeOrThrow(frame.payload());
    assertThat(decoder.epoch()).isEqualTo(frame.sequence());
    assertThat(decoder.dcId()).isEqualTo(producer.poolId().dcId().value());
    if (frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK) {
      decoder.copyWords(words, 0);
    } else {
      assertThat(decoder.baseEpoch()).isEqualTo(frame.baseSequence());
      for (int i = 0; i < decoder.imageCount(); i++) {
        words[decoder.bucket(i)] = decoder.word(i);
      }
    }
    return words;
  }

  @Test
  void allPlanesTogether() throws Exception {
    try (GrpcRelayExport export = export(registry.source());
        GrpcConnectedSource remote = connect(export)) {
      PoolCatalog catalog = ProbeSubscriber.to(remote.catalog()).ask();
      assertThat(catalog.pools()).containsExactly(handle.descriptor());
      ProducerIdentity producer = catalog.pools().get(0).producer();
      assertThat(producer.format().bucketCount()).isEqualTo(16);
      ProbeSubscriber<PublicationFrame> frames = ProbeSubscriber.toAllOf(remote.pool(producer));
      PublicationFrame snapshot = frames.next();
      assertThat(snapshot.kind()).isEqualTo(PublicationFrame.Kind.SNAPSHOT_CHUNK);
      long[] words = words(snapshot, producer, new long[16]);
      assertThat(words).containsOnly(0);

      TopologySnapshot readiness = ProbeSubscriber.to(remote.readiness()).ask();
      assertThat(readiness.entries()).hasSize(1);
      assertThat(readiness.entries().get(0).state()).isEqualTo(ServingState.READY);
      assertThat(readiness.entries().get(0).legacyFallbackActive()).isTrue();
      assertThat(readiness.entries().get(0).members().get(0).poolId()).isEqualTo(POOL);
      LoadSnapshot load = ProbeSubscriber.to(remote.load()).ask();
      assertThat(load.pools()).containsExactly(Fixtures.load(producer, 40, 100));

      store(actor, new int[64], 1);
      PublicationFrame delta = frames.next();
      assertThat(delta.kind()).isEqualTo(PublicationFrame.Kind.DELTA);
      assertThat(delta.baseSequence()).isEqualTo(snapshot.sequence());
      assertThat(delta.sequence()).isEqualTo(snapshot.sequence() + 1);
      assertThat(Arrays.stream(words(delta, producer, words))).anyMatch(word -> word != 0);
    }
  }

  @Test
  void aNewGenerationIsANewProducer() throws Exception {
    try (GrpcRelayExport export = export(registry.source());
        GrpcConnectedSource remote = connect(export)) {
      ProducerIdentity old = handle.identity();
      ProbeSubscriber<PublicationFrame> stream = ProbeSubscriber.toAllOf(remote.pool(old));
      stream.next();
      store(actor, new int[64], 1);
      assertThat(stream.next().sequence()).isEqualTo(1);
      handle.remove();
      assertThat(stream.failure().reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
      assertThat(stream.waiting()).isZero();
      assertThat(ProbeSubscriber.to(remote.pool(old)).failure().reason())
          .isEqualTo(RelayErrorReason.POOL_NOT_FOUND);

      attach();
      assertThat(handle.identity()).isNotEqualTo(old);
      assertThat(ProbeSubscriber.to(remote.pool(old)).failure().reason())
          .isEqualTo(RelayErrorReason.PRODUCER_CHANGED);
      PublicationFrame fresh = ProbeSubscriber.to(remote.pool(handle.identity())).ask();
      assertThat(fresh.sequence()).isZero();
      assertThat(words(fresh, handle.identity(), new long[16])).containsOnly(0);
    }
  }

  @Test
  void aFencedGenerationIsWithdrawn() throws Exception {
    try (GrpcRelayExport export = export(registry.source());
        GrpcConnectedSource remote = connect(export)) {
      ProbeSubscriber<PublicationFrame> stream =
          ProbeSubscriber.toAllOf(remote.pool(handle.identity()));
      stream.next();
      handle.fence("for the test");
      assertThat(stream.failure().reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
      ProbeSubscriber<PoolCatalog> catalog = ProbeSubscriber.to(remote.catalog());
      assertThat(catalog.ask().pools()).isEmpty();
    }
  }

  @Test
  void aViewFollowsARelayOverTheWireAndOverAChainOfTwo() throws Exception {
    int[] prompt = new int[5 * 64];
    for (int i = 0; i < prompt.length; i++) {
      prompt[i] = i;
    }
    try (GrpcRelayExport export = export(registry.source());
        GrpcConnectedSource near = connect(export);
        GrpcRelayExport again = export(near);
        KvGlobalView direct = KvGlobalView.create(ViewConfig.builder().lanes(1).build(), runtime);
        KvGlobalView chained =
            KvGlobalView.create(ViewConfig.builder().lanes(1).build(), runtime)) {
      direct.attach(export.address());
      chained.attach(again.address());
      for (KvGlobalView view : List.of(direct, chained)) {
        view.awaitSequence(POOL, 0).get(10, TimeUnit.SECONDS);
      }
      store(actor, prompt, 3);
      for (KvGlobalView view : List.of(direct, chained)) {
        view.awaitSequence(POOL, 1).get(10, TimeUnit.SECONDS);
        assertThat(
                view.match(PrefixRequest.of("llama", prompt))
                    .pool(POOL)
                    .orElseThrow()
                    .depthBlocks())
            .hasValue(3);
      }
    }
  }
}
