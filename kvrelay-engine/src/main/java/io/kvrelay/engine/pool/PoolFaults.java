package io.kvrelay.engine.pool;

import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * The faults of a pool in order, at most 16. While it is full the pool applies nothing more, unless
 * it is fenced. Thread safe; nothing blocks.
 */
public final class PoolFaults {
  private static final System.Logger LOG = System.getLogger(PoolFaults.class.getName());

  /** Faults that wait before the pool does. */
  public static final int CAPACITY = 16;

  private final Runnable onRoom;
  private final Queue<PoolFault> waiting = new ArrayDeque<>();
  private @Nullable Runnable wake;

  PoolFaults(Runnable onRoom) {
    this.onRoom = onRoom;
  }

  /**
   * Takes the oldest fault.
   *
   * @return the fault, or null if there is none
   */
  public @Nullable PoolFault poll() {
    PoolFault fault;
    boolean wasFull;
    synchronized (this) {
      wasFull = waiting.size() == CAPACITY;
      fault = waiting.poll();
    }
    if (wasFull) {
      onRoom.run();
    }
    return fault;
  }

  /**
   * Sets the callback that is run, on a thread of the pool, after each fault. It is also run at
   * once if one is waiting. It must return quickly; what it throws is logged.
   *
   * @param handler the callback
   */
  public void onSignal(Runnable handler) {
    boolean waits;
    synchronized (this) {
      wake = handler;
      waits = !waiting.isEmpty();
    }
    if (waits) {
      handler.run();
    }
  }

  /** False if there is no room. */
  boolean offer(PoolFault fault) {
    Runnable handler;
    synchronized (this) {
      if (waiting.size() == CAPACITY) {
        return false;
      }
      waiting.add(fault);
      handler = wake;
    }
    if (handler != null) {
      try {
        handler.run();
      } catch (RuntimeException | Error e) {
        // Its defect, and no reason to end a pool: the fault can still be polled.
        LOG.log(Level.ERROR, "a handler of pool faults failed", e);
      }
    }
    return true;
  }
}
