package io.kvrelay.transport.inproc;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/**
 * Makes one export's links fail on command, for tests. Under a virtual runtime the same commands
 * have the same effect in every run: faults are counted, not drawn.
 *
 * <p>{@link #drop}, {@link #duplicate} and {@link #reorder} concern data frames of pool streams, in
 * the order in which they enter a link; where several are pending, drops come first, then
 * duplicates. Everything else concerns all messages. Thread safe; nothing blocks.
 */
public final class InprocFaults {
  /** What becomes of one frame. */
  enum Fate {
    PASS,
    DROP,
    DUPLICATE,
    /** Changes places with the next frame of its stream. */
    REORDER
  }

  private static final class Budget {
    private final AtomicInteger drops = new AtomicInteger();
    private final AtomicInteger duplicates = new AtomicInteger();
    private final AtomicInteger reorders = new AtomicInteger();

    private Fate next() {
      if (take(drops)) {
        return Fate.DROP;
      }
      if (take(duplicates)) {
        return Fate.DUPLICATE;
      }
      return take(reorders) ? Fate.REORDER : Fate.PASS;
    }

    private static boolean take(AtomicInteger pending) {
      return pending.get() > 0 && pending.getAndUpdate(n -> Math.max(0, n - 1)) > 0;
    }
  }

  private final InprocExport export;
  private final Budget everyone = new Budget();
  private final Map<String, Budget> budgets = new ConcurrentHashMap<>();
  private final Set<String> stalled = ConcurrentHashMap.newKeySet();
  private final LongAdder injected = new LongAdder();
  private volatile long delayNanos;
  private volatile boolean cut;

  InprocFaults(InprocExport export) {
    this.export = export;
  }

  /**
   * The controller of a running export.
   *
   * @param name the name in {@code inproc:NAME}
   * @return the controller
   * @throws RelayException with {@code ADDRESS_UNAVAILABLE} if there is no such export
   */
  public static InprocFaults of(String name) {
    InprocExport export = InprocTransport.find(name);
    if (export == null) {
      throw new RelayException(
          RelayErrorReason.ADDRESS_UNAVAILABLE, "address = inproc:" + name + ": not exported");
    }
    return export.faults();
  }

  /** Breaks the link: open streams fail as unavailable, new ones are refused until it heals. */
  public void cut() {
    cut = true;
    export.endStreams(InprocConnection.unavailable("the link to " + export.name() + " is cut"));
  }

  /** Lets clients connect and subscribe again. */
  public void heal() {
    cut = false;
  }

  /**
   * Holds each message that enters a link from now on for a while; the order stays.
   *
   * @param delay how long, by the exporting runtime's clock; zero for none
   */
  public void delay(Duration delay) {
    delayNanos = delay.toNanos();
  }

  /**
   * Stops delivering to one subscriber, as a reader that does not read would.
   *
   * @param subscriberId the label of its connection; all its streams stop
   */
  public void stall(String subscriberId) {
    stalled.add(subscriberId);
  }

  /**
   * Ends a stall.
   *
   * @param subscriberId the label
   */
  public void resume(String subscriberId) {
    stalled.remove(subscriberId);
    export.wakeStreams();
  }

  /**
   * Loses the next frames, whoever they are for.
   *
   * @param frames how many
   */
  public void drop(int frames) {
    everyone.drops.addAndGet(frames);
  }

  /**
   * Loses the next frames of one subscriber.
   *
   * @param subscriberId its label
   * @param frames how many
   */
  public void drop(String subscriberId, int frames) {
    budgetOf(subscriberId).drops.addAndGet(frames);
  }

  /**
   * Delivers the next frames twice, whoever they are for.
   *
   * @param frames how many
   */
  public void duplicate(int frames) {
    everyone.duplicates.addAndGet(frames);
  }

  /**
   * Delivers the next frames of one subscriber twice.
   *
   * @param subscriberId its label
   * @param frames how many
   */
  public void duplicate(String subscriberId, int frames) {
    budgetOf(subscriberId).duplicates.addAndGet(frames);
  }

  /**
   * Lets each of the next frames change places with its successor, whoever they are for. A frame
   * without a successor waits for one.
   *
   * @param frames how many
   */
  public void reorder(int frames) {
    everyone.reorders.addAndGet(frames);
  }

  /**
   * Lets each of the next frames of one subscriber change places with its successor.
   *
   * @param subscriberId its label
   * @param frames how many
   */
  public void reorder(String subscriberId, int frames) {
    budgetOf(subscriberId).reorders.addAndGet(frames);
  }

  private Budget budgetOf(String subscriberId) {
    return budgets.computeIfAbsent(subscriberId, id -> new Budget());
  }

  /** What becomes of the frame that enters a link now. */
  Fate next(String subscriberId) {
    Budget own = budgets.get(subscriberId);
    Fate fate = own == null ? Fate.PASS : own.next();
    if (fate == Fate.PASS) {
      fate = everyone.next();
    }
    if (fate != Fate.PASS) {
      injected.increment();
    }
    return fate;
  }

  boolean isCut() {
    return cut;
  }

  boolean isStalled(String subscriberId) {
    return !stalled.isEmpty() && stalled.contains(subscriberId);
  }

  long delayNanos() {
    return delayNanos;
  }

  long injected() {
    return injected.sum();
  }
}
