package io.kvrelay.engine.pool;

import java.lang.System.Logger.Level;
import java.lang.invoke.VarHandle;
import org.jctools.queues.varhandle.SpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * A lease's channel: one producer at a time, one receiver, 64 deltas.
 *
 * <pre>
 *   field           mode       written by
 *   queue           SPSC       the pool's owner offers, the receiver polls
 *   overrun         volatile   the pool's owner
 *   ended           volatile   the pool's owner, after its last offer
 *   receiverClosed  volatile   any thread
 *   wake            volatile   the receiver; read by the pool's owner after each write above
 * </pre>
 */
final class DeltaChannel implements DeltaReceiver {
  private static final System.Logger LOG = System.getLogger(DeltaChannel.class.getName());

  private final SpscVarHandleArrayQueue<PoolDelta> queue = new SpscVarHandleArrayQueue<>(CAPACITY);
  private volatile boolean overrun;
  private volatile boolean ended;
  private volatile boolean receiverClosed;
  private volatile @Nullable Runnable wake;

  /**
   * Hands a delta over. A full channel loses it and is overrun from then on: that is the receiver's
   * business.
   *
   * @return false if there is no receiver any more
   */
  boolean offer(PoolDelta delta) {
    if (receiverClosed) {
      return false;
    }
    if (overrun || !queue.offer(delta)) {
      overrun = true;
    }
    signal();
    return true;
  }

  /** The producer sends nothing more. */
  void end() {
    ended = true;
    signal();
  }

  private void signal() {
    // The queue's store is only a release: without this the load of wake could come before it, and
    // a receiver that sets wake and finds the queue empty would never hear of the delta.
    VarHandle.fullFence();
    Runnable receiver = wake;
    if (receiver != null) {
      try {
        receiver.run();
      } catch (RuntimeException | Error e) {
        // Its defect, and no reason to end a pool: what was handed over can still be polled.
        LOG.log(Level.ERROR, "a delta receiver's signal failed", e);
      }
    }
  }

  @Override
  public @Nullable PoolDelta poll() {
    return receiverClosed ? null : queue.poll();
  }

  @Override
  public boolean isOverrun() {
    return overrun;
  }

  @Override
  public boolean isClosed() {
    return ended;
  }

  @Override
  public void onSignal(Runnable receiver) {
    wake = receiver;
    if (!queue.isEmpty() || overrun || ended) {
      receiver.run();
    }
  }

  @Override
  public void close() {
    receiverClosed = true;
  }
}
