package io.kvrelay.testkit.transport;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialExecutor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** One generation of a {@link ScriptedSource}. Thread safe, never blocks. */
public final class ScriptedPool {
  private final RelayRuntime runtime;
  private final ProducerIdentity producer;
  private final int queueFrames;
  private final List<Stream> streams = new CopyOnWriteArrayList<>();
  // Guarded by itself: who subscribes meanwhile gets a kept frame once.
  private final List<PublicationFrame> opening;

  ScriptedPool(
      RelayRuntime runtime,
      ProducerIdentity producer,
      List<PublicationFrame> snapshot,
      int queueFrames) {
    this.runtime = runtime;
    this.producer = producer;
    this.queueFrames = queueFrames;
    this.opening = new ArrayList<>(snapshot);
  }

  /**
   * Its generation.
   *
   * @return the producer
   */
  public ProducerIdentity producer() {
    return producer;
  }

  /**
   * Open subscriptions.
   *
   * @return subscriptions
   */
  public int subscribers() {
    return streams.size();
  }

  /**
   * Sends a frame to every subscriber. One with too many frames waiting is ended as lagged.
   *
   * @param frame the frame
   */
  public void publish(PublicationFrame frame) {
    streams.forEach(stream -> stream.offer(frame));
  }

  /**
   * Sends a frame to every subscriber, and to every later one behind the snapshot.
   *
   * @param frame the frame
   */
  public void publishAndKeep(PublicationFrame frame) {
    synchronized (opening) {
      opening.add(frame);
      publish(frame);
    }
  }

  /**
   * Fails every open stream; what waits is dropped.
   *
   * @param failure how
   */
  public void fail(Throwable failure) {
    streams.forEach(stream -> stream.end(failure));
  }

  void complete() {
    streams.forEach(stream -> stream.end(null));
  }

  void subscribe(Flow.Subscriber<? super PublicationFrame> subscriber) {
    synchronized (opening) {
      Stream stream = new Stream(subscriber, opening);
      // Before it delivers anything: who sees the snapshot may already fail the pool.
      streams.add(stream);
      stream.start();
    }
  }

  private final class Stream implements Flow.Subscription {
    private final Flow.Subscriber<? super PublicationFrame> subscriber;
    private final SerialExecutor mailbox = new SerialExecutor(runtime.executor());
    // Guarded by this.
    private final ArrayDeque<PublicationFrame> waiting = new ArrayDeque<>();
    private long demand;
    private boolean over;

    private Stream(
        Flow.Subscriber<? super PublicationFrame> subscriber, List<PublicationFrame> first) {
      this.subscriber = subscriber;
      waiting.addAll(first);
    }

    private void start() {
      mailbox.execute(() -> subscriber.onSubscribe(this));
    }

    private void offer(PublicationFrame frame) {
      boolean lagged;
      synchronized (this) {
        lagged = waiting.size() >= queueFrames;
        if (!lagged) {
          waiting.add(frame);
        }
      }
      if (lagged) {
        end(new RelayException(RelayErrorReason.SUBSCRIBER_LAGGED, queueFrames + " frames wait"));
      } else {
        mailbox.execute(this::deliver);
      }
    }

    private void deliver() {
      PublicationFrame frame = take();
      while (frame != null) {
        subscriber.onNext(frame);
        frame = take();
      }
    }

    private synchronized @Nullable PublicationFrame take() {
      if (over || demand == 0 || waiting.isEmpty()) {
        return null;
      }
      demand -= demand == Long.MAX_VALUE ? 0 : 1;
      return waiting.remove();
    }

    private void end(@Nullable Throwable failure) {
      synchronized (this) {
        if (over) {
          return;
        }
        over = true;
        waiting.clear();
      }
      streams.remove(this);
      mailbox.execute(failure == null ? subscriber::onComplete : () -> subscriber.onError(failure));
    }

    @Override
    public void request(long n) {
      synchronized (this) {
        demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
      }
      mailbox.execute(this::deliver);
    }

    @Override
    public void cancel() {
      synchronized (this) {
        over = true;
        waiting.clear();
      }
      streams.remove(this);
    }
  }
}
