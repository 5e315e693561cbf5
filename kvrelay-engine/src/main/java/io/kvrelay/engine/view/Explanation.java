package io.kvrelay.engine.view;

import io.kvrelay.api.QuerySemantics;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * How an answer came about.
 *
 * @param match the answer
 * @param hashes the request's hashes under each semantics that a candidate pool has
 * @param state where the view and each of its sources stand
 */
public record Explanation(PrefixMatch match, Map<QuerySemantics, Hashes> hashes, ViewState state) {
  /**
   * Copies the map.
   *
   * @param match the answer
   * @param hashes the request's hashes under each semantics that a candidate pool has
   * @param state where the view and each of its sources stand
   */
  public Explanation {
    hashes = Collections.unmodifiableMap(new LinkedHashMap<>(hashes));
  }

  /**
   * The hashes of a request, one per block. Unsigned.
   *
   * @param local local hashes
   * @param sequence sequence hashes: what the filters are asked for
   */
  public record Hashes(List<Long> local, List<Long> sequence) {
    /**
     * Copies the lists.
     *
     * @param local local hashes
     * @param sequence sequence hashes: what the filters are asked for
     */
    public Hashes {
      local = List.copyOf(local);
      sequence = List.copyOf(sequence);
    }

    static Hashes of(long[] locals) {
      return new Hashes(
          LongStream.of(locals).boxed().toList(),
          LongStream.of(SequenceHashes.chain(locals)).boxed().toList());
    }
  }
}
