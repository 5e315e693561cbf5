package io.kvrelay.api;

/** What a worker does for a model. Role lists are kept in this order. */
public enum WorkerRole {
  /** Computes prompts. */
  PREFILL,
  /** Generates output. */
  DECODE,
  /** Encodes multimodal input. */
  ENCODE,
  /** Does all of it. */
  AGGREGATED,
  /** Stands for a worker that declares no role. */
  LEGACY
}
