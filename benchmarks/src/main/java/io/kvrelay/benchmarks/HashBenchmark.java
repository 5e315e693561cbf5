package io.kvrelay.benchmarks;

import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.hash.SequenceHashes;
import io.kvrelay.engine.hash.Xxh3;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import net.openhft.hashing.LongHashFunction;
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
 * The hashes of the hot paths, each next to the same hash by the library that the engine does not
 * use. Nanoseconds per chain step, per address, or per block of 16 tokens.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class HashBenchmark {
  private static final int BLOCKS = 1024;
  private static final int BLOCK_TOKENS = 16;

  private final LongHashFunction library = LongHashFunction.xx3(SequenceHashes.CHAIN_SEED);
  private final Xxh3 own = Xxh3.withSeed(SequenceHashes.CHAIN_SEED);
  private final BlockHasher hasher =
      new BlockHasher(BLOCK_TOKENS, QueryHashFormat.DYNAMO_STANDARD_V1);
  private final int[] tokens = new int[BLOCKS * BLOCK_TOKENS];
  private final long[] hashes = new long[BLOCKS];
  private final long[] out = new long[BLOCKS];
  private final long[] pair = new long[2];

  /** Draws tokens and hashes. */
  @Setup
  public void fill() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = random.nextInt(150_000);
    }
    for (int i = 0; i < BLOCKS; i++) {
      hashes[i] = random.nextLong();
    }
  }

  /** Sequence hashes; each waits for the one before. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public long[] chain() {
    SequenceHashes.chain(hashes, 0, BLOCKS, out, 0);
    return out;
  }

  /** The same by the library. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public long[] chainByLibrary() {
    out[0] = hashes[0];
    for (int i = 1; i < BLOCKS; i++) {
      pair[0] = out[i - 1];
      pair[1] = hashes[i];
      out[i] = library.hashLongs(pair);
    }
    return out;
  }

  /** Hashes of 8 bytes, as filter addressing takes them. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public long[] address() {
    for (int i = 0; i < BLOCKS; i++) {
      out[i] = own.hashLong(hashes[i]);
    }
    return out;
  }

  /** The same by the library. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public long[] addressByLibrary() {
    for (int i = 0; i < BLOCKS; i++) {
      out[i] = library.hashLong(hashes[i]);
    }
    return out;
  }

  /** Local hashes of a prompt of 16384 tokens. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public int locals() {
    return hasher.localHashes(tokens, 0, tokens.length, BlockSalt.NONE, out, 0);
  }

  /** The same by the library. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public long[] localsByLibrary() {
    for (int i = 0; i < BLOCKS; i++) {
      out[i] = library.hashInts(tokens, i * BLOCK_TOKENS, BLOCK_TOKENS);
    }
    return out;
  }

  /** From tokens to sequence hashes. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public int tokensToSequence() {
    return hasher.sequenceHashes(tokens, 0, tokens.length, BlockSalt.NONE, out, 0);
  }
}
