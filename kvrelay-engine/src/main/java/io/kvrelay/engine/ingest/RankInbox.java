package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEventBatch;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * What waits for one rank, in order: batches, at most as many as configured, and work. A batch that
 * finds it full is lost and leaves a mark in its place, so that the loss is known when its turn
 * comes even if no later batch would show it. Thread safe; a lock is held for a few instructions.
 */
final class RankInbox {
  /** A batch for an activation. */
  record Delivery(Binding binding, KvEventBatch batch) {}

  /** Here something of an activation was lost. */
  record Loss(Binding binding, String reason) {}

  /** Here the stream of an activation broke. */
  record Break(Binding binding, String reason) {}

  private final int capacity;
  private final ArrayDeque<Object> items = new ArrayDeque<>();
  private int batches;
  // Marks since the last accepted batch: one of a kind is enough, and they are bounded.
  private @Nullable Binding lossMark;
  private @Nullable Binding breakMark;

  RankInbox(int capacity) {
    this.capacity = capacity;
  }

  /** False if there was no room, and the loss is marked. */
  synchronized boolean offer(Binding binding, KvEventBatch batch) {
    if (batches == capacity) {
      lost(new Loss(binding, "the rank's inbox was full"));
      return false;
    }
    batches++;
    items.add(new Delivery(binding, batch));
    lossMark = null;
    breakMark = null;
    return true;
  }

  synchronized void lost(Loss loss) {
    if (lossMark != loss.binding()) {
      lossMark = loss.binding();
      items.add(loss);
    }
  }

  synchronized void broke(Break broken) {
    if (breakMark != broken.binding()) {
      breakMark = broken.binding();
      items.add(broken);
    }
  }

  synchronized void post(Runnable work) {
    items.add(work);
  }

  synchronized @Nullable Object poll() {
    Object item = items.poll();
    if (item instanceof Delivery) {
      batches--;
    } else if (item instanceof Loss) {
      lossMark = null;
    } else if (item instanceof Break) {
      breakMark = null;
    }
    return item;
  }

  synchronized int batches() {
    return batches;
  }
}
