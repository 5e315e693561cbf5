package io.kvrelay.engine.pool;

import org.jspecify.annotations.Nullable;

/**
 * The receiving end of a lease's delta channel: 64 deltas, never blocking the producer. A receiver
 * that falls behind is overrun and must take a new snapshot. One thread polls; any thread may
 * close.
 */
public interface DeltaReceiver extends AutoCloseable {
  /** Deltas the channel holds. */
  int CAPACITY = 64;

  /**
   * Takes the next delta.
   *
   * @return the delta, or null if none is waiting
   */
  @Nullable PoolDelta poll();

  /**
   * Whether the channel was overrun. What {@link #poll()} returns after that has a gap.
   *
   * @return true from the first lost delta on
   */
  boolean isOverrun();

  /**
   * Whether the producer will send nothing more. What is waiting can still be taken.
   *
   * @return true once the lease was retired or replaced, or the producer ended
   */
  boolean isClosed();

  /**
   * Sets the callback that is run, on a thread of the producer, whenever a delta arrived, the
   * channel was overrun or closed. It is also run once at once if any of that is already so. It
   * must return quickly.
   *
   * @param wake the callback
   */
  void onSignal(Runnable wake);

  /** Stops receiving; the producer drops what it would send. Idempotent. */
  @Override
  void close();
}
