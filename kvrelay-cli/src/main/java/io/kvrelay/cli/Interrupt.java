package io.kvrelay.cli;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Turns Ctrl-C (and a polite kill) into a wish: the program finds out, ends what it is doing,
 * prints what it has and closes this. The JVM waits for that, then ends with the signal's own exit
 * code: 130 for Ctrl-C, 143 for a kill.
 */
final class Interrupt implements AutoCloseable {
  private static final long PATIENCE_SECONDS = 60;

  private final CountDownLatch finished = new CountDownLatch(1);
  private final Thread hook = new Thread(this::onShutdown, "kvrelay-interrupt");
  private volatile boolean requested;
  private volatile long patienceSeconds = PATIENCE_SECONDS;

  /** Starts listening. */
  Interrupt() {
    Runtime.getRuntime().addShutdownHook(hook);
  }

  /** Lets the end take longer than a minute, if the program knows that it may. */
  void allow(long seconds) {
    patienceSeconds = Math.max(PATIENCE_SECONDS, seconds);
  }

  long patienceSeconds() {
    return patienceSeconds;
  }

  /** Whether the program should end. */
  boolean isRequested() {
    return requested;
  }

  private void onShutdown() {
    requested = true;
    long patience = patienceSeconds;
    try {
      if (!finished.await(patience, TimeUnit.SECONDS)) {
        System.err.println("kvrelay: did not end within " + patience + " s, giving up");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Everything is printed. */
  @Override
  public void close() {
    finished.countDown();
    if (!requested) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException shuttingDown) {
        // The signal came just now; the hook finds the latch open.
        requested = true;
      }
    }
  }
}
