package io.kvrelay.cli;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The depth that every implementation of the contract can agree on. Where hits follow a miss the
 * contract leaves a view some freedom, and its own search uses it; a tool whose answers are
 * compared between implementations probes in the one order that the contract describes as its
 * reference. Where no hit follows a miss, all orders find the same depth.
 */
final class CommonDepth {
  private CommonDepth() {}

  /**
   * Searches a filter.
   *
   * @param words the filter
   * @param format its format
   * @param names sequence hashes of the prompt's blocks
   * @param window how many positions below a found depth are verified
   * @return the depth in blocks
   */
  static int of(long[] words, CkfFormat format, List<Long> names, int window) {
    CkfAddressing addressing = new CkfAddressing(format);
    return of(names.size(), window, i -> contains(words, addressing, names.get(i)));
  }

  private static boolean contains(long[] words, CkfAddressing addressing, long name) {
    long mix = addressing.mix(name);
    int fingerprint = CkfAddressing.fingerprint(mix);
    return CkfBuckets.contains(words[addressing.bucketA(mix)], fingerprint)
        || CkfBuckets.contains(words[addressing.bucketB(mix)], fingerprint);
  }

  /**
   * Searches a row of hits and misses: doubles the position until a miss, halves what is left, then
   * verifies the positions just below; if the lowest of them is the first miss, what lies below is
   * scanned from the last hit but one.
   *
   * @param length positions
   * @param window positions to verify
   * @param present whether a position is a hit
   * @return the depth
   */
  static int of(int length, int window, IntPredicate present) {
    if (length == 0 || !present.test(0)) {
      return 0;
    }
    int below = 0; // the hit before the highest known one
    int hit = 0;
    int miss = length;
    for (long next = 1; next < length; next *= 2) {
      int position = (int) next;
      if (!present.test(position)) {
        miss = position;
        break;
      }
      below = hit;
      hit = position;
    }
    while (miss - hit > 1) {
      int middle = hit + (miss - hit) / 2;
      if (present.test(middle)) {
        below = hit;
        hit = middle;
      } else {
        miss = middle;
      }
    }
    int start = Math.max(0, miss - window);
    int found = firstMiss(start, miss, present);
    if (found == start && found < miss) {
      return firstMiss(below + 1, start, present);
    }
    return found;
  }

  /**
   * The first miss in a range; its end if there is none. An empty range may begin above its end.
   */
  private static int firstMiss(int from, int to, IntPredicate present) {
    for (int i = from; i < to; i++) {
      if (!present.test(i)) {
        return i;
      }
    }
    return to;
  }
}
