package io.kvrelay.transport.grpc;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
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
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.transport.grpc.v1.BaseModelTarget;
import io.kvrelay.transport.grpc.v1.DigestIdentity;
import io.kvrelay.transport.grpc.v1.DynamoEndpointId;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import io.kvrelay.transport.grpc.v1.FilterUpdateKind;
import io.kvrelay.transport.grpc.v1.KvPoolDescriptor;
import io.kvrelay.transport.grpc.v1.KvPoolId;
import io.kvrelay.transport.grpc.v1.KvPoolLoadEntry;
import io.kvrelay.transport.grpc.v1.KvQueryHashFormat;
import io.kvrelay.transport.grpc.v1.KvQuerySemantics;
import io.kvrelay.transport.grpc.v1.LoraModelTarget;
import io.kvrelay.transport.grpc.v1.ServingReadinessState;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * The mapping between the library's values and wire messages.
 *
 * <p>{@code toWire} is total. {@code fromWire} is defined on messages that {@link WireValidator}
 * finds no fault with; on any other it throws {@link IllegalArgumentException}. Unknown fields do
 * not survive the mapping and never take part in identity. Stateless, thread safe, never blocks.
 */
public final class KvRelayWire {
  /** Field 127 of every top-level message: ASCII {@code KVR1}. */
  public static final int CONTRACT_MARKER = 0x4B565231;

  /** The protocol version in every response. */
  public static final int PROTOCOL_VERSION = 1;

  /** Full name of the service, also under which its health is reported. */
  public static final String SERVICE_NAME = "dynamo.kvrelay.v1.KvEventRelay";

  private KvRelayWire() {}

  // ---- Identity ----

  /**
   * Maps a relay identity.
   *
   * @param relay the identity
   * @return the message
   */
  public static io.kvrelay.transport.grpc.v1.RelayIdentity toWire(RelayIdentity relay) {
    return io.kvrelay.transport.grpc.v1.RelayIdentity.newBuilder()
        .setDrtInstanceId(relay.instanceId())
        .setRelayIncarnation(relay.incarnation())
        .build();
  }

  /**
   * Maps a relay identity; every one is valid.
   *
   * @param relay the message
   * @return the identity
   */
  public static RelayIdentity fromWire(io.kvrelay.transport.grpc.v1.RelayIdentity relay) {
    return new RelayIdentity(relay.getDrtInstanceId(), relay.getRelayIncarnation());
  }

  /**
   * Maps a pool id.
   *
   * @param id the id
   * @return the message
   */
  public static KvPoolId toWire(PoolId id) {
    CacheSemanticsId cache = id.indexerDomain().cacheSemantics();
    RoutingScopeId scope = id.indexerDomain().routingScope();
    return KvPoolId.newBuilder()
        .setIdentityVersion(PoolId.IDENTITY_VERSION)
        .setIndexerDomain(
            io.kvrelay.transport.grpc.v1.IndexerDomainId.newBuilder()
                .setCacheSemantics(digest(cache.digest(), cache.source()))
                .setRoutingScope(digest(scope.digest(), scope.source())))
        .setDcId(id.dcId().value())
        .build();
  }

  private static DigestIdentity digest(Digest digest, IdentitySource source) {
    return DigestIdentity.newBuilder()
        .setDigest(UnsafeByteOperations.unsafeWrap(digest.toBytes()))
        .setSource(
            switch (source) {
              case DEFAULT_DERIVED ->
                  io.kvrelay.transport.grpc.v1.IdentitySource.IDENTITY_SOURCE_DEFAULT_DERIVED;
              case EXPLICIT -> io.kvrelay.transport.grpc.v1.IdentitySource.IDENTITY_SOURCE_EXPLICIT;
            })
        .build();
  }

  /**
   * Maps a valid pool id.
   *
   * @param id the message
   * @return the id
   */
  public static PoolId fromWire(KvPoolId id) {
    DigestIdentity cache = id.getIndexerDomain().getCacheSemantics();
    DigestIdentity scope = id.getIndexerDomain().getRoutingScope();
    return new PoolId(
        new IndexerDomainId(
            new CacheSemanticsId(digest(cache), source(cache)),
            new RoutingScopeId(digest(scope), source(scope))),
        new DcId(id.getDcId()));
  }

  private static Digest digest(DigestIdentity identity) {
    return Digest.of(identity.getDigest().toByteArray());
  }

  private static IdentitySource source(DigestIdentity identity) {
    return switch (identity.getSource()) {
      case IDENTITY_SOURCE_DEFAULT_DERIVED -> IdentitySource.DEFAULT_DERIVED;
      case IDENTITY_SOURCE_EXPLICIT -> IdentitySource.EXPLICIT;
      case IDENTITY_SOURCE_UNSPECIFIED, UNRECOGNIZED ->
          throw unmapped("source", identity.getSourceValue());
    };
  }

  /**
   * Maps a producer identity.
   *
   * @param producer the identity
   * @return the message
   */
  public static io.kvrelay.transport.grpc.v1.ProducerIdentity toWire(ProducerIdentity producer) {
    return io.kvrelay.transport.grpc.v1.ProducerIdentity.newBuilder()
        .setPoolId(toWire(producer.poolId()))
        .setProducerIncarnation(producer.producerIncarnation())
        .setLayoutGeneration(producer.layoutGeneration())
        .setCkfFormat(
            io.kvrelay.transport.grpc.v1.CkfFormat.newBuilder()
                .setFormatVersion(CkfFormat.VERSION)
                .setSeed(producer.format().seed())
                .setBucketCount(producer.format().bucketCount())
                .setFingerprintBits(CkfFormat.FINGERPRINT_BITS)
                .setSlotsPerBucket(CkfFormat.SLOTS_PER_BUCKET))
        .build();
  }

  /**
   * Maps a valid producer identity. The result is the producer key: equality over it covers every
   * field of the contract's identity and nothing else, since versions and widths have one valid
   * value.
   *
   * @param producer the message
   * @return the identity
   */
  public static ProducerIdentity fromWire(io.kvrelay.transport.grpc.v1.ProducerIdentity producer) {
    io.kvrelay.transport.grpc.v1.CkfFormat format = producer.getCkfFormat();
    return new ProducerIdentity(
        fromWire(producer.getPoolId()),
        producer.getProducerIncarnation(),
        producer.getLayoutGeneration(),
        new CkfFormat(format.getSeed(), Math.toIntExact(format.getBucketCount())));
  }

  // ---- Catalog ----

  /**
   * Maps a pool descriptor.
   *
   * @param pool the descriptor
   * @return the message
   */
  public static KvPoolDescriptor toWire(PoolDescriptor pool) {
    KvPoolDescriptor.Builder wire =
        KvPoolDescriptor.newBuilder()
            .setProducer(toWire(pool.producer()))
            .setServingEndpoint(toWire(pool.servingEndpoint()))
            .setQuerySemantics(
                KvQuerySemantics.newBuilder()
                    .setKvBlockSize(pool.querySemantics().kvBlockSize())
                    .setHashFormat(
                        switch (pool.querySemantics().hashFormat()) {
                          case DYNAMO_STANDARD_V1 ->
                              KvQueryHashFormat.KV_QUERY_HASH_FORMAT_DYNAMO_STANDARD_V1;
                          case DYNAMO_EAGLE_V1 ->
                              KvQueryHashFormat.KV_QUERY_HASH_FORMAT_DYNAMO_EAGLE_V1;
                        }));
    pool.registrations().forEach(registration -> wire.addRegistrations(toWire(registration)));
    pool.roles().forEach(role -> wire.addPoolRoles(toWire(role)));
    return wire.build();
  }

  private static io.kvrelay.transport.grpc.v1.ModelRegistration toWire(
      ModelRegistration registration) {
    io.kvrelay.transport.grpc.v1.ModelTarget.Builder target =
        io.kvrelay.transport.grpc.v1.ModelTarget.newBuilder();
    if (registration.target() instanceof ModelTarget.Lora lora) {
      target.setLora(
          LoraModelTarget.newBuilder().setBaseModel(lora.baseModel()).setAdapter(lora.adapter()));
    } else {
      target.setBase(BaseModelTarget.newBuilder().setBaseModel(registration.target().baseModel()));
    }
    return io.kvrelay.transport.grpc.v1.ModelRegistration.newBuilder()
        .setCanonicalModelId(registration.canonicalModelId())
        .setTarget(target)
        .addAllAliases(registration.aliases())
        .build();
  }

  /**
   * Maps a valid pool descriptor.
   *
   * @param pool the message
   * @return the descriptor
   */
  public static PoolDescriptor fromWire(KvPoolDescriptor pool) {
    List<ModelRegistration> registrations = new ArrayList<>();
    pool.getRegistrationsList().forEach(registration -> registrations.add(fromWire(registration)));
    return new PoolDescriptor(
        fromWire(pool.getProducer()),
        fromWire(pool.getServingEndpoint()),
        registrations,
        new QuerySemantics(
            pool.getQuerySemantics().getKvBlockSize(),
            hashFormat(pool.getQuerySemantics().getHashFormatValue())),
        roles(pool.getPoolRolesValueList()));
  }

  private static QueryHashFormat hashFormat(int number) {
    for (QueryHashFormat format : QueryHashFormat.values()) {
      if (format.number() == number) {
        return format;
      }
    }
    throw unmapped("hash_format", number);
  }

  private static ModelRegistration fromWire(
      io.kvrelay.transport.grpc.v1.ModelRegistration registration) {
    io.kvrelay.transport.grpc.v1.ModelTarget target = registration.getTarget();
    ModelTarget mapped =
        switch (target.getTargetCase()) {
          case BASE -> new ModelTarget.Base(target.getBase().getBaseModel());
          case LORA ->
              new ModelTarget.Lora(target.getLora().getBaseModel(), target.getLora().getAdapter());
          case TARGET_NOT_SET -> throw unmapped("target", 0);
        };
    return new ModelRegistration(
        registration.getCanonicalModelId(), mapped, registration.getAliasesList());
  }

  static DynamoEndpointId toWire(EndpointId endpoint) {
    return DynamoEndpointId.newBuilder()
        .setNamespace(endpoint.namespace())
        .setComponent(endpoint.component())
        .setEndpoint(endpoint.endpoint())
        .build();
  }

  static EndpointId fromWire(DynamoEndpointId endpoint) {
    return new EndpointId(endpoint.getNamespace(), endpoint.getComponent(), endpoint.getEndpoint());
  }

  private static io.kvrelay.transport.grpc.v1.WorkerRole toWire(WorkerRole role) {
    return switch (role) {
      case PREFILL -> io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_PREFILL;
      case DECODE -> io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_DECODE;
      case ENCODE -> io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_ENCODE;
      case AGGREGATED -> io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_AGGREGATED;
      case LEGACY -> io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_LEGACY;
    };
  }

  private static List<WorkerRole> roles(List<Integer> numbers) {
    List<WorkerRole> roles = new ArrayList<>(numbers.size());
    for (int number : numbers) {
      roles.add(
          switch (number) {
            case io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_PREFILL_VALUE ->
                WorkerRole.PREFILL;
            case io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_DECODE_VALUE ->
                WorkerRole.DECODE;
            case io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_ENCODE_VALUE ->
                WorkerRole.ENCODE;
            case io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_AGGREGATED_VALUE ->
                WorkerRole.AGGREGATED;
            case io.kvrelay.transport.grpc.v1.WorkerRole.WORKER_ROLE_LEGACY_VALUE ->
                WorkerRole.LEGACY;
            default -> throw unmapped("role", number);
          });
    }
    return roles;
  }

  // ---- Readiness ----

  /**
   * Maps a topology entry.
   *
   * @param entry the entry
   * @return the message
   */
  public static io.kvrelay.transport.grpc.v1.TopologyEntry toWire(TopologyEntry entry) {
    io.kvrelay.transport.grpc.v1.TopologyEntry.Builder wire =
        io.kvrelay.transport.grpc.v1.TopologyEntry.newBuilder()
            .setNamespace(entry.namespace())
            .setCanonicalModelId(entry.canonicalModelId())
            .setState(toWire(entry.state()))
            .setLegacyFallbackActive(entry.legacyFallbackActive());
    entry.presentRoles().forEach(role -> wire.addPresentRoles(toWire(role)));
    entry.missingRoles().forEach(role -> wire.addMissingRoles(toWire(role)));
    entry.members().forEach(member -> wire.addMembers(toWire(member)));
    entry.duplicateRoleEndpoints().forEach(role -> wire.addDuplicateRoleEndpoints(toWire(role)));
    entry.adapters().forEach(adapter -> wire.addAdapters(toWire(adapter)));
    return wire.build();
  }

  private static io.kvrelay.transport.grpc.v1.TopologyMember toWire(TopologyMember member) {
    io.kvrelay.transport.grpc.v1.TopologyMember.Builder wire =
        io.kvrelay.transport.grpc.v1.TopologyMember.newBuilder()
            .setEndpoint(toWire(member.endpoint()));
    member.roles().forEach(role -> wire.addRoles(toWire(role)));
    PoolId pool = member.poolId();
    if (pool != null) {
      wire.setPoolId(toWire(pool));
    }
    return wire.build();
  }

  private static io.kvrelay.transport.grpc.v1.AdapterReadiness toWire(AdapterReadiness adapter) {
    io.kvrelay.transport.grpc.v1.AdapterReadiness.Builder wire =
        io.kvrelay.transport.grpc.v1.AdapterReadiness.newBuilder()
            .setCanonicalModelId(adapter.canonicalModelId())
            .setState(toWire(adapter.state()));
    adapter.missingRoles().forEach(role -> wire.addMissingRoles(toWire(role)));
    return wire.build();
  }

  private static ServingReadinessState toWire(ServingState state) {
    return switch (state) {
      case UNKNOWN -> ServingReadinessState.SERVING_READINESS_STATE_UNKNOWN;
      case UNAVAILABLE -> ServingReadinessState.SERVING_READINESS_STATE_UNAVAILABLE;
      case READY -> ServingReadinessState.SERVING_READINESS_STATE_READY;
    };
  }

  /**
   * Maps a valid topology entry.
   *
   * @param entry the message
   * @return the entry
   */
  public static TopologyEntry fromWire(io.kvrelay.transport.grpc.v1.TopologyEntry entry) {
    List<TopologyMember> members = new ArrayList<>();
    entry
        .getMembersList()
        .forEach(
            member ->
                members.add(
                    new TopologyMember(
                        fromWire(member.getEndpoint()),
                        roles(member.getRolesValueList()),
                        member.hasPoolId() ? fromWire(member.getPoolId()) : null)));
    List<AdapterReadiness> adapters = new ArrayList<>();
    entry
        .getAdaptersList()
        .forEach(
            adapter ->
                adapters.add(
                    new AdapterReadiness(
                        adapter.getCanonicalModelId(),
                        state(adapter.getState()),
                        roles(adapter.getMissingRolesValueList()))));
    return new TopologyEntry(
        entry.getNamespace(),
        entry.getCanonicalModelId(),
        state(entry.getState()),
        roles(entry.getPresentRolesValueList()),
        roles(entry.getMissingRolesValueList()),
        members,
        roles(entry.getDuplicateRoleEndpointsValueList()),
        entry.getLegacyFallbackActive(),
        adapters);
  }

  private static ServingState state(ServingReadinessState state) {
    return switch (state) {
      case SERVING_READINESS_STATE_UNKNOWN -> ServingState.UNKNOWN;
      case SERVING_READINESS_STATE_UNAVAILABLE -> ServingState.UNAVAILABLE;
      case SERVING_READINESS_STATE_READY -> ServingState.READY;
      case UNRECOGNIZED -> throw unmapped("state", -1);
    };
  }

  // ---- Load ----

  /**
   * Maps a pool's load. What is not known travels as zero.
   *
   * @param load the load
   * @return the message
   */
  public static KvPoolLoadEntry toWire(PoolLoad load) {
    return KvPoolLoadEntry.newBuilder()
        .setProducer(toWire(load.producer()))
        .setKvUsedBlocks(load.kvUsedBlocks().orElse(0))
        .setTotalKvBlocks(load.totalKvBlocks().orElse(0))
        .setKvObservedRanks(load.kvObservedRanks())
        .setKvExpectedRanks(load.kvExpectedRanks())
        .build();
  }

  /**
   * Maps a load entry with a valid producer. Usage is known only if every expected rank has
   * reported, capacity only if it is not zero; the number of ranks with a known capacity, which
   * does not travel, is taken to be all or none.
   *
   * @param entry the message
   * @return the load
   */
  public static PoolLoad fromWire(KvPoolLoadEntry entry) {
    int expected = entry.getKvExpectedRanks();
    boolean usageKnown = expected != 0 && entry.getKvObservedRanks() == expected;
    boolean capacityKnown = expected != 0 && entry.getTotalKvBlocks() != 0;
    return new PoolLoad(
        fromWire(entry.getProducer()),
        usageKnown ? OptionalLong.of(entry.getKvUsedBlocks()) : OptionalLong.empty(),
        capacityKnown ? OptionalLong.of(entry.getTotalKvBlocks()) : OptionalLong.empty(),
        entry.getKvObservedRanks(),
        capacityKnown ? expected : 0,
        expected);
  }

  // ---- Frames ----

  /**
   * Maps a frame. The payload is shared, not copied.
   *
   * @param relay the relay that sends it
   * @param frame the frame
   * @return the message
   */
  public static FilterUpdate toWire(RelayIdentity relay, PublicationFrame frame) {
    return FilterUpdate.newBuilder()
        .setProtocolVersion(PROTOCOL_VERSION)
        .setRelay(toWire(relay))
        .setProducer(toWire(frame.producer()))
        .setBaseSequence(frame.baseSequence())
        .setSequence(frame.sequence())
        .setSendTsUs(frame.sentAtMicros())
        .setKind(kind(frame.kind()))
        .setPayload(payload(frame))
        .setContractMarker(CONTRACT_MARKER)
        .build();
  }

  static FilterUpdateKind kind(PublicationFrame.Kind kind) {
    return switch (kind) {
      case SNAPSHOT_CHUNK -> FilterUpdateKind.FILTER_UPDATE_KIND_SNAPSHOT_CHUNK;
      case DELTA -> FilterUpdateKind.FILTER_UPDATE_KIND_DELTA;
      case HEARTBEAT -> FilterUpdateKind.FILTER_UPDATE_KIND_HEARTBEAT;
    };
  }

  private static ByteString payload(PublicationFrame frame) {
    return frame.payloadBytes() == 0
        ? ByteString.EMPTY
        : UnsafeByteOperations.unsafeWrap(frame.payload());
  }

  private static IllegalArgumentException unmapped(String field, int number) {
    return new IllegalArgumentException(field + " = " + number + ": not a value of this contract");
  }
}
