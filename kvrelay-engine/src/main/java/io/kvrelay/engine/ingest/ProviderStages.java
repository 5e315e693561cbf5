package io.kvrelay.engine.ingest;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Stages that came from a provider, which may be any implementation, or none by mistake. */
final class ProviderStages {
  private ProviderStages() {}

  /**
   * The stage.
   *
   * @throws NullPointerException if there is none
   */
  static <T> CompletionStage<T> given(@Nullable CompletionStage<T> stage) {
    return Objects.requireNonNull(stage, "the provider returned no stage");
  }

  /** The stage as a future: its own if it has one, so that cancelling that reaches the provider. */
  static <T> CompletableFuture<T> future(CompletionStage<T> given) {
    try {
      return given.toCompletableFuture();
    } catch (UnsupportedOperationException hasNone) {
      CompletableFuture<T> follower = new CompletableFuture<>();
      given.whenComplete(
          (value, error) -> {
            if (error == null) {
              follower.complete(value);
            } else {
              follower.completeExceptionally(error);
            }
          });
      return follower;
    }
  }
}
