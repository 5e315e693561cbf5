package io.kvrelay.engine.view;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialExecutor;
import java.util.concurrent.Flow;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A plane whose stream carries whole states: catalog, readiness or load. Asks for one value at a
 * time, so a slow view gets the latest one and nothing piles up.
 *
 * <table>
 * <caption>Fields read from outside the mailbox</caption>
 * <tr><th>field</th><th>mode</th><th>guard</th></tr>
 * <tr><td>receivedAt</td><td>volatile, one immutable object per receipt</td><td>written in the mailbox</td></tr>
 * </table>
 */
final class WatchPlane<T> extends StreamPlane<T> {
  /** The rules of one kind of state. Confined to the plane's mailbox. */
  interface Rules<T> {
    /** A new stream begins: nothing is remembered of the one before. */
    void begin();

    /**
     * Judges a value; changes nothing but what later values are compared with.
     *
     * @return the state to use from now on, or null if the value repeats the current one
     * @throws RelayException if the value breaks a rule and with it the plane
     */
    @Nullable T judge(T value);
  }

  /** Who uses the state. Called in the plane's mailbox. */
  interface Listener<T> {
    /** A new whole state replaces the one before. */
    void replaced(T state);

    /** The state must not be used any longer. */
    void invalidated(String reason);

    /** The report changed. */
    void reported(PlaneKind kind, Report report);
  }

  private final Supplier<Flow.Publisher<T>> source;
  private final Rules<T> rules;
  private final Listener<T> listener;
  private final Freshness freshness = new Freshness();
  private boolean holdsState;

  WatchPlane(
      PlaneKind kind,
      RelayRuntime runtime,
      ViewCounters counters,
      Supplier<Flow.Publisher<T>> source,
      Rules<T> rules,
      Listener<T> listener) {
    super(kind, runtime, counters, new SerialExecutor(runtime.executor()), 1);
    this.source = source;
    this.rules = rules;
    this.listener = listener;
  }

  Freshness freshness() {
    return freshness;
  }

  @Override
  Flow.Publisher<T> publisher() {
    return source.get();
  }

  @Override
  boolean opened() {
    forget("a new stream was opened");
    rules.begin();
    return true;
  }

  @Override
  boolean item(T value) {
    T state = rules.judge(value);
    freshness.received(runtime.nanoTime());
    if (state != null) {
      holdsState = true;
      listener.replaced(state);
    }
    show(PlaneStatus.CURRENT, "current");
    return true;
  }

  @Override
  void dropped(RelayException why) {
    forget(why.reason() + ": " + why.getMessage());
  }

  private void forget(String reason) {
    freshness.forget();
    if (holdsState) {
      holdsState = false;
      listener.invalidated(reason);
    }
  }

  @Override
  void reported(Report report) {
    listener.reported(kind(), report);
  }
}
