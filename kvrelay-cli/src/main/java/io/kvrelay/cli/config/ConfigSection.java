package io.kvrelay.cli.config;

import java.util.List;

/** Where keys may stand in the file, and which. The one list of them. */
public enum ConfigSection {
  /** The file itself. */
  FILE("", "scope", "pools", "recovery", "stop-timeout", "endpoints"),
  /** What part of the endpoints this relay looks at. */
  SCOPE("scope", "namespaces", "prefixes"),
  /** How pools are run. */
  POOLS(
      "pools",
      "expected-blocks",
      "filter-seed",
      "max-kicks",
      "publication-threshold",
      "publication-delay"),
  /** How lost events are recovered. */
  RECOVERY("recovery", "timeout", "concurrent", "unknown-grace", "inbox-batches"),
  /** A serving endpoint. */
  ENDPOINT(
      "endpoints[]",
      "endpoint",
      "model",
      "source-path",
      "block-size",
      "hash-format",
      "aliases",
      "model-types",
      "role",
      "needs",
      "cache-semantics",
      "routing-scope",
      "kv-state-endpoint",
      "total-kv-blocks",
      "max-batched-tokens",
      "adapters",
      "workers"),
  /** A LoRA adapter that workers of an endpoint carry. */
  ADAPTER("endpoints[].adapters[]", "name", "runtime-name", "aliases", "max-loras"),
  /** One engine process of an endpoint. */
  WORKER(
      "endpoints[].workers[]",
      "id",
      "live",
      "ranks",
      "start-rank",
      "role",
      "model-types",
      "total-kv-blocks",
      "max-batched-tokens",
      "events-suppressed",
      "taints",
      "attributes",
      "adapters",
      "events",
      "load"),
  /** Where the events of a worker's ranks come from. */
  EVENTS(
      "endpoints[].workers[].events[]",
      "engine",
      "rank",
      "live",
      "replay",
      "topic",
      "bind",
      "adapter-ids",
      "cache-namespace",
      "image-token",
      "video-token",
      "multimodal",
      "check-rank",
      "max-blocks",
      "history-events",
      "held-batches"),
  /** What a rank reports about its load. */
  LOAD("endpoints[].workers[].load[]", "rank", "kv-used-blocks", "decode-blocks", "prefill-tokens");

  private final String path;

  @SuppressWarnings("ImmutableEnumChecker") // made by List.of
  private final List<String> keys;

  ConfigSection(String path, String... keys) {
    this.path = path;
    this.keys = List.of(keys);
  }

  /** Where it stands, with {@code []} for each list; the empty text for the file itself. */
  public String path() {
    return path;
  }

  /** The keys it may hold. */
  public List<String> keys() {
    return keys;
  }
}
