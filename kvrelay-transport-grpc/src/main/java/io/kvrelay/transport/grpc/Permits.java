package io.kvrelay.transport.grpc;

import java.util.concurrent.atomic.AtomicInteger;

/** A fail-fast limit on streams that are open at a time. Thread safe. */
final class Permits {
  private final AtomicInteger taken = new AtomicInteger();
  private final int limit;

  Permits(int limit) {
    this.limit = limit;
  }

  boolean tryAcquire() {
    int now = taken.get();
    while (now < limit) {
      int seen = taken.compareAndExchange(now, now + 1);
      if (seen == now) {
        return true;
      }
      now = seen;
    }
    return false;
  }

  void release() {
    taken.decrementAndGet();
  }

  int taken() {
    return taken.get();
  }

  int limit() {
    return limit;
  }
}
