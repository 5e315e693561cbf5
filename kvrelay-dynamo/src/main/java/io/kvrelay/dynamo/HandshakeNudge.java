package io.kvrelay.dynamo;

import io.kvrelay.api.runtime.RetryDelay;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

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
  private static final System.Logger LOG = System.getLogger(HandshakeNudge.class.getName());
  private static final Duration FIRST = Duration.ofMillis(5);
  private static final Duration LONGEST = Duration.ofSeconds(1);

  private final Runnable nudge;
  private final Set<S> silent = new HashSet<>();
  private final RetryDelay delay = new RetryDelay(FIRST, LONGEST);
  private long due;

  /**
   * Creates one without connections.
   *
   * @param nudge has the I/O thread look at its channels again
   */
  HandshakeNudge(Runnable nudge) {
    this.nudge = nudge;
  }

  /** One for the sockets of a context that has a single I/O thread. */
  static HandshakeNudge<ZMQ.Socket> of(ZContext context) {
    return new HandshakeNudge<>(new PassingListener(context));
  }

  /** Listens on loopback for a moment; if it cannot, the handshake's own time-out has to do. */
  private static final class PassingListener implements Runnable {
    private final ZContext context;
    private ZMQ.@Nullable Socket socket;

    PassingListener(ZContext context) {
      this.context = context;
    }

    @Override
    public void run() {
      try {
        ZMQ.Socket kept = socket;
        if (kept == null) {
          kept = context.createSocket(SocketType.PUSH);
          socket = kept;
        }
        kept.bind("tcp://127.0.0.1:*");
        kept.unbind(kept.getLastEndpoint());
      } catch (RuntimeException e) {
        LOG.log(Level.DEBUG, "the I/O thread cannot be nudged", e);
      }
    }
  }

  /** A connection stands, and its peer has not greeted yet. */
  void connected(S connection, long now) {
    long soon = now + FIRST.toNanos();
    if (silent.isEmpty() || due - soon > 0) {
      due = soon;
    }
    delay.reset();
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
      due = now + delay.takeNanos();
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
