package io.kvrelay.engine.view;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The filters of all lanes, transposed: a row holds one bucket of every lane, side by side, so that
 * one probe answers for all lanes at once. A row is as wide as the lanes need, rounded up to a
 * power of two: four lanes make a row of half a cache line.
 *
 * <p>Word index = {@value #FIRST_ROW} + bucket * width + lane. The largest table, 2^24 buckets of
 * 64 lanes, has 2^30 words, so one array always suffices. The first row starts six words into the
 * array: an array of that size is an object of its own at the start of a heap region, its elements
 * start 16 bytes later, and 6 more words bring rows of 8 lanes and more onto cache line boundaries.
 *
 * <pre>
 * field   mode    guarded by
 * words   opaque  reads by anyone; a column is written by its lane's owner only. Visibility of a
 *                 whole snapshot comes from the ready mask (release, acquire), not from here
 * </pre>
 */
final class TransposedTable {
  static final int FIRST_ROW = 6;

  /** Words of a slice of the table that stays in a core's own cache while its lanes are stored. */
  private static final int SLICE_WORDS = 1 << 13;

  private static final VarHandle WORDS = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] words;
  private final int buckets;
  private final int widthShift;

  /**
   * Creates a table of empty buckets.
   *
   * @param buckets a power of two
   * @param lanes 1..64
   * @throws LaneException if there is no memory for it
   */
  TransposedTable(int buckets, int lanes) {
    this.buckets = buckets;
    this.widthShift = 32 - Integer.numberOfLeadingZeros(lanes - 1);
    long wanted = FIRST_ROW + ((long) buckets << widthShift);
    try {
      this.words = new long[Math.toIntExact(wanted)];
    } catch (OutOfMemoryError e) {
      throw new LaneException(
          LaneError.ALLOCATION_FAILED, "table = " + wanted * Long.BYTES + " bytes: no memory");
    }
  }

  int buckets() {
    return buckets;
  }

  /** Words of a row. */
  int width() {
    return 1 << widthShift;
  }

  long bytes() {
    return (long) words.length * Long.BYTES;
  }

  /** Index of a bucket's row. */
  int row(int bucket) {
    return FIRST_ROW + (bucket << widthShift);
  }

  long get(int bucket, int lane) {
    return word(words, row(bucket) + lane);
  }

  void set(int bucket, int lane, long word) {
    WORDS.setOpaque(words, row(bucket) + lane, word);
  }

  /**
   * All words, for {@link #word} and for touching. A loop over rows keeps the array in a variable:
   * an opaque read makes the compiler load fields again.
   */
  long[] words() {
    return words;
  }

  /** The word at an index of {@link #words}. */
  static long word(long[] words, int index) {
    return (long) WORDS.getOpaque(words, index);
  }

  /**
   * Stores a whole lane. Every word lies in a line of its own. Nothing is loaded ahead: processors
   * ask for the lines of waiting stores by themselves, and a load ahead of each store more than
   * halved the rate where it was tried.
   *
   * @param column one word for each bucket
   */
  void storeColumn(int lane, long[] column) {
    storeOne(lane, column, 0, buckets);
  }

  /**
   * Stores whole lanes. A lane alone moves eight times its size from memory and as much back; lanes
   * that come together share their lines, slice by slice, four at a time.
   *
   * @param lanes different lanes
   * @param columns for each of them one word for each bucket
   * @param count how many of both count
   */
  void storeColumns(int[] lanes, long[][] columns, int count) {
    if (count == 1) {
      storeColumn(lanes[0], columns[0]);
      return;
    }
    int slice = SLICE_WORDS >> widthShift;
    for (int from = 0; from < buckets; from += slice) {
      int to = Math.min(buckets, from + slice);
      int i = 0;
      for (; i + 4 <= count; i += 4) {
        storeFour(lanes, columns, i, from, to);
      }
      for (; i < count; i++) {
        storeOne(lanes[i], columns[i], from, to);
      }
    }
  }

  private void storeOne(int lane, long[] column, int from, int to) {
    long[] table = words;
    int step = 1 << widthShift;
    int index = row(from) + lane;
    for (int i = from; i < to; i++, index += step) {
      WORDS.setOpaque(table, index, column[i]);
    }
  }

  private void storeFour(int[] lanes, long[][] columns, int first, int from, int to) {
    long[] table = words;
    int lane = lanes[first];
    int second = lanes[first + 1] - lane;
    int third = lanes[first + 2] - lane;
    int fourth = lanes[first + 3] - lane;
    long[] a = columns[first];
    long[] b = columns[first + 1];
    long[] c = columns[first + 2];
    long[] d = columns[first + 3];
    int step = 1 << widthShift;
    int index = row(from) + lane;
    for (int i = from; i < to; i++, index += step) {
      WORDS.setOpaque(table, index, a[i]);
      WORDS.setOpaque(table, index + second, b[i]);
      WORDS.setOpaque(table, index + third, c[i]);
      WORDS.setOpaque(table, index + fourth, d[i]);
    }
  }

  /**
   * Stores single words of a lane, in list order.
   *
   * @param count how many of {@code buckets} and {@code images} count; all buckets are in range
   */
  void storeImages(int lane, int[] buckets, long[] images, int count) {
    long[] table = words;
    int base = FIRST_ROW + lane;
    int shift = widthShift;
    for (int i = 0; i < count; i++) {
      WORDS.setOpaque(table, base + (buckets[i] << shift), images[i]);
    }
  }

  /** Copies a whole lane out. */
  long[] copyColumn(int lane) {
    long[] column = new long[buckets];
    for (int bucket = 0; bucket < buckets; bucket++) {
      column[bucket] = get(bucket, lane);
    }
    return column;
  }
}
