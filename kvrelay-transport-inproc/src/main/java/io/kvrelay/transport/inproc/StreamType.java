package io.kvrelay.transport.inproc;

/** What a stream carries; each type has a limit of its own. */
enum StreamType {
  CATALOG("max_catalog_subscribers"),
  POOL("max_pool_streams_total"),
  READINESS("max_readiness_subscribers"),
  LOAD("max_load_subscribers");

  private final String limitKey;

  StreamType(String limitKey) {
    this.limitKey = limitKey;
  }

  String limitKey() {
    return limitKey;
  }
}
