package io.kvrelay.engine.view;

/**
 * What a view counts. Everything it drops, ignores or refuses has a counter here; failures of
 * streams are counted by plane and reason besides, see {@link ViewStatistics#failures()}.
 */
public enum ViewCounter {
  /** Streams opened, the first one of a plane included. */
  STREAMS_OPENED,
  /** Signals of a stream that was already given up; ignored. */
  LATE_SIGNALS_IGNORED,
  /** Items beyond what was asked for; the stream that sent them is failed. */
  UNREQUESTED_ITEMS_REFUSED,
  /** Catalogs that replaced the one before. */
  CATALOGS_APPLIED,
  /** Catalogs that repeated the current revision. */
  CATALOG_HEARTBEATS,
  /** Catalog entries held as unusable, counted per applied catalog. */
  CATALOG_ENTRIES_QUARANTINED,
  /** Readiness snapshots that replaced the one before. */
  READINESS_APPLIED,
  /** Readiness snapshots that repeated the current revision. */
  READINESS_HEARTBEATS,
  /** Readiness entries held as unusable, counted per applied snapshot. */
  READINESS_ENTRIES_QUARANTINED,
  /** Load windows applied. */
  LOAD_WINDOWS_APPLIED,
  /** Load entries held as unusable, counted per applied window. */
  LOAD_ENTRIES_QUARANTINED,
  /** Load entries of a generation that the catalog does not show; not used. */
  LOAD_ENTRIES_OF_OTHER_GENERATION,
  /** Snapshot chunks taken into an assembly. */
  FILTER_CHUNKS,
  /** Snapshots installed. */
  FILTER_SNAPSHOTS_INSTALLED,
  /** Bytes of chunk payloads taken into an assembly. */
  FILTER_SNAPSHOT_BYTES,
  /** Deltas applied. */
  FILTER_DELTAS_APPLIED,
  /** Bytes of the payloads of deltas that their lane admitted. */
  FILTER_DELTA_BYTES,
  /** Bucket images applied by deltas. */
  FILTER_IMAGES_APPLIED,
  /** Deltas that their lane refused, for a bound or because its generation had ended. */
  FILTER_DELTAS_REFUSED,
  /** Admitted deltas that were dropped because their lane generation or worker had ended. */
  FILTER_DELTAS_DROPPED,
  /** Deltas that reached their lane and were not applied: stale, foreign, early or faulty. */
  FILTER_DELTAS_IGNORED,
  /** Snapshots that reached their lane and were not installed. */
  FILTER_SNAPSHOTS_REFUSED,
  /** Frames that waited for an installation and went with their stream. */
  FILTER_FRAMES_DROPPED,
  /** Faults of lanes and of their workers. */
  LANE_FAULTS,
  /** Heartbeats of filter streams. */
  FILTER_HEARTBEATS,
  /** Replicas withdrawn after a failure of their stream or lane. */
  REPLICAS_WITHDRAWN,
  /** Catalog look-ups made before a refused generation was tried again. */
  CATALOG_REFRESHES,
  /** Catalog look-ups that failed. */
  CATALOG_REFRESHES_FAILED,
  /** Generations that will not be tried again. */
  GENERATIONS_ABANDONED,
  /** Pools that got a lane. */
  POOLS_ADMITTED,
  /** Pools that lost their lane because no catalog shows them any more. */
  POOLS_RELEASED,
  /** Pools refused because every lane of their table is taken. */
  POOLS_REFUSED_NO_LANE,
  /**
   * Pools refused because their table would exceed the memory bound, or it or their lane could not
   * be allocated.
   */
  POOLS_REFUSED_NO_MEMORY,
  /** Pools refused because setting up their lane failed; a defect. */
  POOLS_REFUSED_SET_UP_FAILED,
  /** Pools refused because another attached source already provides them. */
  POOLS_REFUSED_DUPLICATE,
  /** Relay lives that replaced an earlier one of the same attachment. */
  INCARNATION_CHANGES,
  /** Connection attempts of attachments by address. */
  CONNECTION_ATTEMPTS,
  /** Connection attempts that failed. */
  CONNECTION_FAILURES,
  /** Queries. */
  QUERIES,
  /** Queries for a name that nothing serves. */
  QUERIES_UNKNOWN_MODEL,
  /** Queries for a name that stands for more than one thing. */
  QUERIES_AMBIGUOUS_MODEL,
  /** Queries whose prompt is shorter than one block of some pool: depth 0, no error. */
  QUERIES_SHORTER_THAN_A_BLOCK,
  /** Answers a query could not get from a candidate pool. */
  ANSWERS_MISSING,
  /** Listeners that threw. */
  LISTENER_FAILURES
}
