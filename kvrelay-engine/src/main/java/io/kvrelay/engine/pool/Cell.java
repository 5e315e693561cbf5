package io.kvrelay.engine.pool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A number that one thread at a time writes and any thread reads.
 *
 * <pre>
 *   field  mode                            guarded by
 *   value  plain read, opaque write        the pool's owner, one at a time
 *          opaque read                     nothing: a reader sees some recent value, never a torn one
 * </pre>
 */
final class Cell {
  private static final VarHandle VALUE;

  static {
    try {
      VALUE = MethodHandles.lookup().findVarHandle(Cell.class, "value", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private long value;

  /** Owner only. */
  void add(long more) {
    VALUE.setOpaque(this, value + more);
  }

  /** Owner only. */
  void increment() {
    add(1);
  }

  /** Owner only. */
  void set(long now) {
    VALUE.setOpaque(this, now);
  }

  /** Any thread. */
  long get() {
    return (long) VALUE.getOpaque(this);
  }
}
