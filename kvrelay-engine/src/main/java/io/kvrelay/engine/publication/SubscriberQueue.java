package io.kvrelay.engine.publication;

import io.kvrelay.api.PublicationFrame;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * What waits for one subscriber: deltas, bounded by frames and by bytes. A queue that ran over or
 * was retired delivers nothing more, not even what it held. One hub offers, one stream polls; any
 * thread may close.
 */
final class SubscriberQueue {
  enum State {
    ACTIVE,
    LAGGED,
    RETIRED,
    /** The subscriber has gone. */
    CLOSED
  }

  private final int maxFrames;
  private final long maxBytes;
  private final Runnable wake;
  private final ArrayDeque<PublicationFrame> frames = new ArrayDeque<>(); // guarded by itself
  private long bytes; // guarded by frames
  private volatile State state = State.ACTIVE; // written under frames

  SubscriberQueue(int maxFrames, long maxBytes, Runnable wake) {
    this.maxFrames = maxFrames;
    this.maxBytes = maxBytes;
    this.wake = wake;
  }

  State state() {
    return state;
  }

  /**
   * Queues a frame.
   *
   * @return false if the subscriber must be removed: it has run over now, or is no longer active
   */
  boolean offer(PublicationFrame frame) {
    boolean queued;
    synchronized (frames) {
      if (state != State.ACTIVE) {
        return false;
      }
      // The bytes are looked at first: an oversized frame is refused however short the queue.
      queued = bytes + frame.queueBytes() <= maxBytes && frames.size() < maxFrames;
      if (queued) {
        frames.add(frame);
        bytes += frame.queueBytes();
      } else {
        end(State.LAGGED);
      }
    }
    wake.run();
    return queued;
  }

  /** The next frame, or null if none waits or the queue is no longer active. */
  @Nullable PublicationFrame poll() {
    synchronized (frames) {
      PublicationFrame frame = frames.poll();
      if (frame != null) {
        bytes -= frame.queueBytes();
      }
      return frame;
    }
  }

  /** Ends the subscription from the hub's side. */
  void retire() {
    synchronized (frames) {
      end(State.RETIRED);
    }
    wake.run();
  }

  /** Ends the subscription from the subscriber's side. */
  void close() {
    synchronized (frames) {
      end(State.CLOSED);
    }
  }

  private void end(State ended) {
    if (state == State.ACTIVE) {
      state = ended;
    }
    frames.clear();
    bytes = 0;
  }

  int size() {
    synchronized (frames) {
      return frames.size();
    }
  }

  long bytes() {
    synchronized (frames) {
      return bytes;
    }
  }
}
