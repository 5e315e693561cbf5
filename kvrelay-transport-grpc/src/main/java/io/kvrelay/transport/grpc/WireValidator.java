package io.kvrelay.transport.grpc;

import com.google.protobuf.Message;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.Digest;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.Text;
import io.kvrelay.transport.grpc.WireFault.Kind;
import io.kvrelay.transport.grpc.v1.AdapterReadiness;
import io.kvrelay.transport.grpc.v1.DigestIdentity;
import io.kvrelay.transport.grpc.v1.DynamoEndpointId;
import io.kvrelay.transport.grpc.v1.IdentitySource;
import io.kvrelay.transport.grpc.v1.IndexerDomainId;
import io.kvrelay.transport.grpc.v1.KvPoolDescriptor;
import io.kvrelay.transport.grpc.v1.KvPoolId;
import io.kvrelay.transport.grpc.v1.KvQueryHashFormat;
import io.kvrelay.transport.grpc.v1.KvQuerySemantics;
import io.kvrelay.transport.grpc.v1.ModelRegistration;
import io.kvrelay.transport.grpc.v1.ModelTarget;
import io.kvrelay.transport.grpc.v1.ProducerIdentity;
import io.kvrelay.transport.grpc.v1.ServingReadinessState;
import io.kvrelay.transport.grpc.v1.TopologyEntry;
import io.kvrelay.transport.grpc.v1.TopologyMember;
import io.kvrelay.transport.grpc.v1.WorkerRole;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The contract's validation rules over wire messages. Each method reports the first rule that is
 * broken, in the contract's order of evaluation, or null; none changes anything. Stateless, thread
 * safe, never blocks. Enum fields are read as raw numbers, so numbers of a newer version are told
 * apart from each other and from zero.
 *
 * <p>The order matters to peers: it decides which of several faults is named, and with it whether a
 * request is refused as malformed or as unsupported.
 */
public final class WireValidator {
  private WireValidator() {}

  /**
   * Checks the envelope of a response: marker, then protocol version.
   *
   * @param contractMarker field 127
   * @param protocolVersion field 1 (unsigned)
   * @return the fault, or null
   */
  public static @Nullable WireFault envelope(int contractMarker, int protocolVersion) {
    WireFault fault = marker(contractMarker);
    if (fault != null) {
      return fault;
    }
    return protocolVersion == KvRelayWire.PROTOCOL_VERSION
        ? null
        : WireFault.malformed(
            Kind.PROTOCOL_VERSION, "protocol_version", Integer.toUnsignedString(protocolVersion));
  }

  /**
   * Checks the marker, which is all the envelope a request has.
   *
   * @param contractMarker field 127
   * @return the fault, or null
   */
  public static @Nullable WireFault marker(int contractMarker) {
    return contractMarker == KvRelayWire.CONTRACT_MARKER
        ? null
        : WireFault.malformed(
            Kind.CONTRACT_MARKER, "contract_marker", "0x" + Integer.toHexString(contractMarker));
  }

  /**
   * Checks a pool id: version, cache semantics, routing scope. Any data center id is valid.
   *
   * @param id the id
   * @return the fault, or null
   */
  public static @Nullable WireFault poolId(KvPoolId id) {
    int version = id.getIdentityVersion();
    if (version != PoolId.IDENTITY_VERSION) {
      return WireFault.unlisted(
          Kind.POOL_IDENTITY_VERSION,
          "identity_version",
          version,
          Integer.toUnsignedString(version));
    }
    if (!id.hasIndexerDomain()) {
      return WireFault.missing("indexer_domain");
    }
    IndexerDomainId domain = id.getIndexerDomain();
    WireFault fault =
        digest(domain.hasCacheSemantics(), domain.getCacheSemantics(), "cache_semantics");
    if (fault == null) {
      fault = digest(domain.hasRoutingScope(), domain.getRoutingScope(), "routing_scope");
    }
    return fault == null ? null : fault.in("indexer_domain");
  }

  private static @Nullable WireFault digest(boolean present, DigestIdentity digest, String field) {
    if (!present) {
      return WireFault.missing(field);
    }
    if (digest.getDigest().size() != Digest.BYTES) {
      return WireFault.malformed(
          Kind.DIGEST_LENGTH, field + ".digest", digest.getDigest().size() + " bytes");
    }
    return enumNumber(
        Kind.IDENTITY_SOURCE,
        field + ".source",
        digest.getSourceValue(),
        IdentitySource.forNumber(digest.getSourceValue()) != null);
  }

  private static @Nullable WireFault enumNumber(
      Kind kind, String field, int number, boolean known) {
    return known && number != 0
        ? null
        : WireFault.unlisted(kind, field, number, Integer.toString(number));
  }

  /**
   * Checks a producer identity: pool id, layout generation, filter format. An identity that passes
   * can be mapped to a producer key with {@link KvRelayWire#fromWire(ProducerIdentity)}.
   *
   * @param producer the identity
   * @return the fault, or null
   */
  public static @Nullable WireFault producer(ProducerIdentity producer) {
    if (!producer.hasPoolId()) {
      return WireFault.missing("pool_id");
    }
    WireFault fault = poolId(producer.getPoolId());
    if (fault != null) {
      return fault.in("pool_id");
    }
    if (producer.getLayoutGeneration() == 0) {
      return WireFault.malformed(Kind.ZERO_LAYOUT_GENERATION, "layout_generation", 0);
    }
    if (!producer.hasCkfFormat()) {
      return WireFault.missing("ckf_format");
    }
    fault = format(producer.getCkfFormat());
    return fault == null ? null : fault.in("ckf_format");
  }

  private static @Nullable WireFault format(io.kvrelay.transport.grpc.v1.CkfFormat format) {
    WireFault fault = nonZero("format_version", format.getFormatVersion());
    if (fault == null) {
      fault = nonZero("bucket_count", format.getBucketCount());
    }
    if (fault == null) {
      fault = nonZero("fingerprint_bits", format.getFingerprintBits());
    }
    if (fault == null) {
      fault = nonZero("slots_per_bucket", format.getSlotsPerBucket());
    }
    if (fault == null) {
      fault = fixed("format_version", format.getFormatVersion(), CkfFormat.VERSION);
    }
    if (fault == null) {
      fault = fixed("fingerprint_bits", format.getFingerprintBits(), CkfFormat.FINGERPRINT_BITS);
    }
    if (fault == null) {
      fault = fixed("slots_per_bucket", format.getSlotsPerBucket(), CkfFormat.SLOTS_PER_BUCKET);
    }
    return fault == null ? bucketCount(format.getBucketCount()) : fault;
  }

  private static @Nullable WireFault nonZero(String field, long value) {
    return value != 0 ? null : WireFault.malformed(Kind.ZERO_FORMAT_FIELD, field, 0);
  }

  private static @Nullable WireFault fixed(String field, int value, int expected) {
    return value == expected
        ? null
        : WireFault.unsupported(
            Kind.UNSUPPORTED_CKF_FORMAT, field, Integer.toUnsignedString(value));
  }

  private static @Nullable WireFault bucketCount(long buckets) {
    if (Long.compareUnsigned(buckets, CkfFormat.MAX_BUCKETS) > 0) {
      return WireFault.unsupported(
          Kind.BUCKET_COUNT_TOO_LARGE, "bucket_count", Long.toUnsignedString(buckets));
    }
    return buckets >= CkfFormat.MIN_BUCKETS && Long.bitCount(buckets) == 1
        ? null
        : WireFault.malformed(Kind.UNSUPPORTED_BUCKET_COUNT, "bucket_count", buckets);
  }

  /**
   * Checks a pool descriptor: producer, serving endpoint, query semantics, registrations, roles.
   *
   * @param descriptor the descriptor
   * @return the fault, or null
   */
  public static @Nullable WireFault descriptor(KvPoolDescriptor descriptor) {
    if (!descriptor.hasProducer()) {
      return WireFault.missing("producer");
    }
    WireFault fault = producer(descriptor.getProducer());
    if (fault != null) {
      return fault.in("producer");
    }
    fault =
        endpoint(
            descriptor.hasServingEndpoint(), descriptor.getServingEndpoint(), "serving_endpoint");
    if (fault != null) {
      return fault;
    }
    if (!descriptor.hasQuerySemantics()) {
      return WireFault.missing("query_semantics");
    }
    fault = querySemantics(descriptor.getQuerySemantics());
    if (fault != null) {
      return fault.in("query_semantics");
    }
    for (int i = 0; i < descriptor.getRegistrationsCount(); i++) {
      fault = registration(descriptor.getRegistrations(i));
      if (fault != null) {
        return fault.in("registrations[" + i + "]");
      }
    }
    return someRoles(descriptor.getPoolRolesValueList(), "pool_roles");
  }

  /**
   * Checks query semantics: block size, hash format.
   *
   * @param semantics the semantics
   * @return the fault, or null
   */
  public static @Nullable WireFault querySemantics(KvQuerySemantics semantics) {
    if (semantics.getKvBlockSize() == 0) {
      return WireFault.malformed(Kind.ZERO_QUERY_BLOCK_SIZE, "kv_block_size", 0);
    }
    int format = semantics.getHashFormatValue();
    return enumNumber(
        Kind.QUERY_HASH_FORMAT, "hash_format", format, KvQueryHashFormat.forNumber(format) != null);
  }

  private static @Nullable WireFault registration(ModelRegistration registration) {
    WireFault fault = text(registration.getCanonicalModelId(), "canonical_model_id");
    if (fault != null) {
      return fault;
    }
    if (!registration.hasTarget()) {
      return WireFault.missing("target");
    }
    fault = target(registration.getTarget());
    if (fault != null) {
      return fault.in("target");
    }
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < registration.getAliasesCount(); i++) {
      String alias = registration.getAliases(i);
      fault = text(alias, "aliases[" + i + "]");
      if (fault != null) {
        return fault;
      }
      if (!seen.add(alias)) {
        return WireFault.malformed(Kind.DUPLICATE_ALIAS, "aliases[" + i + "]", quoted(alias));
      }
    }
    return null;
  }

  /**
   * Checks a model target. A target without a known alternative is unsupported: a reader cannot
   * tell one that a newer version added from none.
   *
   * @param target the target
   * @return the fault, or null
   */
  public static @Nullable WireFault target(ModelTarget target) {
    return switch (target.getTargetCase()) {
      case BASE -> text(target.getBase().getBaseModel(), "base.base_model");
      case LORA -> {
        WireFault fault = text(target.getLora().getBaseModel(), "lora.base_model");
        yield fault == null ? text(target.getLora().getAdapter(), "lora.adapter") : fault;
      }
      case TARGET_NOT_SET ->
          WireFault.unsupported(Kind.UNSUPPORTED_MODEL_TARGET, "target", "no known alternative");
    };
  }

  /**
   * Checks a topology entry: key, state, roles, members, adapters. That no other entry of a
   * snapshot has the same key is the snapshot's business.
   *
   * @param entry the entry
   * @return the fault, or null
   */
  public static @Nullable WireFault topologyEntry(TopologyEntry entry) {
    WireFault fault = topologyKey(entry);
    if (fault == null) {
      fault = state(entry.getStateValue(), "state");
    }
    if (fault == null) {
      fault = roles(entry.getPresentRolesValueList(), "present_roles");
    }
    if (fault == null) {
      fault = roles(entry.getMissingRolesValueList(), "missing_roles");
    }
    if (fault == null) {
      fault = duplicatedRoles(entry.getDuplicateRoleEndpointsValueList());
    }
    if (fault == null) {
      fault = members(entry);
    }
    return fault == null ? adapters(entry.getAdaptersList()) : fault;
  }

  /** The two texts by which an entry is known; without them it cannot be identified. */
  static @Nullable WireFault topologyKey(TopologyEntry entry) {
    WireFault fault = text(entry.getNamespace(), "namespace");
    return fault == null ? text(entry.getCanonicalModelId(), "canonical_model_id") : fault;
  }

  private static @Nullable WireFault state(int number, String field) {
    return ServingReadinessState.forNumber(number) != null
        ? null
        : WireFault.unsupported(Kind.READINESS_STATE, field, number);
  }

  private static @Nullable WireFault duplicatedRoles(List<Integer> numbers) {
    WireFault fault = roles(numbers, "duplicate_role_endpoints");
    if (fault != null) {
      return fault;
    }
    for (int number : numbers) {
      if (number != WorkerRole.WORKER_ROLE_PREFILL_VALUE
          && number != WorkerRole.WORKER_ROLE_DECODE_VALUE) {
        return WireFault.malformed(
            Kind.UNSUPPORTED_DUPLICATE_ENDPOINT_ROLE,
            "duplicate_role_endpoints",
            WorkerRole.forNumber(number));
      }
    }
    return null;
  }

  private static @Nullable WireFault members(TopologyEntry entry) {
    if (entry.getMembersCount() == 0) {
      return WireFault.malformed(Kind.MISSING_TOPOLOGY_MEMBER, "members", "none");
    }
    // Compared as a tuple, never as dotted text: names may hold dots.
    Set<List<String>> seen = new HashSet<>();
    for (int i = 0; i < entry.getMembersCount(); i++) {
      TopologyMember member = entry.getMembers(i);
      WireFault fault = member(member, entry.getNamespace());
      DynamoEndpointId id = member.getEndpoint();
      if (fault == null
          && !seen.add(List.of(id.getNamespace(), id.getComponent(), id.getEndpoint()))) {
        fault = WireFault.malformed(Kind.DUPLICATE_TOPOLOGY_MEMBER, "endpoint", oneLine(id));
      }
      if (fault != null) {
        return fault.in("members[" + i + "]");
      }
    }
    return null;
  }

  private static @Nullable WireFault member(TopologyMember member, String namespace) {
    WireFault fault = endpoint(member.hasEndpoint(), member.getEndpoint(), "endpoint");
    if (fault != null) {
      return fault;
    }
    if (!member.getEndpoint().getNamespace().equals(namespace)) {
      return WireFault.malformed(
          Kind.NAMESPACE_MISMATCH,
          "endpoint.namespace",
          quoted(member.getEndpoint().getNamespace()));
    }
    fault = someRoles(member.getRolesValueList(), "roles");
    if (fault != null || !member.hasPoolId()) {
      return fault;
    }
    fault = poolId(member.getPoolId());
    return fault == null ? null : fault.in("pool_id");
  }

  private static @Nullable WireFault adapters(List<AdapterReadiness> adapters) {
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < adapters.size(); i++) {
      AdapterReadiness adapter = adapters.get(i);
      String id = adapter.getCanonicalModelId();
      WireFault fault = text(id, "canonical_model_id");
      if (fault == null) {
        fault = state(adapter.getStateValue(), "state");
      }
      if (fault == null) {
        fault = roles(adapter.getMissingRolesValueList(), "missing_roles");
      }
      if (fault == null && !seen.add(id)) {
        fault = WireFault.malformed(Kind.DUPLICATE_ADAPTER, "canonical_model_id", quoted(id));
      }
      if (fault != null) {
        return fault.in("adapters[" + i + "]");
      }
    }
    return null;
  }

  private static @Nullable WireFault endpoint(boolean present, DynamoEndpointId id, String field) {
    if (!present) {
      return WireFault.missing(field);
    }
    WireFault fault = text(id.getNamespace(), "namespace");
    if (fault == null) {
      fault = text(id.getComponent(), "component");
    }
    if (fault == null) {
      fault = text(id.getEndpoint(), "endpoint");
    }
    return fault == null ? null : fault.in(field);
  }

  /** A set of known roles that is not empty. */
  private static @Nullable WireFault someRoles(List<Integer> numbers, String field) {
    return numbers.isEmpty()
        ? WireFault.malformed(Kind.MISSING_WORKER_ROLES, field, "none")
        : roles(numbers, field);
  }

  /** A set of known roles: first that each is known, then that none is repeated. */
  private static @Nullable WireFault roles(List<Integer> numbers, String field) {
    for (int number : numbers) {
      WireFault fault =
          enumNumber(Kind.WORKER_ROLE, field, number, WorkerRole.forNumber(number) != null);
      if (fault != null) {
        return fault;
      }
    }
    int seen = 0;
    for (int number : numbers) {
      if ((seen & 1 << number) != 0) {
        return WireFault.malformed(Kind.DUPLICATE_WORKER_ROLE, field, WorkerRole.forNumber(number));
      }
      seen |= 1 << number;
    }
    return null;
  }

  static @Nullable WireFault text(String value, String field) {
    return Text.isValid(value)
        ? null
        : WireFault.malformed(Kind.INVALID_TEXT, field, quoted(value));
  }

  static String quoted(String value) {
    return "\"" + value + "\"";
  }

  private static String oneLine(Message message) {
    return message.toString().strip().replace('\n', ' ');
  }
}
