package io.kvrelay.transport.grpc;

import io.grpc.ServerCall;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.runtime.RelayRuntime;
import org.jspecify.annotations.Nullable;

/**
 * One subscriber of one generation. Frames pass unchanged. Once the whole snapshot has been handed
 * to the transport, a heartbeat at the last sequence follows each interval without a frame.
 */
final class PoolStream extends FlowStream<PublicationFrame, FilterMessage> {
  private static final int BUCKETS_PER_CHUNK = 524_288;

  private final ProducerIdentity producer;
  private final byte[] identities;
  private final long heartbeatNanos;
  private int chunksMissing;
  private long sequence;
  private long lastWriteNanos;
  private boolean heartbeatDue;
  private boolean stopped;
  private RelayRuntime.@Nullable Timer timer;

  PoolStream(StreamContext context, ServerCall<?, FilterMessage> call, ProducerIdentity producer) {
    super(context, StreamKind.POOL, call);
    this.producer = producer;
    this.identities = FilterMessage.identities(context.relay(), producer);
    this.heartbeatNanos = Nanos.of(context.limits().poolHeartbeatInterval());
    this.chunksMissing =
        (producer.format().bucketCount() + BUCKETS_PER_CHUNK - 1) / BUCKETS_PER_CHUNK;
  }

  @Override
  void write(PublicationFrame frame) {
    if (!frame.producer().equals(producer)) {
      fail(RelayErrorReason.INVALID_PUBLICATION, "frame of another generation: " + frame);
      return;
    }
    sendFrame(frame);
    sequence = frame.sequence();
    if (frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK && --chunksMissing == 0) {
      schedule(heartbeatNanos);
    }
  }

  private void sendFrame(PublicationFrame frame) {
    FilterMessage message = FilterMessage.of(identities, frame, context.nowMicros());
    heartbeatDue = false;
    lastWriteNanos = context.runtime().nanoTime();
    send(message, message.bytes());
  }

  private void schedule(long delayNanos) {
    if (!stopped && !isEnded()) {
      timer = context.runtime().schedule(delayNanos, this::tick);
    }
  }

  /** One timer a stream, not one a frame: a tick after recent writes only waits for the rest. */
  private void tick() {
    synchronized (lock) {
      long quiet = context.runtime().nanoTime() - lastWriteNanos;
      if (quiet < heartbeatNanos) {
        schedule(heartbeatNanos - quiet);
        return;
      }
      heartbeatDue = true;
      if (isWritable()) {
        writeDue();
      }
      schedule(heartbeatNanos);
    }
  }

  @Override
  void writeDue() {
    if (heartbeatDue) {
      context.counters().poolHeartbeat();
      sendFrame(PublicationFrame.heartbeat(producer, sequence, 0));
    }
  }

  @Override
  void stopTimers() {
    synchronized (lock) {
      stopped = true;
      if (timer != null) {
        timer.cancel();
      }
    }
  }
}
