package io.kvrelay.transport.inproc;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.flow.Demand;
import io.kvrelay.api.flow.StateWatch;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialTask;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;

/** A source whose every message a test sends by hand; its pool streams bound their queue to 16. */
final class ScriptedSource implements RelayPublicationSource {
  private static final int QUEUE = 16;

  final RelayRuntime runtime;
  final RelayIdentity identity;
  final StateWatch<PoolCatalog> catalog;
  final StateWatch<TopologySnapshot> readiness;
  final StateWatch<LoadSnapshot> load;
  final CompletableFuture<Void> shutdown = new CompletableFuture<>();
  final List<Stream> streams = new CopyOnWriteArrayList<>();
  int chunks = 1;
  boolean completeAfterChunks;

  ScriptedSource(RelayRuntime runtime, long incarnation) {
    this.runtime = runtime;
    this.identity = new RelayIdentity(1, incarnation);
    this.catalog = new StateWatch<>(runtime.executor(), PoolCatalog.EMPTY);
    this.readiness = new StateWatch<>(runtime.executor(), TopologySnapshot.EMPTY);
    this.load = new StateWatch<>(runtime.executor(), LoadSnapshot.EMPTY);
  }

  /** Advertises one pool and returns its identity. */
  ProducerIdentity advertise(int number, long generation, int bucketCount) {
    ProducerIdentity producer =
        new ProducerIdentity(
            poolId(number),
            identity.incarnation(),
            generation,
            new CkfFormat(CkfFormat.DEFAULT_SEED, bucketCount));
    List<PoolDescriptor> pools = new ArrayList<>(catalog.value().pools());
    pools.removeIf(pool -> pool.poolId().equals(producer.poolId()));
    pools.add(
        new PoolDescriptor(
            producer,
            new EndpointId("ns", "backend", "generate"),
            List.of(ModelRegistration.base("llama")),
            new QuerySemantics(64, QueryHashFormat.DYNAMO_STANDARD_V1),
            List.of(WorkerRole.LEGACY)));
    catalog.publish(new PoolCatalog(catalog.value().revision() + 1, pools));
    return producer;
  }

  static PoolId poolId(int number) {
    Digest digest =
        Digest.of(new byte[] {(byte) number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
    return new PoolId(
        new IndexerDomainId(
            new CacheSemanticsId(digest, IdentitySource.EXPLICIT),
            new RoutingScopeId(digest, IdentitySource.EXPLICIT)),
        new DcId(3));
  }

  @Override
  public RelayIdentity relayIdentity() {
    return identity;
  }

  @Override
  public Flow.Publisher<PoolCatalog> catalog() {
    return catalog;
  }

  @Override
  public Flow.Publisher<TopologySnapshot> readiness() {
    return readiness;
  }

  @Override
  public Flow.Publisher<LoadSnapshot> load() {
    return load;
  }

  @Override
  public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
    return subscriber -> {
      Stream stream = new Stream(expected, subscriber);
      streams.add(stream);
      stream.error = refusal(expected);
      if (stream.error != null) {
        stream.queue.clear(); // a refused stream has nothing that its end would have to wait behind
      }
      stream.run.wake();
    };
  }

  private RelayException refusal(ProducerIdentity expected) {
    for (PoolDescriptor pool : catalog.value().pools()) {
      if (pool.poolId().equals(expected.poolId())) {
        return pool.producer().equals(expected)
            ? null
            : new RelayException(RelayErrorReason.PRODUCER_CHANGED, "another generation");
      }
    }
    return new RelayException(RelayErrorReason.POOL_NOT_FOUND, "unknown");
  }

  @Override
  public CompletionStage<Void> shutdown() {
    return shutdown;
  }

  /** Sends one delta to every open stream. */
  void delta() {
    streams.forEach(Stream::delta);
  }

  int openStreams() {
    return (int) streams.stream().filter(stream -> !stream.cancelled && !stream.done).count();
  }

  /** One pool stream: chunks, then what the test sends. */
  final class Stream implements Flow.Subscription {
    final ProducerIdentity producer;
    final Flow.Subscriber<? super PublicationFrame> subscriber;
    final SerialTask run;
    final Demand demand = new Demand();
    final Queue<PublicationFrame> queue = new ArrayDeque<>();
    volatile boolean cancelled;
    boolean started;
    boolean done;
    boolean completing;
    Throwable error;
    long sequence;
    long delivered;

    Stream(ProducerIdentity producer, Flow.Subscriber<? super PublicationFrame> subscriber) {
      this.producer = producer;
      this.subscriber = subscriber;
      this.run = new SerialTask(runtime.executor(), this::run);
      this.completing = completeAfterChunks;
      for (int i = 0; i < chunks; i++) {
        queue.add(frame(PublicationFrame.Kind.SNAPSHOT_CHUNK, 0, 0));
      }
    }

    private PublicationFrame frame(PublicationFrame.Kind kind, long base, long next) {
      return new PublicationFrame(producer, kind, base, next, ByteBuffer.allocate(8), 0);
    }

    synchronized void delta() {
      queue.add(frame(PublicationFrame.Kind.DELTA, sequence, ++sequence));
      if (queue.size() > QUEUE) {
        queue.clear();
        error = new RelayException(RelayErrorReason.SUBSCRIBER_LAGGED, "ran over");
      }
      run.wake();
    }

    void fail(RelayErrorReason reason) {
      error = new RelayException(reason, "scripted");
      run.wake();
    }

    void complete() {
      completing = true;
      run.wake();
    }

    @Override
    public void request(long n) {
      demand.add(n);
      run.wake();
    }

    @Override
    public void cancel() {
      cancelled = true;
    }

    private synchronized void run() {
      if (cancelled || done) {
        return;
      }
      if (!started) {
        started = true;
        subscriber.onSubscribe(this);
      }
      while (!cancelled && !queue.isEmpty() && demand.tryTake()) {
        delivered++;
        subscriber.onNext(queue.remove());
      }
      if (error != null) {
        done = true;
        subscriber.onError(error);
      } else if (completing && queue.isEmpty()) {
        done = true;
        subscriber.onComplete();
      }
    }
  }
}
