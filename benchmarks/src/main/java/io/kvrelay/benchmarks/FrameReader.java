package io.kvrelay.benchmarks;

import io.kvrelay.api.PublicationFrame;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** One subscriber of the pool of a {@link LoadedRelay}: asks for everything. */
abstract class FrameReader implements Flow.Subscriber<PublicationFrame> {
  private volatile Flow.@Nullable Subscription subscription;
  private int chunks;

  /** The snapshot is complete. */
  abstract void onSnapshot();

  abstract void onDelta(PublicationFrame delta);

  @Override
  public final void onSubscribe(Flow.Subscription s) {
    subscription = s;
    s.request(Long.MAX_VALUE);
  }

  @Override
  public final void onNext(PublicationFrame frame) {
    switch (frame.kind()) {
      case SNAPSHOT_CHUNK -> {
        if (++chunks == LoadedRelay.CHUNKS) {
          onSnapshot();
        }
      }
      case DELTA -> onDelta(frame);
      case HEARTBEAT -> {}
    }
  }

  @Override
  public final void onError(Throwable failure) {
    System.err.println("a stream failed: " + failure);
  }

  @Override
  public final void onComplete() {}

  final void cancel() {
    Flow.Subscription s = subscription;
    if (s != null) {
      s.cancel();
    }
  }
}
