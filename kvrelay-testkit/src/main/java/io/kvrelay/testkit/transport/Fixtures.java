package io.kvrelay.testkit.transport;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.WorkerRole;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/**
 * Values for transport tests. Payloads are random bytes: a transport forwards them without looking.
 */
public final class Fixtures {
  private static final int BUCKETS_PER_CHUNK = 524_288;

  private Fixtures() {}

  /**
   * A pool whose digests are 16 equal bytes {@code b} and {@code b + 1}, in data center 3.
   *
   * @param b the byte
   * @return the id
   */
  public static PoolId pool(int b) {
    return pool(b, IdentitySource.EXPLICIT, IdentitySource.EXPLICIT);
  }

  /**
   * A pool with given digest sources.
   *
   * @param b the byte
   * @param cache source of the cache semantics
   * @param scope source of the routing scope
   * @return the id
   */
  public static PoolId pool(int b, IdentitySource cache, IdentitySource scope) {
    return new PoolId(
        new IndexerDomainId(
            new CacheSemanticsId(digest(b), cache), new RoutingScopeId(digest(b + 1), scope)),
        new DcId(3));
  }

  private static Digest digest(int b) {
    byte[] bytes = new byte[Digest.BYTES];
    java.util.Arrays.fill(bytes, (byte) b);
    return Digest.of(bytes);
  }

  /**
   * A generation of a pool.
   *
   * @param pool the pool
   * @param generation its layout generation
   * @param buckets size of its filter
   * @return the producer
   */
  public static ProducerIdentity producer(PoolId pool, long generation, int buckets) {
    return new ProducerIdentity(
        pool, 0x17, generation, new CkfFormat(CkfFormat.DEFAULT_SEED, buckets));
  }

  /**
   * A plain descriptor: model {@code llama} with alias {@code chat}, block size 64, legacy.
   *
   * @param producer the producer
   * @return the descriptor
   */
  public static PoolDescriptor descriptor(ProducerIdentity producer) {
    return new PoolDescriptor(
        producer,
        new EndpointId("ns", "backend", "generate"),
        List.of(ModelRegistration.base("llama", "chat")),
        new QuerySemantics(64, QueryHashFormat.DYNAMO_STANDARD_V1),
        List.of(WorkerRole.LEGACY));
  }

  /**
   * A descriptor that uses everything a descriptor can hold.
   *
   * @param producer the producer
   * @return the descriptor
   */
  public static PoolDescriptor richDescriptor(ProducerIdentity producer) {
    return new PoolDescriptor(
        producer,
        new EndpointId("name.space", "back end", "générate"),
        List.of(
            ModelRegistration.base("llama", "chat", "llama-latest"),
            new ModelRegistration("sql", new ModelTarget.Lora("llama", "sql-v2"), List.of())),
        new QuerySemantics(-1, QueryHashFormat.DYNAMO_EAGLE_V1),
        List.of(WorkerRole.PREFILL, WorkerRole.DECODE, WorkerRole.ENCODE, WorkerRole.AGGREGATED));
  }

  /**
   * A topology entry with one ready legacy member.
   *
   * @param model the model
   * @param pool the member's pool
   * @return the entry
   */
  public static TopologyEntry ready(String model, PoolId pool) {
    return new TopologyEntry(
        "ns",
        model,
        ServingState.READY,
        List.of(),
        List.of(),
        List.of(
            new TopologyMember(
                new EndpointId("ns", "backend", "generate"), List.of(WorkerRole.LEGACY), pool)),
        List.of(),
        true,
        List.of());
  }

  /**
   * A topology entry that uses everything an entry can hold.
   *
   * @param pool the pool of one of its members
   * @return the entry
   */
  public static TopologyEntry richEntry(PoolId pool) {
    return new TopologyEntry(
        "ns",
        "big model",
        ServingState.UNAVAILABLE,
        List.of(WorkerRole.PREFILL),
        List.of(WorkerRole.DECODE, WorkerRole.ENCODE),
        List.of(
            new TopologyMember(new EndpointId("ns", "a.b", "c"), List.of(WorkerRole.PREFILL), pool),
            new TopologyMember(
                new EndpointId("ns", "a", "b.c"), List.of(WorkerRole.PREFILL), null)),
        List.of(WorkerRole.PREFILL, WorkerRole.DECODE),
        false,
        List.of(
            new AdapterReadiness("x", ServingState.READY, List.of()),
            new AdapterReadiness("y", ServingState.UNKNOWN, List.of(WorkerRole.DECODE))));
  }

  /**
   * A known load.
   *
   * @param producer the producer
   * @param used used blocks
   * @param total capacity
   * @return the load of one rank
   */
  public static PoolLoad load(ProducerIdentity producer, long used, long total) {
    return new PoolLoad(producer, OptionalLong.of(used), OptionalLong.of(total), 1, 1, 1);
  }

  /**
   * A load of which nothing is known.
   *
   * @param producer the producer
   * @return the load of four ranks, of which one has reported
   */
  public static PoolLoad unknownLoad(ProducerIdentity producer) {
    return new PoolLoad(producer, OptionalLong.empty(), OptionalLong.empty(), 1, 0, 4);
  }

  /**
   * Snapshot frames of the sizes that a full image has.
   *
   * @param producer the producer
   * @param sequence the snapshot's sequence
   * @return one frame per 524,288 buckets
   */
  public static List<PublicationFrame> snapshot(ProducerIdentity producer, long sequence) {
    List<PublicationFrame> frames = new ArrayList<>();
    int buckets = producer.format().bucketCount();
    for (int from = 0; from < buckets; from += BUCKETS_PER_CHUNK) {
      int bytes = 64 + 8 * Math.min(BUCKETS_PER_CHUNK, buckets - from);
      frames.add(
          new PublicationFrame(
              producer,
              PublicationFrame.Kind.SNAPSHOT_CHUNK,
              sequence,
              sequence,
              randomBytes(bytes, from),
              0));
    }
    return frames;
  }

  /**
   * A delta.
   *
   * @param producer the producer
   * @param sequence the sequence it leads to
   * @param bytes length of its payload
   * @return the frame
   */
  public static PublicationFrame delta(ProducerIdentity producer, long sequence, int bytes) {
    return new PublicationFrame(
        producer,
        PublicationFrame.Kind.DELTA,
        sequence - 1,
        sequence,
        randomBytes(bytes, sequence),
        0);
  }

  private static ByteBuffer randomBytes(int length, long seed) {
    byte[] bytes = new byte[length];
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i + 8 <= length; i += 8) {
      ByteBuffer.wrap(bytes).putLong(i, random.nextLong());
    }
    return ByteBuffer.wrap(bytes);
  }
}
