package io.kvrelay.api;

import java.util.List;

/**
 * Serving readiness of everything a relay knows, at one revision of its own. Complete: what is
 * absent is gone.
 *
 * @param revision grows with each change (unsigned); unrelated to the catalog's
 * @param entries usable entries
 * @param quarantined entries that were received but must not be used; always empty at the relay
 *     itself
 */
public record TopologySnapshot(
    long revision, List<TopologyEntry> entries, List<QuarantinedEntry> quarantined) {
  /** Nothing known yet. */
  public static final TopologySnapshot EMPTY = new TopologySnapshot(0, List.of());

  /**
   * Copies the lists.
   *
   * @param revision grows with each change (unsigned); unrelated to the catalog's
   * @param entries usable entries
   * @param quarantined entries that were received but must not be used; always empty at the relay
   *     itself
   */
  public TopologySnapshot {
    entries = List.copyOf(entries);
    quarantined = List.copyOf(quarantined);
  }

  /**
   * A snapshot without quarantined entries.
   *
   * @param revision the revision
   * @param entries the entries
   */
  public TopologySnapshot(long revision, List<TopologyEntry> entries) {
    this(revision, entries, List.of());
  }
}
