package io.kvrelay.engine.publication;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.pool.PoolDelta;
import java.nio.ByteBuffer;

/** The real encoding, until a test wants it to fail. */
final class FaultyEncoder {
  RuntimeException deltaFault;
  RuntimeException chunkFault;
  int deltas;
  int chunks;

  FrameEncoder encoderOf(ProducerIdentity producer) {
    FrameEncoder real = FrameEncoder.cbi1(producer);
    return new FrameEncoder() {
      @Override
      public ByteBuffer delta(PoolDelta delta) {
        deltas++;
        if (deltaFault != null) {
          throw deltaFault;
        }
        return real.delta(delta);
      }

      @Override
      public ByteBuffer snapshotChunk(long sequence, long[] words, int chunk) {
        chunks++;
        if (chunkFault != null) {
          throw chunkFault;
        }
        return real.snapshotChunk(sequence, words, chunk);
      }
    };
  }
}
