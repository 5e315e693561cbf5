package io.kvrelay.cli;

import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.engine.cbi1.Cbi1Decoder;
import org.jspecify.annotations.Nullable;

/**
 * One producer generation that is watched: checks that its frames are well formed and continue one
 * another, and counts them. Keeps no filter. One thread.
 */
final class WatchedPool {
  private final Cbi1Decoder decoder;
  private final ProducerIdentity producer;
  private PoolDescriptor descriptor;
  private @Nullable Tap<PublicationFrame> tap;
  private int failures;
  private boolean installed;
  private int nextChunk;
  private long sequence;
  private long deltas;
  private long images;
  private long bytes;

  WatchedPool(PoolDescriptor descriptor) {
    this.descriptor = descriptor;
    this.producer = descriptor.producer();
    this.decoder = new Cbi1Decoder(producer.format());
  }

  PoolDescriptor descriptor() {
    return descriptor;
  }

  void describe(PoolDescriptor newer) {
    descriptor = newer;
  }

  ProducerIdentity producer() {
    return producer;
  }

  /** Deltas since watching began, over all streams of this generation. */
  long deltas() {
    return deltas;
  }

  /** Bucket images of those deltas. */
  long images() {
    return images;
  }

  /** Payload bytes since watching began, snapshots included. */
  long bytes() {
    return bytes;
  }

  /** Streams that ended in a row without a complete snapshot. */
  int failures() {
    return failures;
  }

  /** A new stream: it starts over with a snapshot. */
  void open(Tap<PublicationFrame> stream) {
    tap = stream;
    installed = false;
    nextChunk = 0;
    failures++;
  }

  void close() {
    if (tap != null) {
      tap.cancel();
    }
  }

  /**
   * Takes the next frame.
   *
   * @throws RelayException if it is malformed or does not continue the last one
   */
  FrameFacts accept(PublicationFrame frame, long receivedMicros) {
    require(frame.producer().equals(producer), frame, "another producer than " + producer);
    FrameFacts facts =
        switch (frame.kind()) {
          case HEARTBEAT -> heartbeat(frame, receivedMicros);
          case SNAPSHOT_CHUNK -> chunk(frame, receivedMicros);
          case DELTA -> delta(frame, receivedMicros);
        };
    sequence = frame.sequence();
    bytes += frame.payloadBytes();
    decoder.release(); // keeps no frame alive
    return facts;
  }

  private FrameFacts heartbeat(PublicationFrame frame, long receivedMicros) {
    require(installed, frame, "a heartbeat before the snapshot is complete");
    require(frame.sequence() == sequence, frame, "a heartbeat at another sequence than " + shown());
    return facts(frame, 0, 0, 0, receivedMicros);
  }

  private FrameFacts chunk(PublicationFrame frame, long receivedMicros) {
    decode(frame);
    int chunk = decoder.chunkIndex();
    require(!installed && chunk == nextChunk, frame, "chunk " + chunk + ", not " + nextChunk);
    require(nextChunk == 0 || frame.sequence() == sequence, frame, "a chunk of another snapshot");
    nextChunk++;
    installed = nextChunk == decoder.chunkCount();
    if (installed) {
      failures = 0;
    }
    int occupied = 0;
    for (int i = 0; i < decoder.wordCount(); i++) {
      if (decoder.chunkWord(i) != 0) {
        occupied++;
      }
    }
    return facts(frame, chunk, decoder.chunkCount(), occupied, receivedMicros);
  }

  private FrameFacts delta(PublicationFrame frame, long receivedMicros) {
    decode(frame);
    boolean continues =
        installed
            && frame.baseSequence() == sequence
            && frame.sequence() == sequence + 1
            && decoder.baseEpoch() == sequence;
    require(continues, frame, "a delta that does not continue " + shown());
    deltas++;
    images += decoder.imageCount();
    return facts(frame, 0, 0, decoder.imageCount(), receivedMicros);
  }

  private void decode(PublicationFrame frame) {
    if (!decoder.decode(frame.payload())) {
      throw fault(frame, decoder.exception().getMessage());
    }
    require(decoder.kind() == frame.kind(), frame, "the payload is a " + decoder.kind());
    require(decoder.epoch() == frame.sequence(), frame, "the payload has another sequence");
    boolean ours = decoder.dcId() == producer.poolId().dcId().value();
    require(ours, frame, "the payload is of another data center");
  }

  private static FrameFacts facts(
      PublicationFrame frame, int chunk, int chunks, int images, long receivedMicros) {
    return new FrameFacts(
        frame.kind(),
        frame.baseSequence(),
        frame.sequence(),
        chunk,
        chunks,
        frame.payloadBytes(),
        images,
        FrameFacts.lag(frame, receivedMicros));
  }

  private String shown() {
    return Long.toUnsignedString(sequence);
  }

  private static void require(boolean holds, PublicationFrame frame, String fault) {
    if (!holds) {
      throw fault(frame, fault);
    }
  }

  private static RelayException fault(PublicationFrame frame, String fault) {
    return new RelayException(RelayErrorReason.PROTOCOL_VIOLATION, frame + ": " + fault);
  }
}
