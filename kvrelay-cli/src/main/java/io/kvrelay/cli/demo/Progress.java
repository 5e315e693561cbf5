package io.kvrelay.cli.demo;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One line that says how far a run is, how fast, and how long it will still take. It is drawn over
 * itself a few times a second and wiped at the end. One thread.
 */
final class Progress implements IntConsumer, AutoCloseable {
  private static final long REDRAW_NANOS = 200_000_000;

  private final @Nullable PrintWriter terminal;
  private final String label;
  private final int total;
  private final long startNanos = System.nanoTime();
  private long nextDrawNanos = startNanos + REDRAW_NANOS;
  private int drawn;

  /**
   * Starts a line.
   *
   * @param terminal where to draw, or null to stay silent
   * @param label what is running
   * @param total how many steps there are
   */
  Progress(@Nullable PrintWriter terminal, String label, int total) {
    this.terminal = terminal;
    this.label = label;
    this.total = total;
  }

  @Override
  public void accept(int done) {
    if (terminal == null || System.nanoTime() < nextDrawNanos) {
      return;
    }
    nextDrawNanos = System.nanoTime() + REDRAW_NANOS;
    draw(terminal, line(label, done, total, (System.nanoTime() - startNanos) / 1e9));
  }

  static String line(String label, int done, int total, double seconds) {
    double rate = done / Math.max(seconds, 1e-9);
    long eta = Math.round((total - done) / Math.max(rate, 1e-9));
    return String.format(
        Locale.ROOT,
        "%s %3d %%  %,d of %,d requests  %,.0f/s  ETA %d:%02d",
        label,
        100L * done / Math.max(1, total),
        done,
        total,
        rate,
        eta / 60,
        eta % 60);
  }

  private void draw(PrintWriter to, String line) {
    // Spaces over what a longer line has left behind.
    to.print("\r" + line + " ".repeat(Math.max(0, drawn - line.length())));
    to.flush();
    drawn = line.length();
  }

  @Override
  public void close() {
    if (terminal != null && drawn > 0) {
      draw(terminal, "");
      terminal.print("\r");
      terminal.flush();
    }
  }
}
