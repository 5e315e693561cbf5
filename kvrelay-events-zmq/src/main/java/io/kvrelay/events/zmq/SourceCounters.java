package io.kvrelay.events.zmq;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * One source's counters. One thread counts, any thread reads.
 *
 * <pre>
 *   field         mode                     guarded by
 *   cells[i]      opaque write and read    written by the source's thread alone
 * </pre>
 */
@SuppressWarnings("EnumOrdinal") // the arrays live no longer than the enum
final class SourceCounters {
  private static final VarHandle CELLS = MethodHandles.arrayElementVarHandle(long[].class);
  private static final Counter[] COUNTERS = Counter.values();
  private static final Refusal[] REFUSALS = Refusal.values();
  private static final Medium[] MEDIA = Medium.values();
  private static final WireEvent.Kind[] KINDS = {
    WireEvent.Kind.STORED, WireEvent.Kind.REMOVED, WireEvent.Kind.CLEARED
  };
  private static final int REFUSED = COUNTERS.length;
  private static final int EVENTS = REFUSED + REFUSALS.length;
  private static final String[] LABELS = labels();

  private final long[] cells = new long[LABELS.length];

  private static String[] labels() {
    String[] labels = new String[EVENTS + KINDS.length * MEDIA.length];
    Arrays.setAll(labels, SourceCounters::label);
    return labels;
  }

  private static String label(int cell) {
    if (cell < REFUSED) {
      return COUNTERS[cell].label();
    }
    if (cell < EVENTS) {
      return "refused." + REFUSALS[cell - REFUSED].label();
    }
    int kind = (cell - EVENTS) / MEDIA.length;
    int medium = (cell - EVENTS) % MEDIA.length;
    return "events." + KINDS[kind].name().toLowerCase(Locale.ROOT) + "." + MEDIA[medium].label();
  }

  void add(Counter counter, long amount) {
    add(counter.ordinal(), amount);
  }

  void increment(Counter counter) {
    add(counter.ordinal(), 1);
  }

  void refused(Refusal refusal) {
    add(REFUSED + refusal.ordinal(), 1);
  }

  /** An event of one of the three known kinds. */
  void event(WireEvent.Kind kind, Medium medium) {
    add(EVENTS + kind.ordinal() * MEDIA.length + medium.ordinal(), 1);
  }

  private void add(int cell, long amount) {
    CELLS.setOpaque(cells, cell, cells[cell] + amount);
  }

  long get(Counter counter) {
    return (long) CELLS.getOpaque(cells, counter.ordinal());
  }

  long get(Refusal refusal) {
    return (long) CELLS.getOpaque(cells, REFUSED + refusal.ordinal());
  }

  /** All counters by name, in a stable order. */
  Map<String, Long> snapshot() {
    Map<String, Long> snapshot = new LinkedHashMap<>();
    for (int i = 0; i < cells.length; i++) {
      snapshot.put(LABELS[i], (long) CELLS.getOpaque(cells, i));
    }
    return snapshot;
  }
}
