package io.kvrelay.api;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * One frame of a pool stream. Immutable; one instance is shared by reference between all
 * subscribers, and its payload is never copied on the way.
 */
public final class PublicationFrame {
  /** What a frame is. Open: treat an unlisted kind as a fault of the stream. */
  public enum Kind {
    /** A part of the initial full image. */
    SNAPSHOT_CHUNK,
    /** Absolute images of changed buckets. */
    DELTA,
    /** A sign of life of a transport; has no payload and does not advance the sequence. */
    HEARTBEAT
  }

  /** What a frame counts in a byte-bounded queue beyond its payload. */
  public static final int QUEUE_OVERHEAD_BYTES = 256;

  private static final int COPY_BYTES = 16 << 10;
  private static final ByteBuffer NO_PAYLOAD = ByteBuffer.allocate(0).asReadOnlyBuffer();

  private final ProducerIdentity producer;
  private final long baseSequence;
  private final long sequence;
  private final Kind kind;
  private final ByteBuffer payload;
  private final long sentAtMicros;

  /**
   * Creates a frame.
   *
   * @param producer the producer
   * @param kind the kind
   * @param baseSequence the sequence the receiver must have reached
   * @param sequence the sequence the receiver has reached afterwards
   * @param payload the CBI1 bytes from position to limit; handed over, not copied: never change
   *     them afterwards
   * @param sentAtMicros the sender's wall clock in microseconds, metadata only; 0 if unknown
   */
  public PublicationFrame(
      ProducerIdentity producer,
      Kind kind,
      long baseSequence,
      long sequence,
      ByteBuffer payload,
      long sentAtMicros) {
    this.producer = producer;
    this.kind = kind;
    this.baseSequence = baseSequence;
    this.sequence = sequence;
    // Kept as it came so that a backing array can be written out directly; nobody else sees it.
    this.payload = payload.slice();
    this.sentAtMicros = sentAtMicros;
  }

  /**
   * A heartbeat at a sequence.
   *
   * @param producer the producer
   * @param sequence the last delivered sequence
   * @param sentAtMicros the sender's wall clock in microseconds; 0 if unknown
   * @return the frame
   */
  public static PublicationFrame heartbeat(
      ProducerIdentity producer, long sequence, long sentAtMicros) {
    return new PublicationFrame(
        producer, Kind.HEARTBEAT, sequence, sequence, NO_PAYLOAD, sentAtMicros);
  }

  /**
   * The generation that produced the frame.
   *
   * @return the producer
   */
  public ProducerIdentity producer() {
    return producer;
  }

  /**
   * The kind.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * The sequence the receiver must have reached; equals {@link #sequence()} except for a delta.
   *
   * @return the unsigned sequence
   */
  public long baseSequence() {
    return baseSequence;
  }

  /**
   * The sequence the receiver has reached once the frame is applied.
   *
   * @return the unsigned sequence
   */
  public long sequence() {
    return sequence;
  }

  /**
   * A view of the payload: read-only, little-endian, position 0. Each call returns a view of its
   * own; the bytes are shared.
   *
   * @return the view
   */
  public ByteBuffer payload() {
    return payload.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Writes the payload to a stream, from the shared bytes themselves where they lie in an array.
   * The stream must not keep or change the arrays it is handed.
   *
   * @param out where to
   * @throws IOException if the stream does
   */
  public void writePayloadTo(OutputStream out) throws IOException {
    if (payload.hasArray()) {
      out.write(payload.array(), payload.arrayOffset(), payload.limit());
      return;
    }
    ByteBuffer view = payload.duplicate();
    byte[] part = new byte[Math.min(view.remaining(), COPY_BYTES)];
    while (view.hasRemaining()) {
      int length = Math.min(view.remaining(), part.length);
      view.get(part, 0, length);
      out.write(part, 0, length);
    }
  }

  /**
   * Length of the payload.
   *
   * @return bytes
   */
  public int payloadBytes() {
    return payload.limit();
  }

  /**
   * What the frame counts in a byte-bounded queue.
   *
   * @return bytes, saturating
   */
  public int queueBytes() {
    return Math.min(payloadBytes(), Integer.MAX_VALUE - QUEUE_OVERHEAD_BYTES)
        + QUEUE_OVERHEAD_BYTES;
  }

  /**
   * The sender's wall clock in microseconds. Metadata: freshness uses the local receive time only.
   *
   * @return microseconds since the epoch, 0 if unknown
   */
  public long sentAtMicros() {
    return sentAtMicros;
  }

  @Override
  public String toString() {
    return kind
        + "{"
        + Long.toUnsignedString(baseSequence)
        + "->"
        + Long.toUnsignedString(sequence)
        + ", "
        + payloadBytes()
        + " bytes, "
        + producer
        + "}";
  }
}
