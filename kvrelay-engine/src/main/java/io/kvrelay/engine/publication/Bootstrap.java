package io.kvrelay.engine.publication;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.cbi1.Cbi1;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Turns a snapshot into chunk frames as its subscriber takes them. At most one frame is queued and
 * one more is encoded ahead; if that one cannot be queued for {@code snapshot_progress_timeout_ms}
 * the bootstrap gives up: its permit and its snapshot go, the queued frame stays to be taken.
 *
 * <p>Belongs to its stream's run; only the encoding itself runs beside it.
 *
 * <table>
 * <caption>Fields</caption>
 * <tr><th>field</th><th>access</th><th>guarded by</th></tr>
 * <tr><td>encoding</td><td>volatile</td><td>set by the run, cleared by the encoder; publishes
 * {@code encoded} and {@code encoderError}</td></tr>
 * <tr><td>encoded, encoderError</td><td>plain</td><td>{@code encoding}</td></tr>
 * <tr><td>all other</td><td>plain</td><td>the stream's run</td></tr>
 * </table>
 */
final class Bootstrap {
  private final PublicationContext context;
  private final HubSubscription subscription;
  private final Permits.Ticket permit;
  private final Runnable wake;
  private final int chunkCount;

  private int nextChunk;
  private volatile boolean encoding;
  private @Nullable PublicationFrame encoded;
  private @Nullable RelayException encoderError;

  private @Nullable PublicationFrame queued;
  private @Nullable PublicationFrame inHand;
  private long inHandSinceNanos;
  private RelayRuntime.@Nullable Timer stallTimer;
  private boolean released;
  private @Nullable RelayException stall;
  private @Nullable RelayException failure;

  Bootstrap(
      PublicationContext context,
      HubSubscription subscription,
      Permits.Ticket permit,
      Runnable wake) {
    this.context = context;
    this.subscription = subscription;
    this.permit = permit;
    this.wake = wake;
    this.chunkCount = Cbi1.chunkCount(subscription.producer().format().bucketCount());
  }

  boolean hasFrame() {
    return queued != null;
  }

  /** Whether the subscriber was too slow; the frame that was queued then can still be taken. */
  boolean isStalled() {
    return stall != null;
  }

  /** What ends the stream now. */
  @Nullable RelayException error() {
    return failure != null ? failure : queued == null ? stall : null;
  }

  boolean isTransferred() {
    return released && stall == null && queued == null;
  }

  /** Takes the queued frame; there is one. */
  PublicationFrame take() {
    PublicationFrame frame = queued;
    queued = inHand;
    inHand = null;
    cancelTimer();
    if (frame == null) {
      throw new IllegalStateException("no frame is queued");
    }
    return frame;
  }

  /** Does what can be done now. */
  void advance() {
    if (released || encoding) {
      return;
    }
    failure = encoderError;
    collect();
    if (inHand != null) {
      checkStall();
    } else if (failure == null && nextChunk < chunkCount) {
      encodeNext();
    } else if (nextChunk == chunkCount) {
      release();
    }
  }

  private void collect() {
    PublicationFrame frame = encoded;
    if (frame == null) {
      return;
    }
    encoded = null;
    if (queued == null) {
      queued = frame;
    } else {
      inHand = frame;
      inHandSinceNanos = context.runtime().nanoTime();
      long timeout = context.config().snapshotProgressTimeout().toNanos();
      stallTimer = context.runtime().schedule(timeout, wake);
    }
  }

  private void checkStall() {
    long timeout = context.config().snapshotProgressTimeout().toNanos();
    if (context.runtime().nanoTime() - inHandSinceNanos < timeout) {
      return;
    }
    inHand = null;
    context.counters().stalledSnapshot();
    stall =
        new RelayException(
            RelayErrorReason.SNAPSHOT_PROGRESS_TIMEOUT,
            "snapshot chunk " + nextChunk + " of " + chunkCount + " was not taken in time");
    release();
    subscription.close();
  }

  private void encodeNext() {
    int chunk = nextChunk++;
    encoding = true;
    try {
      context.runtime().executor().execute(() -> encode(chunk));
    } catch (RejectedExecutionException stopped) {
      encoding = false;
      failure = PublicationHub.unavailable("the snapshot encoder was cancelled");
    }
  }

  private void encode(int chunk) {
    try {
      PublicationFrame frame =
          new PublicationFrame(
              subscription.producer(),
              PublicationFrame.Kind.SNAPSHOT_CHUNK,
              subscription.snapshotSequence(),
              subscription.snapshotSequence(),
              subscription
                  .encoder()
                  .snapshotChunk(subscription.snapshotSequence(), subscription.words(), chunk),
              0);
      context.counters().encoded(frame);
      encoded = frame;
    } catch (RelayException e) {
      encoderError = e;
    } catch (RuntimeException | Error e) {
      encoderError =
          new RelayException(
              RelayErrorReason.INTERNAL,
              RelayErrorReason.INTERNAL.action(),
              "the snapshot encoder crashed: " + e,
              e);
    } finally {
      encoding = false;
      wake.run();
    }
  }

  /** The mirror and the permit are for the encoder alone. */
  private void release() {
    if (!released) {
      released = true;
      cancelTimer();
      subscription.releaseSnapshot();
      permit.close();
    }
  }

  private void cancelTimer() {
    RelayRuntime.Timer timer = stallTimer;
    stallTimer = null;
    if (timer != null) {
      timer.cancel();
    }
  }

  /** Gives everything back. Returns false while an encoder is at work; call again when it woke. */
  boolean close() {
    if (encoding) {
      return false;
    }
    queued = null;
    inHand = null;
    encoded = null;
    release();
    return true;
  }
}
