package io.kvrelay.cli;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.engine.cbi1.Cbi1Encoder;
import io.kvrelay.engine.ckf.CkfFilter;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.testkit.transport.ScriptedPool;
import io.kvrelay.testkit.transport.ScriptedSource;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/** A source with one pool whose frames the test writes. */
final class TestRelay implements AutoCloseable {
  static final int BUCKETS = 64;
  static final int BLOCK_SIZE = 4;
  static final String MODEL = "m";
  private static final int QUEUE_FRAMES = 1024;

  final SystemRuntime runtime = SystemRuntime.create(2);
  final PoolDescriptor pool;
  final ScriptedSource source = new ScriptedSource(new RelayIdentity(-1, 7), runtime);
  private final ScriptedPool served;
  private final Cbi1Encoder encoder;
  private final CkfFilter filter;
  private final long[] words = new long[BUCKETS];
  private long sequence;

  TestRelay(String dc) {
    EndpointId endpoint = new EndpointId("ns", "backend", "generate");
    QuerySemantics semantics = new QuerySemantics(BLOCK_SIZE, QueryHashFormat.DYNAMO_STANDARD_V1);
    PoolId id =
        new PoolId(
            new IndexerDomainId(
                Identities.cacheSemantics(MODEL, semantics), Identities.routingScope(endpoint)),
            Identities.dcId(dc));
    CkfFormat format = new CkfFormat(CkfFormat.DEFAULT_SEED, BUCKETS);
    ProducerIdentity producer =
        new ProducerIdentity(id, source.relayIdentity().incarnation(), 1, format);
    pool =
        new PoolDescriptor(
            producer,
            endpoint,
            List.of(ModelRegistration.base(MODEL, "alias")),
            semantics,
            List.of(WorkerRole.LEGACY));
    filter = new CkfFilter(format, 500);
    encoder = new Cbi1Encoder(format, id.dcId().value());
    source.publish(
        new TopologySnapshot(
            3,
            List.of(
                new TopologyEntry(
                    "ns",
                    MODEL,
                    ServingState.READY,
                    List.of(WorkerRole.LEGACY),
                    List.of(),
                    List.of(new TopologyMember(endpoint, List.of(WorkerRole.LEGACY), id)),
                    List.of(),
                    true,
                    List.of()))));
    PoolLoad used = new PoolLoad(producer, OptionalLong.of(5), OptionalLong.of(100), 2, 2, 2);
    source.publish(new LoadSnapshot(List.of(used)));
    List<PublicationFrame> snapshot = new ArrayList<>();
    for (ByteBuffer chunk : (Iterable<ByteBuffer>) () -> encoder.snapshot(0, words)) {
      snapshot.add(frame(PublicationFrame.Kind.SNAPSHOT_CHUNK, 0, 0, chunk));
    }
    served = source.addPool(pool, snapshot, QUEUE_FRAMES);
  }

  /** Publishes a delta that sets some buckets. */
  void delta(int[] buckets, long[] values) {
    for (int i = 0; i < buckets.length; i++) {
      words[buckets[i]] = values[i];
    }
    ByteBuffer payload = encoder.delta(sequence + 1, sequence, buckets, values, buckets.length);
    add(PublicationFrame.Kind.DELTA, sequence, ++sequence, payload);
  }

  /** Publishes a delta that adds blocks by their sequence hashes. */
  void store(long... sequenceHashes) {
    for (long hash : sequenceHashes) {
      filter.insert(filter.addressing().mix(hash), (bucket, word) -> {});
    }
    int[] changed = IntStream.range(0, BUCKETS).filter(i -> filter.word(i) != words[i]).toArray();
    delta(changed, IntStream.of(changed).mapToLong(filter::word).toArray());
  }

  /** Publishes a delta that leaves one out. */
  void gap() {
    ByteBuffer payload =
        encoder.delta(sequence + 2, sequence + 1, new int[] {1}, new long[] {1}, 1);
    add(PublicationFrame.Kind.DELTA, sequence + 1, sequence + 2, payload);
  }

  private void add(PublicationFrame.Kind kind, long base, long to, ByteBuffer payload) {
    served.publishAndKeep(frame(kind, base, to, payload));
  }

  private PublicationFrame frame(
      PublicationFrame.Kind kind, long base, long to, ByteBuffer payload) {
    return new PublicationFrame(pool.producer(), kind, base, to, payload, 0);
  }

  /** The catalog shows the pool no longer; its streams stay open. */
  void withdraw() {
    source.publish(new PoolCatalog(2, List.of()));
  }

  /** Ends every stream in order. */
  void shutDown() {
    source.shutDown();
  }

  @Override
  public void close() {
    shutDown();
    runtime.close();
  }
}
