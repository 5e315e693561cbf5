package io.kvrelay.engine.publication;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Something that happens once. Listeners that come later are not called: they look at {@link
 * #isFired()} after they have been added. Thread safe; listeners run on the thread that fires.
 */
final class Signal {
  private final Set<Runnable> listeners = new LinkedHashSet<>();
  private volatile boolean fired;

  boolean isFired() {
    return fired;
  }

  void fire() {
    List<Runnable> toCall;
    synchronized (listeners) {
      fired = true;
      toCall = new ArrayList<>(listeners);
      listeners.clear();
    }
    toCall.forEach(Runnable::run);
  }

  void add(Runnable listener) {
    synchronized (listeners) {
      listeners.add(listener);
    }
  }

  void remove(Runnable listener) {
    synchronized (listeners) {
      listeners.remove(listener);
    }
  }

  int listeners() {
    synchronized (listeners) {
      return listeners.size();
    }
  }
}
