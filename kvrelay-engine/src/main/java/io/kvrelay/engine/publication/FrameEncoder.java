package io.kvrelay.engine.publication;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.cbi1.Cbi1Encoder;
import io.kvrelay.engine.pool.PoolDelta;
import java.nio.ByteBuffer;

/** Makes the payloads of one generation. Stateless and thread safe; a test replaces it to fail. */
interface FrameEncoder {
  ByteBuffer delta(PoolDelta delta);

  ByteBuffer snapshotChunk(long sequence, long[] words, int chunk);

  /** Makes one encoder per generation. */
  interface Factory {
    FrameEncoder of(ProducerIdentity producer);
  }

  /** The wire's encoding. */
  static FrameEncoder cbi1(ProducerIdentity producer) {
    Cbi1Encoder encoder = new Cbi1Encoder(producer.format(), producer.poolId().dcId().value());
    return new FrameEncoder() {
      @Override
      public ByteBuffer delta(PoolDelta delta) {
        return encoder.delta(
            delta.sequence(),
            delta.baseSequence(),
            delta.buckets(),
            delta.words(),
            delta.buckets().length);
      }

      @Override
      public ByteBuffer snapshotChunk(long sequence, long[] words, int chunk) {
        return encoder.snapshotChunk(sequence, words, chunk);
      }
    };
  }
}
