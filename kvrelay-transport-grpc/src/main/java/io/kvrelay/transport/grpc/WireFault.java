package io.kvrelay.transport.grpc;

/**
 * What is wrong with a wire message: the first rule it breaks, in the contract's order of checks.
 * An expected outcome, so a value and not an exception.
 *
 * @param kind the broken rule
 * @param unsupported true if a newer contract may give the value a meaning (quarantine and wait for
 *     an upgrade), false if the message is malformed
 * @param field the field, from the message that was checked downwards
 * @param value the value found, for people; unsigned numbers in decimal
 */
public record WireFault(Kind kind, boolean unsupported, String field, String value) {
  /** The rules, named as the contract names its errors. */
  public enum Kind {
    /** The marker of a top-level message is not {@code KVR1}. */
    CONTRACT_MARKER,
    /** The protocol version of a response is not 1. */
    PROTOCOL_VERSION,
    /** A message field that must be set is not. */
    MISSING_FIELD,
    /** The identity version of a pool id is not 1. */
    POOL_IDENTITY_VERSION,
    /** A digest has another length than 16 bytes. */
    DIGEST_LENGTH,
    /** The source of a digest is unspecified or unknown. */
    IDENTITY_SOURCE,
    /** A layout generation is zero. */
    ZERO_LAYOUT_GENERATION,
    /** A number of the filter format is zero. */
    ZERO_FORMAT_FIELD,
    /** Format version, fingerprint width or bucket width differ from (1, 16, 4). */
    UNSUPPORTED_CKF_FORMAT,
    /** There are more than 2^24 buckets. */
    BUCKET_COUNT_TOO_LARGE,
    /** The number of buckets is not a power of two, or is 1. */
    UNSUPPORTED_BUCKET_COUNT,
    /** A text is empty or surrounded by white space. */
    INVALID_TEXT,
    /** A query block has no tokens. */
    ZERO_QUERY_BLOCK_SIZE,
    /** The query hash format is unspecified or unknown. */
    QUERY_HASH_FORMAT,
    /** A model target holds no known alternative. */
    UNSUPPORTED_MODEL_TARGET,
    /** A registration repeats an alias. */
    DUPLICATE_ALIAS,
    /** A role list that must not be empty is. */
    MISSING_WORKER_ROLES,
    /** A role is unspecified or unknown. */
    WORKER_ROLE,
    /** A role list repeats a role. */
    DUPLICATE_WORKER_ROLE,
    /** A readiness state is unknown to this version. */
    READINESS_STATE,
    /** A role other than prefill and decode is listed as duplicated. */
    UNSUPPORTED_DUPLICATE_ENDPOINT_ROLE,
    /** A topology entry has no member. */
    MISSING_TOPOLOGY_MEMBER,
    /** A member lies in another namespace than its entry. */
    NAMESPACE_MISMATCH,
    /** Two members are one endpoint. */
    DUPLICATE_TOPOLOGY_MEMBER,
    /** Two adapters of an entry have one id. */
    DUPLICATE_ADAPTER,
    /** The status of a load view is unspecified or unknown. */
    DATA_STATUS,
    /** A field of a load view is set where it must not be, or the other way round. */
    LOAD_VIEW_FIELD,
    /** Two pool entries of a serving-load window have one producer. */
    DUPLICATE_LOAD_POOL,
    /** Two model entries of a serving-load window have one key. */
    DUPLICATE_LOAD_MODEL,
    /** A model entry repeats a serving pool. */
    DUPLICATE_SERVING_POOL
  }

  static WireFault malformed(Kind kind, String field, Object value) {
    return new WireFault(kind, false, field, String.valueOf(value));
  }

  static WireFault unsupported(Kind kind, String field, Object value) {
    return new WireFault(kind, true, field, String.valueOf(value));
  }

  /** A number that is malformed when it is zero and unsupported otherwise. */
  static WireFault unlisted(Kind kind, String field, int number, String shown) {
    return new WireFault(kind, number != 0, field, shown);
  }

  static WireFault missing(String field) {
    return malformed(Kind.MISSING_FIELD, field, "unset");
  }

  /** The same fault, seen from the message that holds {@code outer}. */
  WireFault in(String outer) {
    return new WireFault(kind, unsupported, outer + "." + field, value);
  }

  /**
   * Field, value and rule in one line.
   *
   * @return text for people
   */
  public String describe() {
    return field
        + " = "
        + value
        + ": "
        + (unsupported ? "unsupported" : "malformed")
        + " ("
        + kind
        + ")";
  }
}
