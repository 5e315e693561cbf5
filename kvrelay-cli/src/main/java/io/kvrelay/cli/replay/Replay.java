package io.kvrelay.cli.replay;

import io.kvrelay.api.KvEvent;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.hash.Xxh3;
import io.kvrelay.engine.pool.BucketImages;
import io.kvrelay.engine.pool.EventOutcome;
import io.kvrelay.engine.pool.PoolState;
import io.kvrelay.engine.pool.PoolStatistics;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Feeds events to a new pool, on one thread and without timers, as if a lease had been attached
 * before the first one, and flushes at the end.
 */
public final class Replay {
  private Replay() {}

  /**
   * What came of it.
   *
   * @param nanos time of applying all events and the last flush; hashing included, decoding not
   * @param images images of all publications
   * @param statistics the pool's numbers at the end
   * @param words the filter at the end
   */
  @SuppressWarnings("ArrayRecordComponent") // a result, never compared
  public record Result(long nanos, long images, PoolStatistics statistics, long[] words) {
    /**
     * The words as bytes, little-endian, bucket 0 first.
     *
     * @return a new array
     */
    public byte[] wordBytes() {
      byte[] bytes = new byte[8 * words.length];
      ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().put(words);
      return bytes;
    }

    /**
     * XXH3-64 of {@link #wordBytes()}.
     *
     * @return 16 lower-case hex digits
     */
    public String wordsXxh3() {
      byte[] bytes = wordBytes();
      return String.format("%016x", Xxh3.UNSEEDED.hashBytes(bytes, 0, bytes.length));
    }

    /**
     * Seconds of {@link #nanos}.
     *
     * @return seconds
     */
    public double seconds() {
      return nanos / 1e9;
    }
  }

  /**
   * Blocks stored and removed by all events, ignored ones included.
   *
   * @param events the events
   * @return the number
   */
  public static long blockOperations(List<KvEvent> events) {
    return events.stream().mapToLong(KvEvent::length).sum();
  }

  /**
   * Runs the events once.
   *
   * @param events the events
   * @param config the filter
   * @param flushEvery primary events that close a publication window
   * @return what came of it
   */
  public static Result run(List<KvEvent> events, CkfConfig config, int flushEvery) {
    PoolState pool = new PoolState(config, flushEvery);
    pool.startMaterializing();
    long images = 0;
    long start = System.nanoTime();
    for (KvEvent event : events) {
      EventOutcome outcome = pool.apply(event);
      images += count(outcome.publication());
    }
    images += count(pool.drain());
    long nanos = System.nanoTime() - start;
    return new Result(nanos, images, pool.statistics(), pool.copyWords());
  }

  private static int count(@Nullable BucketImages publication) {
    return publication == null ? 0 : publication.count();
  }
}
