package io.kvrelay.transport.inproc;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.runtime.RelayRuntime;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * When a quiet stream shows that it lives, and with what. Belongs to one pipe's run.
 *
 * @param <T> the stream's messages
 */
abstract class Heartbeat<T> {
  private final RelayRuntime runtime;
  private final long intervalNanos;
  private boolean armed;
  private long dueNanos;
  private @Nullable T last;

  private Heartbeat(RelayRuntime runtime, Duration interval) {
    this.runtime = runtime;
    this.intervalNanos = interval.toNanos();
  }

  /** Notes a message that the stream has taken. */
  void sent(T message) {
    last = message;
    if (noteSent(message)) {
      armed = true;
      dueNanos = runtime.nanoTime() + intervalNanos;
    }
  }

  /** Nanoseconds until one is due, or -1 if none is. */
  long delayNanos() {
    return armed ? Math.max(0, dueNanos - runtime.nanoTime()) : -1;
  }

  /** Makes one that is due. A tick that came late delays the next ones. */
  T beat() {
    T message = last;
    if (message == null) {
      throw new IllegalStateException("nothing has been sent");
    }
    dueNanos = runtime.nanoTime() + intervalNanos;
    return beatAfter(message);
  }

  /** Whether the interval starts anew with this message. */
  abstract boolean noteSent(T message);

  abstract T beatAfter(T message);

  /** Repeats the state at a steady pace, whatever changes meanwhile. */
  static <T> Heartbeat<T> ofState(RelayRuntime runtime, Duration interval) {
    return new Heartbeat<>(runtime, interval) {
      private boolean started;

      @Override
      boolean noteSent(T message) {
        boolean first = !started;
        started = true;
        return first;
      }

      @Override
      T beatAfter(T message) {
        return message;
      }
    };
  }

  /** Speaks after a quiet interval, and never before the snapshot is complete. */
  static Heartbeat<PublicationFrame> ofPool(RelayRuntime runtime, Duration interval, int chunks) {
    return new Heartbeat<>(runtime, interval) {
      private int chunksLeft = chunks;

      @Override
      boolean noteSent(PublicationFrame frame) {
        if (frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK) {
          chunksLeft--;
        }
        return chunksLeft <= 0;
      }

      @Override
      PublicationFrame beatAfter(PublicationFrame frame) {
        return PublicationFrame.heartbeat(
            frame.producer(), frame.sequence(), runtime.currentTimeMillis() * 1000);
      }
    };
  }
}
