package io.kvrelay.transport.grpc;

import com.google.protobuf.MessageLite;
import io.grpc.ServerCall;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A stream of whole states. The latest one that was sent is sent again at an interval, identical;
 * changes do not disturb the interval, which starts with the first message.
 */
final class WatchStream<T, M extends MessageLite> extends FlowStream<T, M> {
  private final MessageMemo<T, M> messages;
  private final Duration heartbeatInterval;
  private @Nullable M latest;
  private @Nullable Ticker ticker;
  private boolean repeatDue;
  private boolean stopped;

  WatchStream(
      StreamContext context,
      StreamKind kind,
      ServerCall<?, M> call,
      MessageMemo<T, M> messages,
      Duration heartbeatInterval) {
    super(context, kind, call);
    this.messages = messages;
    this.heartbeatInterval = heartbeatInterval;
  }

  @Override
  void write(T item) {
    M message = messages.of(item);
    latest = message;
    send(message, message.getSerializedSize());
    if (ticker == null && !stopped) {
      ticker = Ticker.start(context.runtime(), heartbeatInterval, this::tick);
    }
  }

  private void tick() {
    synchronized (lock) {
      repeatDue = true;
      if (isWritable()) {
        writeDue();
      }
    }
  }

  @Override
  void writeDue() {
    M message = latest;
    if (repeatDue && message != null) {
      repeatDue = false;
      send(message, message.getSerializedSize());
    }
  }

  @Override
  void stopTimers() {
    synchronized (lock) {
      stopped = true;
      if (ticker != null) {
        ticker.stop();
      }
    }
  }
}
