package io.kvrelay.dynamo;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Gets handshakes going that JeroMQ has forgotten about. Its connecter and the engine that follows
 * it share one channel. If its I/O thread handles the end of a connecting and any other command in
 * one pass, it finds the connecter's key still there, cancelled, and does not register the engine
 * with its selector; no byte is sent or read then until something else changes the set of channels
 * of that thread. Opening and closing another channel does, and is harmless to a handshake that is
 * merely slow. Not thread safe.
 *
 * @param <S> what stands for a connection: its socket
 */
final class HandshakeNudge<S> {
  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Runnable nudge;
  private final Set<S> silent = new HashSet<>();
  private long due;
  private long wait;

  /**
   * Creates one without connections.
   *
   * @param nudge has the I/O thread look at its channels again
   */
  HandshakeNudge(Runnable nudge) {
    this.nudge = nudge;
  }

  /** A connection stands, and its peer has not greeted yet. */
  void connected(S connection, long now) {
    long soon = now + FIRST_NANOS;
    if (silent.isEmpty() || due - soon > 0) {
      due = soon;
    }
    wait = FIRST_NANOS;
    silent.add(connection);
  }

  /** The peer has greeted, or the connection is gone. */
  void settled(S connection) {
    silent.remove(connection);
  }

  /** Nudges if it is time to. */
  void run(long now) {
    if (!silent.isEmpty() && now - due >= 0) {
      nudge.run();
      due = now + wait;
      wait = Math.min(2 * wait, LONGEST_NANOS);
    }
  }

  /** How long there is nothing to do, in milliseconds rounded up, at most {@code most}. */
  long waitMillis(long now, long most) {
    if (silent.isEmpty()) {
      return most;
    }
    long left = Math.max(0, due - now);
    return Math.min(most, (left + 999_999) / 1_000_000);
  }
}
