package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.publication.PoolRegistry;
import io.kvrelay.engine.publication.PoolSpec;
import io.kvrelay.engine.publication.PublicationConfig;
import io.kvrelay.engine.view.Attachment;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PlaneStatus;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import io.kvrelay.engine.view.ViewCounter;
import io.kvrelay.engine.view.ViewListener;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A view that follows an address over the lives of the relay behind it, on each transport. */
class AttachByAddressTest {
  private static final int SECONDS = 60;
  private static final String MODEL = "m";
  private static final int[] PROMPT = IntStream.range(0, 64).toArray();
  private static final QuerySemantics SEMANTICS =
      new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1);
  private static final PoolId POOL =
      new PoolId(
          new IndexerDomainId(
              new CacheSemanticsId(new Digest(1, 1), IdentitySource.EXPLICIT),
              new RoutingScopeId(new Digest(2, 2), IdentitySource.EXPLICIT)),
          new DcId(1));

  /** One life of a relay whose one worker holds some blocks of the prompt. */
  private static final class Life implements AutoCloseable {
    final RelayIdentity identity;
    private final PoolRegistry registry;
    private final RelayExport export;

    Life(URI address, long incarnation, int blocks, SystemRuntime runtime) throws Exception {
      this.identity = new RelayIdentity(7, incarnation);
      this.registry = PoolRegistry.create(identity, PublicationConfig.DEFAULTS, runtime);
      PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(1024).build();
      AtomicReference<PoolActor> made = new AtomicReference<>();
      PoolSpec spec =
          new PoolSpec(
              POOL,
              new EndpointId("n", "c", "e"),
              config.format(),
              List.of(ModelRegistration.base(MODEL)),
              SEMANTICS,
              List.of(WorkerRole.AGGREGATED));
      registry
          .attach(
              spec,
              producer -> {
                made.set(new PoolActor(config, producer, runtime));
                return made.get();
              })
          .get(SECONDS, TimeUnit.SECONDS);
      long[] locals = new long[PROMPT.length / 16];
      new BlockHasher(SEMANTICS).localHashes(PROMPT, 0, PROMPT.length, BlockSalt.NONE, locals, 0);
      long[] engine = IntStream.range(0, locals.length).mapToLong(i -> 1000 + i).toArray();
      KvEvent stored = KvEvent.stored(new Member(1, 0), 0, engine, locals).range(0, blocks).build();
      made.get().admitBlocking(stored, 1);
      made.get().flush().toCompletableFuture().get(SECONDS, TimeUnit.SECONDS);
      this.export =
          RelayTransports.export(registry.source(), address, ExportOptions.defaults(runtime));
    }

    URI address() {
      return export.address();
    }

    void end() {
      export.close();
      registry.shutdown();
    }

    @Override
    public void close() {
      end();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"inproc:attach-by-address", "grpc://127.0.0.1:0"})
  void theViewFollowsAnAddressOverTheLivesOfItsRelay(String where) throws Exception {
    try (SystemRuntime runtime = SystemRuntime.create(3);
        KvGlobalView view = KvGlobalView.create(ViewConfig.builder().lanes(1).build(), runtime)) {
      URI address;
      try (Life earlier = new Life(URI.create(where), 1, 1, runtime)) {
        address = earlier.address(); // a free port, if that matters
      }
      // Nobody is there yet.
      Attachment attachment = view.attach(address);
      try (Life first = new Life(address, 2, 2, runtime)) {
        view.awaitSequence(POOL, 0).get(SECONDS, TimeUnit.SECONDS);
        assertThat(depth(view)).isEqualTo(2);
        assertThat(attachment.state().relay()).isEqualTo(first.identity);
        CompletableFuture<Void> lost = whenLost(view);
        first.end();
        lost.get(SECONDS, TimeUnit.SECONDS);
      }
      assertThat(view.installedSequence(POOL)).isEmpty();
      try (Life second = new Life(address, 3, 4, runtime)) {
        view.awaitSequence(POOL, 0).get(SECONDS, TimeUnit.SECONDS);
        assertThat(depth(view)).isEqualTo(4);
        assertThat(attachment.state().relay()).isEqualTo(second.identity);
        assertThat(view.statistics().count(ViewCounter.INCARNATION_CHANGES)).isEqualTo(1);
        attachment.close();
        attachment.detached().toCompletableFuture().get(SECONDS, TimeUnit.SECONDS);
        assertThat(view.state().sources()).isEmpty();
      }
    }
  }

  private static int depth(KvGlobalView view) {
    List<PoolMatch> pools = view.match(PrefixRequest.of(MODEL, PROMPT)).pools();
    assertThat(pools).hasSize(1);
    return pools.get(0).depth();
  }

  private static CompletableFuture<Void> whenLost(KvGlobalView view) {
    CompletableFuture<Void> lost = new CompletableFuture<>();
    view.addListener(
        new ViewListener() {
          @Override
          public void replicaChanged(
              String source, PoolId pool, PlaneStatus status, String reason) {
            if (status != PlaneStatus.CURRENT) {
              lost.complete(null);
            }
          }
        });
    return lost;
  }
}
