package io.kvrelay.transport.grpc;

import java.util.concurrent.atomic.LongAdder;

/** What a connection counts. Thread safe; counters only grow. */
final class ClientCounters {
  private final LongAdder messages = new LongAdder();
  private final LongAdder payloadBytes = new LongAdder();
  private final LongAdder refusedMessages = new LongAdder();
  private final LongAdder quarantinedEntries = new LongAdder();
  private final LongAdder endedStreams = new LongAdder();

  void message() {
    messages.increment();
  }

  void payload(int bytes) {
    payloadBytes.add(bytes);
  }

  void refusedMessage() {
    refusedMessages.increment();
  }

  void quarantined(int entries) {
    quarantinedEntries.add(entries);
  }

  void endedStream() {
    endedStreams.increment();
  }

  GrpcConnectionStatistics snapshot(int openStreams) {
    return new GrpcConnectionStatistics(
        openStreams,
        messages.sum(),
        payloadBytes.sum(),
        refusedMessages.sum(),
        quarantinedEntries.sum(),
        endedStreams.sum());
  }
}
