package io.kvrelay.engine.publication;

import io.kvrelay.api.ProducerIdentity;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One subscriber at a hub: the snapshot it starts from, shared with the hub, and the deltas that
 * continue it. Thread safe.
 */
final class HubSubscription implements AutoCloseable {
  private final PublicationHub hub;
  private final long id;
  private final ProducerIdentity producer;
  private final long snapshotSequence;
  private final Mirror mirror;
  private final SubscriberQueue queue;
  private final AtomicBoolean snapshotReleased = new AtomicBoolean();

  /** Takes over one pin of the mirror. */
  HubSubscription(
      PublicationHub hub,
      long id,
      ProducerIdentity producer,
      long snapshotSequence,
      Mirror mirror,
      SubscriberQueue queue) {
    this.hub = hub;
    this.id = id;
    this.producer = producer;
    this.snapshotSequence = snapshotSequence;
    this.mirror = mirror;
    this.queue = queue;
  }

  long id() {
    return id;
  }

  ProducerIdentity producer() {
    return producer;
  }

  long snapshotSequence() {
    return snapshotSequence;
  }

  FrameEncoder encoder() {
    return hub.encoder();
  }

  /** The snapshot's words; not to be touched after {@link #releaseSnapshot()}. */
  long[] words() {
    return mirror.words();
  }

  SubscriberQueue queue() {
    return queue;
  }

  /** Lets the hub write to the mirror again. Idempotent. */
  void releaseSnapshot() {
    if (snapshotReleased.compareAndSet(false, true)) {
      mirror.unpin();
    }
  }

  /** Deregisters; does not release the snapshot, which an encoder may still be reading. */
  @Override
  public void close() {
    queue.close();
    hub.remove(this);
  }
}
