package io.kvrelay.cli;

import io.kvrelay.api.PublicationFrame;
import java.util.OptionalLong;

/**
 * What a frame of a pool stream is, once it has been checked.
 *
 * @param kind its kind
 * @param baseSequence the sequence it continues
 * @param sequence the sequence the pool has reached with it
 * @param chunk index of a snapshot's chunk, else 0
 * @param chunks number of a snapshot's chunks, else 0
 * @param bytes length of its payload
 * @param images bucket images: those of a delta, or the occupied buckets of a chunk
 * @param lagMicros from the sender's wall clock to this host's, so wrong by what the two differ;
 *     nothing if the sender gave no time
 */
record FrameFacts(
    PublicationFrame.Kind kind,
    long baseSequence,
    long sequence,
    int chunk,
    int chunks,
    int bytes,
    int images,
    OptionalLong lagMicros) {

  static OptionalLong lag(PublicationFrame frame, long receivedMicros) {
    return frame.sentAtMicros() == 0
        ? OptionalLong.empty()
        : OptionalLong.of(receivedMicros - frame.sentAtMicros());
  }
}
