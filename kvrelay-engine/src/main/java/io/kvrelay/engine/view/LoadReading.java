package io.kvrelay.engine.view;

import io.kvrelay.api.PoolLoad;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * What a view knows about a pool's load. Unknown is not zero: without {@link Coverage#FULL} there
 * are no numbers.
 *
 * @param coverage how far the numbers may be trusted
 * @param used used blocks over all ranks (unsigned; all ones is a saturated sum); 0 if not known
 * @param total capacity in blocks over all ranks (unsigned); 0 if not known
 * @param observedRanks ranks that have reported (unsigned)
 * @param expectedRanks declared ranks (unsigned)
 */
public record LoadReading(
    Coverage coverage, long used, long total, int observedRanks, int expectedRanks) {
  /** How far a reading may be trusted. */
  public enum Coverage {
    /** Every declared rank has reported its usage and a capacity. */
    FULL,
    /** Some rank has not reported its usage or its capacity. */
    PARTIAL,
    /** The current window has no usable entry for this generation of the pool. */
    NOT_REPORTED,
    /** The window is older than the configured age. */
    STALE,
    /** There is no current window: its stream is down or has not delivered yet. */
    DISCONNECTED
  }

  /** No entry in the current window. */
  public static final LoadReading NOT_REPORTED = new LoadReading(Coverage.NOT_REPORTED, 0, 0, 0, 0);

  /** The window is too old. */
  public static final LoadReading STALE = new LoadReading(Coverage.STALE, 0, 0, 0, 0);

  /** There is no window. */
  public static final LoadReading DISCONNECTED = new LoadReading(Coverage.DISCONNECTED, 0, 0, 0, 0);

  /**
   * Reads one entry of a window.
   *
   * @param load the entry
   * @return full coverage with numbers, or partial coverage without
   */
  public static LoadReading of(PoolLoad load) {
    boolean full =
        load.isAuthoritative() && !load.isDegraded() && load.totalKvBlocks().orElse(0) != 0;
    return full
        ? new LoadReading(
            Coverage.FULL,
            load.kvUsedBlocks().orElseThrow(),
            load.totalKvBlocks().orElseThrow(),
            load.kvObservedRanks(),
            load.kvExpectedRanks())
        : new LoadReading(Coverage.PARTIAL, 0, 0, load.kvObservedRanks(), load.kvExpectedRanks());
  }

  /**
   * Whether there are numbers.
   *
   * @return true with full coverage
   */
  public boolean isKnown() {
    return coverage == Coverage.FULL;
  }

  /**
   * Used blocks.
   *
   * @return unsigned blocks, or nothing if not known
   */
  public OptionalLong usedBlocks() {
    return isKnown() ? OptionalLong.of(used) : OptionalLong.empty();
  }

  /**
   * Capacity.
   *
   * @return unsigned blocks, or nothing if not known
   */
  public OptionalLong totalBlocks() {
    return isKnown() ? OptionalLong.of(total) : OptionalLong.empty();
  }

  /**
   * Occupied share of the capacity.
   *
   * @return used / total, at most 1, or nothing if not known
   */
  public OptionalDouble usedFraction() {
    return isKnown() ? OptionalDouble.of(fraction()) : OptionalDouble.empty();
  }

  /** The same without a box; NaN if not known. */
  double fraction() {
    return isKnown() ? Math.min(1.0, unsigned(used) / unsigned(total)) : Double.NaN;
  }

  private static double unsigned(long value) {
    // Halving keeps the top bit out of the sign; the lost bit is below a double's precision there.
    return value >= 0 ? value : 2.0 * (value >>> 1);
  }

  /** Coverage, and the numbers if they are known. */
  @Override
  public String toString() {
    String ranks =
        Integer.toUnsignedString(observedRanks)
            + "/"
            + Integer.toUnsignedString(expectedRanks)
            + " ranks";
    return switch (coverage) {
      case FULL ->
          Long.toUnsignedString(used) + "/" + Long.toUnsignedString(total) + " blocks, " + ranks;
      case PARTIAL -> "unknown (" + ranks + ")";
      case NOT_REPORTED -> "unknown (not reported)";
      case STALE -> "unknown (stale)";
      case DISCONNECTED -> "unknown (no load window)";
    };
  }
}
