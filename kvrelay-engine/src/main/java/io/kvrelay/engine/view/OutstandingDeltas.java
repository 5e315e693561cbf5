package io.kvrelay.engine.view;

/**
 * The deltas of one lane that were admitted and not yet applied or dropped, oldest first, so that
 * the oldest age is read without a scan. Bounded by the queue they wait in. Not thread safe.
 */
final class OutstandingDeltas {
  private long[] ids;
  private int[] images;
  private long[] admittedAtNanos;
  private int head;
  private int size;
  private long totalImages;

  OutstandingDeltas(int capacity) {
    ids = new long[capacity];
    images = new int[capacity];
    admittedAtNanos = new long[capacity];
  }

  boolean isEmpty() {
    return size == 0;
  }

  int size() {
    return size;
  }

  /** Images of all of them. */
  long images() {
    return totalImages;
  }

  long oldestAdmittedAtNanos() {
    return admittedAtNanos[head];
  }

  void add(long id, int imageCount, long nowNanos) {
    if (size == ids.length) {
      grow(); // a lane that moves to another worker may still have deltas at the old one
    }
    int tail = slot(size);
    ids[tail] = id;
    images[tail] = imageCount;
    admittedAtNanos[tail] = nowNanos;
    size++;
    totalImages += imageCount;
  }

  private void grow() {
    long[] nextIds = new long[2 * size];
    int[] nextImages = new int[2 * size];
    long[] nextAdmitted = new long[2 * size];
    for (int i = 0; i < size; i++) {
      nextIds[i] = ids[slot(i)];
      nextImages[i] = images[slot(i)];
      nextAdmitted[i] = admittedAtNanos[slot(i)];
    }
    ids = nextIds;
    images = nextImages;
    admittedAtNanos = nextAdmitted;
    head = 0;
  }

  /** Usually the oldest; the newest after a failed enqueue; anywhere while a lane is torn down. */
  void release(long id) {
    if (size > 0 && ids[head] == id) {
      totalImages -= images[head];
      head = slot(1);
      size--;
    } else if (size > 0 && ids[slot(size - 1)] == id) {
      size--;
      totalImages -= images[slot(size)];
    } else {
      releaseWithin(id);
    }
  }

  private void releaseWithin(long id) {
    for (int i = 1; i < size; i++) {
      if (ids[slot(i)] == id) {
        totalImages -= images[slot(i)];
        for (int j = i + 1; j < size; j++) {
          move(slot(j), slot(j - 1));
        }
        size--;
        return;
      }
    }
  }

  private void move(int from, int to) {
    ids[to] = ids[from];
    images[to] = images[from];
    admittedAtNanos[to] = admittedAtNanos[from];
  }

  private int slot(int fromHead) {
    int at = head + fromHead;
    return at < ids.length ? at : at - ids.length;
  }
}
