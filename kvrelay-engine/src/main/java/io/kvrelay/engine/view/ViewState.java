package io.kvrelay.engine.view;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.IndexerDomainId;
import java.util.List;

/**
 * Where a view stands. Immutable; the parts are read one by one.
 *
 * @param sources attached sources in the order they were attached
 * @param tables tables
 * @param ambiguousNames names that stand for more than one model or adapter and are left out
 */
public record ViewState(
    List<SourceState> sources, List<TableState> tables, List<String> ambiguousNames) {
  /**
   * Copies the lists.
   *
   * @param sources attached sources in the order they were attached
   * @param tables tables
   * @param ambiguousNames names that stand for more than one model or adapter and are left out
   */
  public ViewState {
    sources = List.copyOf(sources);
    tables = List.copyOf(tables);
    ambiguousNames = List.copyOf(ambiguousNames);
  }

  /**
   * One table.
   *
   * @param domain its domain
   * @param format its filter format
   * @param capacity lanes it has
   * @param boundLanes bit i: lane i has a pool
   * @param readyLanes bit i: lane i may be read
   * @param bytes its memory
   * @param failedWorker the lowest ingestion worker that failed, or -1; its lanes move on with
   *     their next leases, and once every worker has failed a new one takes its place
   * @param deltasRefused deltas that a lane did not admit
   * @param deltasDropped deltas dropped from a queue because their lane had been retired
   * @param faults lanes and workers that failed
   */
  public record TableState(
      IndexerDomainId domain,
      CkfFormat format,
      int capacity,
      long boundLanes,
      long readyLanes,
      long bytes,
      int failedWorker,
      long deltasRefused,
      long deltasDropped,
      long faults) {}
}
