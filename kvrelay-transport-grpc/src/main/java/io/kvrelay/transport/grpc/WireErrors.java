package io.kvrelay.transport.grpc;

import io.grpc.Metadata;
import io.grpc.Status;
import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * How errors travel: a gRPC status, and the exact reason by name in an ASCII trailer. The status
 * message is for people; nothing here reads it. Stateless, thread safe, never blocks.
 */
public final class WireErrors {
  /** The trailer that names the reason. */
  public static final Metadata.Key<String> REASON_TRAILER =
      Metadata.Key.of("kv-relay-error-reason", Metadata.ASCII_STRING_MARSHALLER);

  private static final String PREFIX = "RELAY_ERROR_REASON_";
  private static final Map<String, RelayErrorReason> BY_NAME =
      Arrays.stream(RelayErrorReason.values())
          .filter(RelayErrorReason::isWireReason)
          .collect(Collectors.toUnmodifiableMap(WireErrors::wireName, Function.identity()));

  private WireErrors() {}

  /**
   * The reason that a failed call's trailers give.
   *
   * @param trailers the trailers, or null if there were none
   * @return the reason; empty if the trailer is absent, unspecified or unknown, which all mean the
   *     same
   */
  public static Optional<RelayErrorReason> reason(@Nullable Metadata trailers) {
    String name = trailers == null ? null : trailers.get(REASON_TRAILER);
    return Optional.ofNullable(name == null ? null : BY_NAME.get(name));
  }

  /**
   * The name of a reason in the trailer.
   *
   * @param reason a reason of the wire contract
   * @return the name
   */
  public static String wireName(RelayErrorReason reason) {
    return PREFIX + reason.name();
  }

  /**
   * The status code that goes with a reason.
   *
   * @param reason a reason
   * @return the code
   */
  public static Status.Code code(RelayErrorReason reason) {
    return switch (reason) {
      case CONTRACT_MISMATCH, UNSUPPORTED_FEATURE, PRODUCER_CHANGED, INVALID_PUBLICATION ->
          Status.Code.FAILED_PRECONDITION;
      case INVALID_REQUEST -> Status.Code.INVALID_ARGUMENT;
      case POOL_NOT_FOUND -> Status.Code.NOT_FOUND;
      case RESOURCE_LIMIT, SUBSCRIBER_LAGGED, SNAPSHOT_PROGRESS_TIMEOUT ->
          Status.Code.RESOURCE_EXHAUSTED;
      case PUBLICATION_UNAVAILABLE -> Status.Code.UNAVAILABLE;
      case UNSPECIFIED,
          INTERNAL,
          PROTOCOL_VIOLATION,
          INVALID_CONFIGURATION,
          ADDRESS_UNAVAILABLE,
          NOT_READY,
          CLOSED ->
          Status.Code.INTERNAL;
    };
  }

  /** The trailers of a call that fails for a reason of the contract. */
  static Metadata trailers(RelayErrorReason reason) {
    Metadata trailers = new Metadata();
    trailers.put(REASON_TRAILER, wireName(reason));
    return trailers;
  }

  /**
   * What a source's failure is called on the wire. Reasons that only arise locally, such as a fault
   * further upstream of a relayed source, say nothing about the reader's request: the publication
   * is unavailable.
   */
  static RelayErrorReason ofSource(Throwable failure) {
    if (!(failure instanceof RelayException relayed)) {
      return RelayErrorReason.INTERNAL;
    }
    return switch (relayed.reason()) {
      case UNSUPPORTED_FEATURE,
          POOL_NOT_FOUND,
          PRODUCER_CHANGED,
          RESOURCE_LIMIT,
          SUBSCRIBER_LAGGED,
          SNAPSHOT_PROGRESS_TIMEOUT,
          PUBLICATION_UNAVAILABLE,
          INVALID_PUBLICATION,
          INTERNAL ->
          relayed.reason();
      case UNSPECIFIED,
          CONTRACT_MISMATCH,
          INVALID_REQUEST,
          PROTOCOL_VIOLATION,
          INVALID_CONFIGURATION,
          ADDRESS_UNAVAILABLE,
          NOT_READY,
          CLOSED ->
          RelayErrorReason.PUBLICATION_UNAVAILABLE;
    };
  }

  /**
   * The typed failure of a call. Without a reason, a lost connection and an end that nobody asked
   * for are an unavailable publication; any other status keeps no reason, and the action follows
   * the status code.
   *
   * @param status how the call ended
   * @param trailers its trailers, or null
   * @return the failure
   */
  public static RelayException failure(Status status, @Nullable Metadata trailers) {
    String text = text(status);
    Throwable cause = status.getCause();
    Optional<RelayErrorReason> reason = reason(trailers);
    if (reason.isPresent()) {
      return new RelayException(reason.get(), reason.get().action(), text, cause);
    }
    return switch (status.getCode()) {
      case OK, UNAVAILABLE, CANCELLED ->
          new RelayException(
              RelayErrorReason.PUBLICATION_UNAVAILABLE,
              RelayErrorReason.PUBLICATION_UNAVAILABLE.action(),
              text,
              cause);
      case FAILED_PRECONDITION, NOT_FOUND -> bare(RecoveryAction.REFRESH_CATALOG, text, cause);
      case INVALID_ARGUMENT -> bare(RecoveryAction.FIX_REQUEST, text, cause);
      case UNIMPLEMENTED -> bare(RecoveryAction.STOP, text, cause);
      // The last ones belong to a proxy in between, whose credentials may be in rotation.
      case RESOURCE_EXHAUSTED,
          UNKNOWN,
          DEADLINE_EXCEEDED,
          ALREADY_EXISTS,
          ABORTED,
          OUT_OF_RANGE,
          INTERNAL,
          DATA_LOSS,
          UNAUTHENTICATED,
          PERMISSION_DENIED ->
          bare(RecoveryAction.RETRY_WITH_BACKOFF, text, cause);
    };
  }

  private static RelayException bare(
      RecoveryAction action, String text, @Nullable Throwable cause) {
    return new RelayException(RelayErrorReason.UNSPECIFIED, action, text, cause);
  }

  private static String text(Status status) {
    if (status.isOk()) {
      return "the stream ended without being asked to";
    }
    return status.getCode()
        + (status.getDescription() == null ? "" : ": " + status.getDescription());
  }
}
