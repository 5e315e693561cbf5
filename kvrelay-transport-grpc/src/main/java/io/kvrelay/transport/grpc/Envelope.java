package io.kvrelay.transport.grpc;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.transport.grpc.v1.RelayIdentity;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** How to read the envelope of one type of response. */
record Envelope<M>(
    ToIntFunction<M> marker,
    ToIntFunction<M> version,
    Predicate<M> hasRelay,
    Function<M, RelayIdentity> relay) {

  /** Marker, then version: a mismatch is a deployment skew, not to be retried. */
  void check(M message) {
    WireFault fault =
        WireValidator.envelope(marker.applyAsInt(message), version.applyAsInt(message));
    if (fault != null) {
      throw new RelayException(RelayErrorReason.CONTRACT_MISMATCH, fault.describe());
    }
  }

  /** The relay, which must be set. */
  io.kvrelay.api.RelayIdentity relayOf(M message) {
    @Nullable WireFault fault = hasRelay.test(message) ? null : WireFault.missing("relay");
    if (fault != null) {
      throw new RelayException(RelayErrorReason.PROTOCOL_VIOLATION, fault.describe());
    }
    return KvRelayWire.fromWire(relay.apply(message));
  }
}
