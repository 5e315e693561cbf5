package io.kvrelay.cli.demo;

import io.kvrelay.engine.hash.SequenceHashes;
import io.kvrelay.engine.hash.Xxh3;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An input: its requests, and how their 512-token ids become blocks. Each id stands for {@code
 * blocksPerId} consecutive blocks, chained like the blocks of any prompt. Immutable.
 */
public final class Workload {
  private final String source;
  private final List<Request> requests;
  private final int blocksPerId;
  private final long blocks;
  private final long distinctBlocks;
  private final int longestRequest;

  /**
   * Creates an input.
   *
   * @param source what to call it in a report
   * @param requests the requests in order of time
   * @param blocksPerId a divisor of {@value Request#TOKENS_PER_ID}
   */
  Workload(String source, List<Request> requests, int blocksPerId) {
    this.source = source;
    this.requests = List.copyOf(requests);
    this.blocksPerId = blocksPerId;
    long ids = 0;
    int longest = 0;
    for (Request request : this.requests) {
      ids += request.ids().length;
      longest = Math.max(longest, request.ids().length);
    }
    this.blocks = ids * blocksPerId;
    this.longestRequest = Math.multiplyExact(longest, blocksPerId);
    // An id's blocks are distinct exactly where the chain up to the id is.
    this.distinctBlocks = distinctPrefixes(this.requests) * blocksPerId;
  }

  /**
   * Reads or makes an input.
   *
   * @param trace a trace to read, or null for the built-in workload
   * @param requests how many requests at most, or null for all of a trace and {@link
   *     BuiltInWorkload#DEFAULT_REQUESTS} of the built-in workload
   * @param blocksPerId see the class
   * @param seed seed of the built-in workload
   * @return the input
   * @throws io.kvrelay.cli.InputException if the trace cannot be used
   */
  public static Workload load(
      @Nullable Path trace, @Nullable Integer requests, int blocksPerId, long seed) {
    if (trace != null) {
      int limit = requests == null ? Integer.MAX_VALUE : requests;
      return new Workload(trace.toString(), TraceReader.read(trace, limit), blocksPerId);
    }
    int count = requests == null ? BuiltInWorkload.DEFAULT_REQUESTS : requests;
    return new Workload("built-in", BuiltInWorkload.generate(count, seed), blocksPerId);
  }

  private static long distinctPrefixes(List<Request> requests) {
    LongIntMap seen = new LongIntMap(1024);
    for (Request request : requests) {
      long prefix = 0;
      for (int i = 0; i < request.ids().length; i++) {
        long local = localHash(request.ids()[i], 0);
        prefix = i == 0 ? SequenceHashes.root(local) : SequenceHashes.child(prefix, local);
        seen.put(prefix, 1);
      }
    }
    return seen.size();
  }

  private static long localHash(long id, int part) {
    return Xxh3.UNSEEDED.hashLongs(id, part);
  }

  String source() {
    return source;
  }

  List<Request> requests() {
    return requests;
  }

  int blocksPerId() {
    return blocksPerId;
  }

  int blockTokens() {
    return Request.TOKENS_PER_ID / blocksPerId;
  }

  /** Cacheable blocks over all requests. */
  long blocks() {
    return blocks;
  }

  /** Different blocks among them. */
  long distinctBlocks() {
    return distinctBlocks;
  }

  /** Blocks of the longest request. */
  int longestRequest() {
    return longestRequest;
  }

  int blockCount(Request request) {
    return request.ids().length * blocksPerId;
  }

  /**
   * Writes a request's local hashes.
   *
   * @param request the request
   * @param out receives {@link #blockCount} hashes
   */
  void localHashes(Request request, long[] out) {
    int at = 0;
    for (long id : request.ids()) {
      for (int part = 0; part < blocksPerId; part++) {
        out[at++] = localHash(id, part);
      }
    }
  }
}
