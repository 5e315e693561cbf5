package io.kvrelay.engine.ingest;

import io.kvrelay.api.events.HistoryReply;

/** How all attempts of a recovery ended together. */
sealed interface FetchResult {
  /** The source answered. */
  record Answered(HistoryReply reply) implements FetchResult {}

  /** No attempt gave a whole dump, and at least one said that there is none. */
  record NonAuthoritative(String reason) implements FetchResult {}

  /** No attempt gave an answer. */
  record Exhausted(String reason) implements FetchResult {}
}
