package io.kvrelay.transport.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Metadata;
import io.grpc.Status;
import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class WireErrorsTest {
  private static Metadata trailer(String value) {
    Metadata trailers = new Metadata();
    trailers.put(WireErrors.REASON_TRAILER, value);
    return trailers;
  }

  @ParameterizedTest
  @CsvSource({
    "CONTRACT_MISMATCH, 1, FAILED_PRECONDITION",
    "INVALID_REQUEST, 2, INVALID_ARGUMENT",
    "UNSUPPORTED_FEATURE, 3, FAILED_PRECONDITION",
    "POOL_NOT_FOUND, 4, NOT_FOUND",
    "PRODUCER_CHANGED, 5, FAILED_PRECONDITION",
    "RESOURCE_LIMIT, 6, RESOURCE_EXHAUSTED",
    "SUBSCRIBER_LAGGED, 7, RESOURCE_EXHAUSTED",
    "SNAPSHOT_PROGRESS_TIMEOUT, 8, RESOURCE_EXHAUSTED",
    "PUBLICATION_UNAVAILABLE, 9, UNAVAILABLE",
    "INVALID_PUBLICATION, 10, FAILED_PRECONDITION",
    "INTERNAL, 11, INTERNAL"
  })
  void reasonsNamesAndCodes(RelayErrorReason reason, int number, Status.Code code) {
    String name = WireErrors.wireName(reason);
    assertThat(io.kvrelay.transport.grpc.v1.RelayErrorReason.valueOf(name).getNumber())
        .isEqualTo(number);
    assertThat(WireErrors.code(reason)).isEqualTo(code);
    assertThat(WireErrors.reason(trailer(name))).contains(reason);
    RelayException failure = WireErrors.failure(Status.fromCode(code), trailer(name));
    assertThat(failure.reason()).isEqualTo(reason);
    assertThat(failure.action()).isEqualTo(reason.action());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "RELAY_ERROR_REASON_UNSPECIFIED",
        "RELAY_ERROR_REASON_OF_THE_FUTURE",
        "PRODUCER_CHANGED",
        "relay_error_reason_producer_changed",
        "5",
        ""
      })
  void otherTrailersAreNoReason(String value) {
    assertThat(WireErrors.reason(trailer(value))).isEmpty();
    assertThat(WireErrors.reason(new Metadata())).isEmpty();
    assertThat(WireErrors.reason(null)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "FAILED_PRECONDITION, UNSPECIFIED, REFRESH_CATALOG",
    "RESOURCE_EXHAUSTED, UNSPECIFIED, RETRY_WITH_BACKOFF",
    "UNAVAILABLE, PUBLICATION_UNAVAILABLE, RETRY_WITH_BACKOFF",
    "CANCELLED, PUBLICATION_UNAVAILABLE, RETRY_WITH_BACKOFF",
    "OK, PUBLICATION_UNAVAILABLE, RETRY_WITH_BACKOFF",
    "INVALID_ARGUMENT, UNSPECIFIED, FIX_REQUEST",
    "UNIMPLEMENTED, UNSPECIFIED, STOP",
    "OUT_OF_RANGE, UNSPECIFIED, RETRY_WITH_BACKOFF",
    "UNAUTHENTICATED, UNSPECIFIED, RETRY_WITH_BACKOFF",
    "INTERNAL, UNSPECIFIED, RETRY_WITH_BACKOFF"
  })
  void withoutAReasonTheCodeDecidesAndTheTextDoesNot(
      Status.Code code, RelayErrorReason reason, RecoveryAction action) {
    Status status =
        Status.fromCode(code).withDescription("RELAY_ERROR_REASON_PRODUCER_CHANGED in the text");
    RelayException failure = WireErrors.failure(status, new Metadata());
    assertThat(failure.reason()).isEqualTo(reason);
    assertThat(failure.action()).isEqualTo(action);
  }

  @ParameterizedTest
  @EnumSource(RelayErrorReason.class)
  void aSourcesFailureBecomesAReasonThatMayTravel(RelayErrorReason reason) {
    RelayErrorReason sent = WireErrors.ofSource(new RelayException(reason, "upstream"));
    assertThat(sent.isWireReason()).isTrue();
    if (!reason.isWireReason()) {
      assertThat(sent).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    }
  }

  @Test
  void aDefectOfTheSourceIsInternal() {
    assertThat(WireErrors.ofSource(new IllegalStateException("bug")))
        .isEqualTo(RelayErrorReason.INTERNAL);
  }
}
