package io.kvrelay.transport.grpc;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Maps a state to its message, once for all streams that send the same state object. Thread safe; a
 * race costs a second mapping.
 */
final class MessageMemo<T, M> {
  private record Entry<T, M>(T state, M message) {}

  private final Function<T, M> mapping;
  private volatile @Nullable Entry<T, M> latest;

  MessageMemo(Function<T, M> mapping) {
    this.mapping = mapping;
  }

  @SuppressWarnings("ReferenceEquality") // the point: states are immutable and compared by identity
  M of(T state) {
    Entry<T, M> entry = latest;
    if (entry == null || entry.state() != state) {
      entry = new Entry<>(state, mapping.apply(state));
      latest = entry;
    }
    return entry.message();
  }
}
