package io.kvrelay.engine.pool;

import org.jspecify.annotations.Nullable;

/**
 * Copies a pool's words beside the pool's own thread while the pool stands still. Its results are
 * published by the volatile {@code ended}.
 */
final class SnapshotCopy implements Runnable {
  final PoolCommand.Subscribe command;
  private final PoolState state;
  private final Runnable wake;
  private long @Nullable [] words;
  private @Nullable Throwable failure;
  private volatile boolean ended;

  SnapshotCopy(PoolCommand.Subscribe command, PoolState state, Runnable wake) {
    this.command = command;
    this.state = state;
    this.wake = wake;
  }

  @Override
  public void run() {
    try {
      words = state.copyWords();
    } catch (RuntimeException | Error e) {
      failure = e;
    }
    ended = true;
    wake.run();
  }

  boolean hasEnded() {
    return ended;
  }

  long @Nullable [] words() {
    return words;
  }

  @Nullable Throwable failure() {
    return failure;
  }
}
