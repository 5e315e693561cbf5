package io.kvrelay.engine.ingest;

import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Lets a piece of a rank's work wait for a stage without holding a thread: while it waits the rank
 * takes nothing else up. What follows runs in the rank's own turn, never inside the stage's
 * completion.
 *
 * <pre>
 *   field    written by                      read by
 *   current  the rank's turn                 the rank's turn
 *   next     the stage's completing thread   the rank's turn   (volatile; set before the wake)
 * </pre>
 */
final class RankSequence {
  private static final class Wait {
    volatile @Nullable Runnable next;
  }

  private final Runnable wake;
  private @Nullable Wait current;

  RankSequence(Runnable wake) {
    this.wake = wake;
  }

  /** Continues once the stage has completed. One wait at a time. */
  <T> void await(CompletionStage<T> stage, BiConsumer<@Nullable T, @Nullable Throwable> then) {
    if (current != null) {
      throw new IllegalStateException("the rank waits already");
    }
    Wait wait = new Wait();
    current = wait;
    stage.whenComplete(
        (value, error) -> {
          wait.next = () -> then.accept(value, error);
          wake.run();
        });
  }

  /** What was waited for has no effect any more. */
  void abandon() {
    current = null;
  }

  boolean isWaiting() {
    return current != null;
  }

  /** Goes on if what was waited for is there; false if not. */
  boolean resume() {
    Wait wait = current;
    Runnable next = wait == null ? null : wait.next;
    if (next == null) {
      return false;
    }
    current = null;
    next.run();
    return true;
  }
}
