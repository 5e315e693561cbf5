package io.kvrelay.engine.publication;

import io.kvrelay.api.runtime.RelayRuntime;

/** What all parts of one relay's publication share. Immutable, of thread-safe parts. */
final class PublicationContext {
  static final System.Logger LOG = System.getLogger("io.kvrelay.engine.publication");

  /** Filters that are allocated at a time. */
  private static final int FILTER_ALLOCATIONS = 2;

  private final PublicationConfig config;
  private final RelayRuntime runtime;
  private final FrameEncoder.Factory encoders;
  private final Permits deltaPermits;
  private final Permits bootstrapPermits;
  private final Permits streamPermits;
  private final Permits allocationPermits = new Permits(FILTER_ALLOCATIONS);
  private final Counters counters = new Counters();

  PublicationContext(
      PublicationConfig config, RelayRuntime runtime, FrameEncoder.Factory encoders) {
    this.config = config;
    this.runtime = runtime;
    this.encoders = encoders;
    this.deltaPermits = new Permits(config.publicationEncodingConcurrency());
    this.bootstrapPermits = new Permits(config.publicationEncodingConcurrency());
    this.streamPermits = new Permits(config.maxPoolStreamsTotal());
  }

  PublicationConfig config() {
    return config;
  }

  RelayRuntime runtime() {
    return runtime;
  }

  FrameEncoder.Factory encoders() {
    return encoders;
  }

  /** Delta encodings of all hubs. */
  Permits deltaPermits() {
    return deltaPermits;
  }

  /** Snapshots on their way to a stream. */
  Permits bootstrapPermits() {
    return bootstrapPermits;
  }

  /** Open pool streams. */
  Permits streamPermits() {
    return streamPermits;
  }

  Permits allocationPermits() {
    return allocationPermits;
  }

  Counters counters() {
    return counters;
  }
}
