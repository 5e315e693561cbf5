package io.kvrelay.engine.publication;

import java.util.ArrayDeque;
import java.util.Queue;

/**
 * A semaphore whose waiters are told, not blocked. Permits go to waiters in the order they came.
 * Thread safe; callbacks run on the thread that gave a permit back, outside the lock.
 */
final class Permits {
  /** Either waits for a permit, holds one, or is done; {@link #close()} is right in each case. */
  final class Ticket implements AutoCloseable {
    private final Runnable onGranted;
    private volatile boolean granted;
    private boolean closed;

    private Ticket(Runnable onGranted) {
      this.onGranted = onGranted;
    }

    boolean isGranted() {
      return granted;
    }

    /** Stops waiting or gives the permit back. Idempotent. */
    @Override
    public void close() {
      synchronized (waiters) {
        if (closed) {
          return;
        }
        closed = true;
        if (!granted) {
          waiters.remove(this);
          return;
        }
      }
      release();
    }
  }

  private final Queue<Ticket> waiters = new ArrayDeque<>();
  private int available;

  Permits(int permits) {
    this.available = permits;
  }

  /** Takes a permit if one is free and nobody waits for it. Allocates nothing. */
  boolean tryAcquire() {
    synchronized (waiters) {
      if (available == 0) {
        return false;
      }
      available--;
      return true;
    }
  }

  /**
   * Takes a permit or waits for one.
   *
   * @param onGranted run once the permit is there, unless it is there at once
   */
  Ticket acquire(Runnable onGranted) {
    Ticket ticket = new Ticket(onGranted);
    synchronized (waiters) {
      if (available > 0) {
        available--;
        ticket.granted = true;
      } else {
        waiters.add(ticket);
      }
    }
    return ticket;
  }

  /** Gives back a permit that {@link #tryAcquire()} took. */
  void release() {
    Ticket next;
    synchronized (waiters) {
      next = waiters.poll();
      if (next == null) {
        available++;
        return;
      }
      next.granted = true;
    }
    next.onGranted.run();
  }

  int available() {
    synchronized (waiters) {
      return available;
    }
  }

  int waiting() {
    synchronized (waiters) {
      return waiters.size();
    }
  }
}
