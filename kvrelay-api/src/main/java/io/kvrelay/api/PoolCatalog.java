package io.kvrelay.api;

import java.util.List;

/**
 * All live pools of a relay at one revision. Complete: what is absent has been withdrawn.
 *
 * @param revision grows with each change (unsigned); may skip numbers; 0 is the empty initial
 *     catalog
 * @param pools usable pools
 * @param quarantined entries that were received but must not be used; always empty at the relay
 *     itself
 */
public record PoolCatalog(
    long revision, List<PoolDescriptor> pools, List<QuarantinedEntry> quarantined) {
  /** The catalog of a relay that has no pool yet. */
  public static final PoolCatalog EMPTY = new PoolCatalog(0, List.of());

  /**
   * Copies the lists.
   *
   * @param revision grows with each change (unsigned); may skip numbers; 0 is the empty initial
   *     catalog
   * @param pools usable pools
   * @param quarantined entries that were received but must not be used; always empty at the relay
   *     itself
   */
  public PoolCatalog {
    pools = List.copyOf(pools);
    quarantined = List.copyOf(quarantined);
  }

  /**
   * A catalog without quarantined entries.
   *
   * @param revision the revision
   * @param pools the pools
   */
  public PoolCatalog(long revision, List<PoolDescriptor> pools) {
    this(revision, pools, List.of());
  }
}
