package io.kvrelay.engine.ingest;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Bounds how many history requests of one relay are under way, over all its pools. Who finds none
 * free waits in line. Thread safe; nothing blocks.
 */
public final class RecoveryPermits {
  /** Requests of one relay at a time. */
  public static final int DEFAULT = 16;

  private final Queue<Ticket> line = new ArrayDeque<>();
  private int free;

  /**
   * Creates them, all free.
   *
   * @param permits requests at a time, at least 1
   * @throws IllegalArgumentException if there is not even one
   */
  public RecoveryPermits(int permits) {
    if (permits < 1) {
      throw new IllegalArgumentException("permits = " + permits + ": must be positive");
    }
    this.free = permits;
  }

  /**
   * Number of permits that nobody holds.
   *
   * @return the number
   */
  public synchronized int free() {
    return free;
  }

  /**
   * Number of requests in line.
   *
   * @return the number
   */
  public synchronized int waiting() {
    return line.size();
  }

  /** One wish for a permit, then the permit. */
  final class Ticket {
    private final Executor executor;
    private final Runnable granted;
    private boolean holds;
    private boolean closed;

    private Ticket(Executor executor, Runnable granted) {
      this.executor = executor;
      this.granted = granted;
    }

    /** Leaves the line, or gives the permit back. Idempotent. */
    void close() {
      release(this);
    }

    private void grant() {
      try {
        executor.execute(granted);
      } catch (RejectedExecutionException stopped) {
        close(); // nobody will run there any more
      }
    }
  }

  /**
   * Asks for a permit. {@code granted} runs on the executor once there is one, unless the ticket is
   * closed before; it may still run shortly after.
   */
  Ticket acquire(Executor executor, Runnable granted) {
    Ticket ticket = new Ticket(executor, granted);
    synchronized (this) {
      if (free == 0) {
        line.add(ticket);
        return ticket;
      }
      free--;
      ticket.holds = true;
    }
    ticket.grant();
    return ticket;
  }

  private void release(Ticket ticket) {
    Ticket next = null;
    synchronized (this) {
      if (ticket.closed) {
        return;
      }
      ticket.closed = true;
      if (!ticket.holds) {
        line.remove(ticket);
        return;
      }
      next = line.poll();
      if (next == null) {
        free++;
      } else {
        next.holds = true;
      }
    }
    if (next != null) {
      next.grant();
    }
  }
}
