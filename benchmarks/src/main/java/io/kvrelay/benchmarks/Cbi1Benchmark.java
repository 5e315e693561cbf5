package io.kvrelay.benchmarks;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.cbi1.Cbi1;
import io.kvrelay.engine.cbi1.Cbi1Decoder;
import io.kvrelay.engine.cbi1.Cbi1Encoder;
import io.kvrelay.engine.cbi1.SnapshotAssembly;
import io.kvrelay.engine.hash.Xxh3;
import io.kvrelay.engine.hash.Xxh3Scratch;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A snapshot chunk of 4 MiB and a delta, encoded and decoded, against the two costs that no codec
 * of this layout can avoid: moving the bytes and hashing them. All figures are bytes per
 * nanosecond, that is GB/s.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class Cbi1Benchmark {
  private static final int BUCKETS = Cbi1.CHUNK_BUCKETS;
  private static final int CHUNK_BYTES = BUCKETS * Long.BYTES;
  private static final int IMAGES = 4096;
  private static final int DELTA_BYTES = IMAGES * Cbi1.IMAGE_BYTES;

  private final CkfFormat format = new CkfFormat(CkfFormat.DEFAULT_SEED, BUCKETS);
  private final Cbi1Encoder encoder = new Cbi1Encoder(format, 7);
  private final Cbi1Decoder decoder = new Cbi1Decoder(format);
  private final SnapshotAssembly assembly = new SnapshotAssembly(format);
  private final Xxh3Scratch scratch = new Xxh3Scratch();
  private final long[] words = new long[BUCKETS];
  private final long[] target = new long[BUCKETS];
  private final int[] imageBuckets = new int[IMAGES];
  private final long[] imageWords = new long[IMAGES];
  private ByteBuffer chunk = ByteBuffer.allocate(0);
  private ByteBuffer delta = ByteBuffer.allocate(0);

  /** Fills a filter and encodes the frames to decode. */
  @Setup
  public void fill() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < BUCKETS; i++) {
      words[i] = random.nextLong();
    }
    for (int i = 0; i < IMAGES; i++) {
      imageBuckets[i] = random.nextInt(BUCKETS);
      imageWords[i] = random.nextLong();
    }
    chunk = encoder.snapshotChunk(1, words, 0);
    delta = encoder.delta(2, 1, imageBuckets, imageWords, IMAGES);
  }

  /** Yardstick: the bytes moved once. */
  @Benchmark
  @OperationsPerInvocation(CHUNK_BYTES)
  public long[] chunkCopy() {
    System.arraycopy(words, 0, target, 0, BUCKETS);
    return target;
  }

  /** Yardstick: the bytes hashed once. */
  @Benchmark
  @OperationsPerInvocation(CHUNK_BYTES)
  public long chunkChecksum() {
    return Xxh3.UNSEEDED.hash(chunk, Cbi1.HEADER_BYTES, CHUNK_BYTES, scratch);
  }

  /** A new frame: memory, copy and checksum. */
  @Benchmark
  @OperationsPerInvocation(CHUNK_BYTES)
  public ByteBuffer chunkEncode() {
    return encoder.snapshotChunk(1, words, 0);
  }

  /** Checks and copies into an assembly. */
  @Benchmark
  @OperationsPerInvocation(CHUNK_BYTES)
  public SnapshotAssembly.Result chunkDecode() {
    decoder.decodeOrThrow(chunk);
    return assembly.absorb(decoder);
  }

  /** Yardstick: the bytes hashed once. */
  @Benchmark
  @OperationsPerInvocation(DELTA_BYTES)
  public long deltaChecksum() {
    return Xxh3.UNSEEDED.hash(delta, Cbi1.HEADER_BYTES, DELTA_BYTES, scratch);
  }

  /** A new frame of 4096 images. */
  @Benchmark
  @OperationsPerInvocation(DELTA_BYTES)
  public ByteBuffer deltaEncode() {
    return encoder.delta(2, 1, imageBuckets, imageWords, IMAGES);
  }

  /** Checks and reads every image. */
  @Benchmark
  @OperationsPerInvocation(DELTA_BYTES)
  public int deltaDecode() {
    decoder.decodeOrThrow(delta);
    return decoder.copyImages(imageBuckets, imageWords);
  }
}
