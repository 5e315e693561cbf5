package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.StorageTier;
import java.util.List;

/**
 * A count for each kind of event in each storage tier. Immutable.
 *
 * @param counts by kind, then by tier, both in declaration order
 */
public record TierCounts(List<Long> counts) {
  private static final int TIERS = StorageTier.values().length;
  static final int SIZE = KvEvent.Kind.values().length * TIERS;

  /**
   * Copies the list.
   *
   * @param counts by kind, then by tier
   * @throws IllegalArgumentException if there is not one for each pair
   */
  public TierCounts {
    counts = List.copyOf(counts);
    if (counts.size() != SIZE) {
      throw new IllegalArgumentException("counts = " + counts + ": must be " + SIZE);
    }
  }

  @SuppressWarnings("EnumOrdinal") // an index within one run, never stored or sent
  static int index(KvEvent.Kind kind, StorageTier tier) {
    return kind.ordinal() * TIERS + tier.ordinal();
  }

  /**
   * One count.
   *
   * @param kind the kind
   * @param tier the tier
   * @return events of that kind in that tier
   */
  public long of(KvEvent.Kind kind, StorageTier tier) {
    return counts.get(index(kind, tier));
  }
}
