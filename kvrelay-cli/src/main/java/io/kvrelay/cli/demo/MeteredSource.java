package io.kvrelay.cli.demo;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.engine.cbi1.Cbi1;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.LongAdder;

/**
 * A source that counts what passes through it. Stands between a transport and the view, which can
 * tell it from no other source. Thread safe.
 */
final class MeteredSource implements RelayPublicationSource {
  private final RelayPublicationSource source;
  private final Traffic traffic;

  /** What passed, over any number of sources. Thread safe. */
  static final class Traffic {
    private final LongAdder snapshotBytes = new LongAdder();
    private final LongAdder deltaBytes = new LongAdder();
    private final LongAdder deltas = new LongAdder();
    private final LongAdder images = new LongAdder();

    private void count(PublicationFrame frame) {
      switch (frame.kind()) {
        case SNAPSHOT_CHUNK -> snapshotBytes.add(frame.payloadBytes());
        case DELTA -> {
          deltas.increment();
          deltaBytes.add(frame.payloadBytes());
          images.add(imageCount(frame));
        }
        case HEARTBEAT -> {}
      }
    }

    private static int imageCount(PublicationFrame delta) {
      return (delta.payloadBytes() - Cbi1.HEADER_BYTES - Cbi1.DELTA_PREFIX_BYTES)
          / Cbi1.IMAGE_BYTES;
    }

    long snapshotBytes() {
      return snapshotBytes.sum();
    }

    long deltaBytes() {
      return deltaBytes.sum();
    }

    long deltas() {
      return deltas.sum();
    }

    long images() {
      return images.sum();
    }
  }

  MeteredSource(RelayPublicationSource source, Traffic traffic) {
    this.source = source;
    this.traffic = traffic;
  }

  @Override
  public RelayIdentity relayIdentity() {
    return source.relayIdentity();
  }

  @Override
  public Flow.Publisher<PoolCatalog> catalog() {
    return source.catalog();
  }

  @Override
  public Flow.Publisher<TopologySnapshot> readiness() {
    return source.readiness();
  }

  @Override
  public Flow.Publisher<LoadSnapshot> load() {
    return source.load();
  }

  @Override
  public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
    Flow.Publisher<PublicationFrame> publisher = source.pool(expected);
    return subscriber -> publisher.subscribe(new Meter(subscriber, traffic));
  }

  @Override
  public CompletionStage<Void> shutdown() {
    return source.shutdown();
  }

  private record Meter(Flow.Subscriber<? super PublicationFrame> subscriber, Traffic traffic)
      implements Flow.Subscriber<PublicationFrame> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscriber.onSubscribe(subscription);
    }

    @Override
    public void onNext(PublicationFrame frame) {
      traffic.count(frame);
      subscriber.onNext(frame);
    }

    @Override
    public void onError(Throwable failure) {
      subscriber.onError(failure);
    }

    @Override
    public void onComplete() {
      subscriber.onComplete();
    }
  }
}
