package io.kvrelay.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Load of every active pool. Complete: a pool that is absent is gone.
 *
 * @param pools loads in pool order
 * @param window the window it travelled in, or null if it comes straight from a relay
 * @param quarantined entries that were received but must not be used; always empty at the relay
 *     itself
 */
public record LoadSnapshot(
    List<PoolLoad> pools, @Nullable Window window, List<QuarantinedEntry> quarantined) {
  /** No pool. */
  public static final LoadSnapshot EMPTY = new LoadSnapshot(List.of());

  /**
   * Copies the lists.
   *
   * @param pools loads in pool order
   * @param window the window it travelled in, or null if it comes straight from a relay
   * @param quarantined entries that were received but must not be used; always empty at the relay
   *     itself
   */
  public LoadSnapshot {
    pools = List.copyOf(pools);
    quarantined = List.copyOf(quarantined);
  }

  /**
   * A snapshot straight from a relay.
   *
   * @param pools the loads
   */
  public LoadSnapshot(List<PoolLoad> pools) {
    this(pools, null, List.of());
  }

  /**
   * A transport's load window.
   *
   * @param sequence from 0, grows by one per window, idle or not
   * @param observedMillis the producer's wall clock; metadata, never freshness
   * @param windowMillis the window's length
   */
  public record Window(long sequence, long observedMillis, long windowMillis) {}
}
