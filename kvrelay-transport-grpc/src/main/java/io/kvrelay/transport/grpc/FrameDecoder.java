package io.kvrelay.transport.grpc;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import io.kvrelay.transport.grpc.v1.FilterUpdateKind;

/**
 * Messages of one subscription into frames. Payloads are shared, not copied, and not looked into:
 * decoding CBI1 and keeping the sequence is the consumer's business.
 */
final class FrameDecoder {
  private final ProducerIdentity expected;
  private final io.kvrelay.transport.grpc.v1.ProducerIdentity usualForm;

  FrameDecoder(ProducerIdentity expected) {
    this.expected = expected;
    this.usualForm = KvRelayWire.toWire(expected);
  }

  void checkProducer(FilterUpdate update) {
    if (!update.hasProducer()) {
      throw violation(WireFault.missing("producer").describe());
    }
    io.kvrelay.transport.grpc.v1.ProducerIdentity producer = update.getProducer();
    if (producer.equals(usualForm)) {
      return;
    }
    // Still the same key if only fields of a newer version are added.
    WireFault fault = WireValidator.producer(producer);
    if (fault != null) {
      throw violation(fault.in("producer").describe());
    }
    ProducerIdentity found = KvRelayWire.fromWire(producer);
    if (!found.equals(expected)) {
      throw violation("producer = " + found + ": subscribed to " + expected);
    }
  }

  PublicationFrame frame(FilterUpdate update) {
    long base = update.getBaseSequence();
    long sequence = update.getSequence();
    PublicationFrame.Kind kind =
        switch (update.getKindValue()) {
          case FilterUpdateKind.FILTER_UPDATE_KIND_SNAPSHOT_CHUNK_VALUE ->
              PublicationFrame.Kind.SNAPSHOT_CHUNK;
          case FilterUpdateKind.FILTER_UPDATE_KIND_DELTA_VALUE -> PublicationFrame.Kind.DELTA;
          case FilterUpdateKind.FILTER_UPDATE_KIND_HEARTBEAT_VALUE ->
              PublicationFrame.Kind.HEARTBEAT;
          default -> throw violation("kind = " + update.getKindValue() + ": not a known frame");
        };
    long expectedBase = kind == PublicationFrame.Kind.DELTA ? sequence - 1 : sequence;
    if (base != expectedBase || (kind == PublicationFrame.Kind.DELTA && sequence == 0)) {
      throw violation(
          "base_sequence = "
              + Long.toUnsignedString(base)
              + ": not the base of a "
              + kind
              + " at "
              + Long.toUnsignedString(sequence));
    }
    if (kind == PublicationFrame.Kind.HEARTBEAT && !update.getPayload().isEmpty()) {
      throw violation("payload = " + update.getPayload().size() + " bytes: in a heartbeat");
    }
    return new PublicationFrame(
        expected,
        kind,
        base,
        sequence,
        update.getPayload().asReadOnlyByteBuffer(),
        update.getSendTsUs());
  }

  private static RelayException violation(String text) {
    return new RelayException(RelayErrorReason.PROTOCOL_VIOLATION, text);
  }
}
