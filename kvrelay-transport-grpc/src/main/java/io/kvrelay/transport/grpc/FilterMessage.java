package io.kvrelay.transport.grpc;

import com.google.protobuf.CodedOutputStream;
import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.jspecify.annotations.Nullable;

/**
 * One {@code FilterUpdate} on its way out, written field by field in ascending order: the same
 * bytes as the generated message's, without building one. The identities are encoded once a stream,
 * the payload goes from the frame's own array into the transport's buffers.
 */
final class FilterMessage {
  private static final int MAX_VARINTS = 4 * 11 + 6;
  private static final byte[] MARKER = marker();

  private final byte[] identities;
  private final byte[] numbers;
  private final PublicationFrame frame;

  private FilterMessage(byte[] identities, byte[] numbers, PublicationFrame frame) {
    this.identities = identities;
    this.numbers = numbers;
    this.frame = frame;
  }

  private static byte[] marker() {
    return FilterUpdate.newBuilder()
        .setContractMarker(KvRelayWire.CONTRACT_MARKER)
        .build()
        .toByteArray();
  }

  /** Fields 1 to 3, the same in every message of a stream. */
  static byte[] identities(RelayIdentity relay, ProducerIdentity producer) {
    return FilterUpdate.newBuilder()
        .setProtocolVersion(KvRelayWire.PROTOCOL_VERSION)
        .setRelay(KvRelayWire.toWire(relay))
        .setProducer(KvRelayWire.toWire(producer))
        .build()
        .toByteArray();
  }

  static FilterMessage of(byte[] identities, PublicationFrame frame, long sentAtMicros) {
    return new FilterMessage(identities, numbers(frame, sentAtMicros), frame);
  }

  private static byte[] numbers(PublicationFrame frame, long sentAtMicros) {
    byte[] scratch = new byte[MAX_VARINTS];
    CodedOutputStream out = CodedOutputStream.newInstance(scratch);
    try {
      number(out, FilterUpdate.BASE_SEQUENCE_FIELD_NUMBER, frame.baseSequence());
      number(out, FilterUpdate.SEQUENCE_FIELD_NUMBER, frame.sequence());
      number(out, FilterUpdate.SEND_TS_US_FIELD_NUMBER, sentAtMicros);
      out.writeEnum(FilterUpdate.KIND_FIELD_NUMBER, KvRelayWire.kind(frame.kind()).getNumber());
      if (frame.payloadBytes() != 0) {
        out.writeTag(FilterUpdate.PAYLOAD_FIELD_NUMBER, 2); // length-delimited
        out.writeUInt32NoTag(frame.payloadBytes());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e); // an array does not fail
    }
    return java.util.Arrays.copyOf(scratch, out.getTotalBytesWritten());
  }

  private static void number(CodedOutputStream out, int field, long value) throws IOException {
    if (value != 0) {
      out.writeUInt64(field, value);
    }
  }

  int bytes() {
    return identities.length + numbers.length + frame.payloadBytes() + MARKER.length;
  }

  private void writeTo(OutputStream out) throws IOException {
    out.write(identities);
    out.write(numbers);
    frame.writePayloadTo(out);
    out.write(MARKER);
  }

  /** What gRPC's framer takes. A transport that reads instead of draining gets a copy. */
  static final class Bytes extends InputStream implements Drainable, KnownLength {
    private final FilterMessage message;
    private @Nullable InputStream copy;
    private boolean drained;

    Bytes(FilterMessage message) {
      this.message = message;
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      if (copy != null) {
        return Math.toIntExact(copy.transferTo(target));
      }
      if (drained) {
        return 0;
      }
      drained = true;
      message.writeTo(target);
      return message.bytes();
    }

    @Override
    public int available() throws IOException {
      if (copy != null) {
        return copy.available();
      }
      return drained ? 0 : message.bytes();
    }

    @Override
    public int read() throws IOException {
      return copy().read();
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
      return copy().read(target, offset, length);
    }

    private InputStream copy() throws IOException {
      InputStream existing = copy;
      if (existing != null) {
        return existing;
      }
      ByteArrayOutputStream bytes = new ByteArrayOutputStream(message.bytes());
      if (!drained) {
        message.writeTo(bytes);
      }
      InputStream made = new ByteArrayInputStream(bytes.toByteArray());
      copy = made;
      return made;
    }
  }
}
