package io.kvrelay.engine.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** What a stage has come to once everything ran that can without time passing. */
public final class Settled {
  private final VirtualRuntime runtime;

  public Settled(VirtualRuntime runtime) {
    this.runtime = runtime;
  }

  public <T> T join(CompletionStage<T> stage) {
    runtime.runUntilIdle();
    CompletableFuture<T> future = stage.toCompletableFuture();
    assertThat(future).isDone();
    return future.join();
  }

  /** What the stage failed with. */
  public RelayException failure(CompletionStage<?> stage) {
    runtime.runUntilIdle();
    CompletableFuture<?> future = stage.toCompletableFuture();
    assertThat(future).isCompletedExceptionally();
    try {
      future.join();
      throw new AssertionError("did not fail");
    } catch (CompletionException e) {
      return (RelayException) e.getCause();
    }
  }
}
