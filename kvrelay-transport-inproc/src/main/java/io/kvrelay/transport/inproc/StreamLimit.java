package io.kvrelay.transport.inproc;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** Counts the open streams of one type and refuses those above its limit. Thread safe. */
final class StreamLimit {
  private final StreamType type;
  private final int limit;
  private final AtomicInteger open = new AtomicInteger();
  private final LongAdder refused = new LongAdder();
  private final LongAdder lagged = new LongAdder();

  StreamLimit(StreamType type, int limit) {
    this.type = type;
    this.limit = limit;
  }

  void acquire() {
    int before;
    do {
      before = open.get();
      if (before >= limit) {
        refused.increment();
        throw new RelayException(
            RelayErrorReason.RESOURCE_LIMIT, type.limitKey() + " = " + limit + " reached");
      }
    } while (!open.compareAndSet(before, before + 1));
  }

  void release() {
    open.decrementAndGet();
  }

  /** Notes how a stream ended. */
  void ended(Throwable error) {
    if (error instanceof RelayException relay
        && relay.reason() == RelayErrorReason.SUBSCRIBER_LAGGED) {
      lagged.increment();
    }
  }

  int open() {
    return open.get();
  }

  InprocStatistics.Streams statistics() {
    return new InprocStatistics.Streams(open.get(), refused.sum(), lagged.sum());
  }
}
