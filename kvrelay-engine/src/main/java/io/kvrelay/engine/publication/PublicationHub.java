package io.kvrelay.engine.publication;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.SerialTask;
import io.kvrelay.engine.cbi1.Cbi1;
import io.kvrelay.engine.pool.DeltaReceiver;
import io.kvrelay.engine.pool.PoolDelta;
import io.kvrelay.engine.pool.PoolProducer;
import io.kvrelay.engine.pool.PoolSnapshot;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Fans one generation's deltas out: holds the lease and a mirror of the filter, encodes each delta
 * once, and hands the same frame to every subscriber.
 *
 * <p>All state belongs to one {@link SerialTask}. A run first does what was asked of it (subscribe,
 * remove, claim, retire), then advances by deltas. At most one delta is under way: large encodings
 * and copies of a pinned mirror run beside the hub, which stays open for requests meanwhile and
 * drops the result if it has ended. A delta is fanned out and installed in the mirror in one step,
 * so that a subscriber has it either in its snapshot or in its queue.
 *
 * <table>
 * <caption>Fields</caption>
 * <tr><th>field</th><th>access</th><th>guarded by</th></tr>
 * <tr><td>requests</td><td>concurrent queue</td><td>-</td></tr>
 * <tr><td>state, subscriberCount, lastError</td><td>volatile</td><td>written by the run
 * </td></tr>
 * <tr><td>work.cancelled, work.done</td><td>volatile</td><td>written by the run; by the
 * helper</td></tr>
 * <tr><td>all other</td><td>plain</td><td>the run</td></tr>
 * </table>
 */
final class PublicationHub {
  /** Whom a hub reports to, on its own run. */
  interface Owner {
    void ready(PublicationHub hub);

    /** The hub is of no use any more: it could not start, or its publication is faulty. */
    void failed(PublicationHub hub, RelayException error);

    /** The lease is retired and the mirror dropped. The last call. */
    void closed(PublicationHub hub);
  }

  /** Receives the answer to a subscription, on the hub's run. */
  interface Subscriber {
    void subscribed(HubSubscription subscription);

    void refused(RelayException error);

    /** Called from any thread when the queue has news. */
    void wake();
  }

  /** What became of an eviction. */
  enum Eviction {
    DONE,
    /** The hub is in use, or not ready. */
    REFUSED,
    /** The hub has ended, but its lease may still be held. */
    FAILED
  }

  enum State {
    STARTING,
    READY,
    RECOVERING,
    CLOSED
  }

  private static final int DELTAS_PER_RUN = 32;

  /** Up to this many images a delta is encoded where it is found: 12 KiB take microseconds. */
  private static final int INLINE_IMAGES = 1024;

  private final PublicationContext context;
  private final PoolProducer producer;
  private final ProducerIdentity identity;
  private final LaneLease lease;
  private final Owner owner;
  private final FrameEncoder encoder;
  private final SerialTask run;
  private final Queue<Runnable> requests = new ConcurrentLinkedQueue<>();
  private final List<Subscriber> awaitingRecovery = new ArrayList<>();
  private final Map<Long, SubscriberQueue> subscribers = new LinkedHashMap<>();
  private final List<Long> toRemove = new ArrayList<>();

  private volatile State state = State.STARTING;
  private volatile int subscriberCount;
  private volatile @Nullable RelayException lastError;
  private @Nullable Mirror mirror;
  private @Nullable DeltaReceiver deltas;
  private @Nullable DeltaWork work;
  private long sequence;
  private long lastSubscriberId;

  PublicationHub(PublicationContext context, PoolProducer producer, Owner owner) {
    this.context = context;
    this.producer = producer;
    this.identity = producer.identity();
    this.lease = new LaneLease(identity.producerIncarnation(), 0, identity.layoutGeneration());
    this.owner = owner;
    this.encoder = context.encoders().of(identity);
    this.run = new SerialTask(context.runtime().executor(), this::run);
  }

  boolean isReady() {
    return state == State.READY;
  }

  FrameEncoder encoder() {
    return encoder;
  }

  int subscriberCount() {
    return subscriberCount;
  }

  @Nullable RelayException lastError() {
    return lastError;
  }

  // Requests: from any thread.

  void start() {
    request(this::takeSnapshot);
  }

  void subscribe(Subscriber subscriber) {
    request(() -> admit(subscriber));
  }

  void remove(HubSubscription subscription) {
    request(() -> removeSubscriber(subscription.id()));
  }

  /**
   * Ends the hub if nobody uses it.
   *
   * @param answer told once the lease is retired, or at once if the hub goes on; stands in for
   *     {@link Owner#closed}
   */
  void evictIfIdle(Consumer<Eviction> answer) {
    request(
        () -> {
          Mirror held = mirror;
          boolean idle =
              state == State.READY && subscribers.isEmpty() && held != null && !held.isPinned();
          if (idle) {
            close(
                unavailable("the idle hub was evicted"),
                error -> answer.accept(error == null ? Eviction.DONE : Eviction.FAILED));
          } else {
            answer.accept(Eviction.REFUSED);
          }
        });
  }

  /** Ends the hub and its subscriptions. Idempotent. */
  void retire() {
    request(() -> close(unavailable("the generation was retired")));
  }

  private void request(Runnable request) {
    requests.add(request);
    run.wake();
  }

  // Everything below runs on the hub's own task.

  private void run() {
    try {
      Runnable request = requests.poll();
      while (request != null) {
        request.run();
        request = requests.poll();
      }
      advance();
    } catch (RuntimeException | Error e) {
      run.wake(); // there may be more requests, and they want an answer
      fail(
          new RelayException(
              RelayErrorReason.INTERNAL,
              RelayErrorReason.INTERNAL.action(),
              "the hub failed: " + e,
              e));
    }
  }

  private void advance() {
    for (int i = 0; i < DELTAS_PER_RUN; i++) {
      DeltaWork current = work;
      if (current != null && !advance(current)) {
        return;
      }
      if (state != State.READY || !takeDelta()) {
        return;
      }
    }
    run.wake(); // lets others run in between
  }

  /** Begins with the next delta, if there is one. */
  private boolean takeDelta() {
    DeltaReceiver receiver = Objects.requireNonNull(deltas);
    PoolDelta delta = receiver.poll();
    if (receiver.isOverrun()) {
      recover("the hub fell more than " + DeltaReceiver.CAPACITY + " deltas behind its pool");
      return false;
    }
    if (delta == null) {
      if (receiver.isClosed()) {
        delta = receiver.poll(); // what came between the first look and the closing
        if (delta == null) {
          fail(unavailable("the pool closed its delta channel"));
          return false;
        }
      } else {
        return false;
      }
    }
    String fault = faultOf(delta);
    if (!fault.isEmpty()) {
      fail(new RelayException(RelayErrorReason.INVALID_PUBLICATION, fault));
      return false;
    }
    if (delta.buckets().length > Cbi1.MAX_DELTA_IMAGES) {
      recover("a delta has " + delta.buckets().length + " images");
      return false;
    }
    begin(delta);
    return true;
  }

  private String faultOf(PoolDelta delta) {
    if (!delta.identity().equals(identity)) {
      return "a delta of " + delta.identity() + " arrived at the hub of " + identity;
    }
    if (!delta.lease().equals(lease)) {
      return "a delta of " + delta.lease() + " arrived under " + lease;
    }
    if (delta.baseSequence() != sequence || delta.sequence() != sequence + 1 || sequence == -1L) {
      return "delta "
          + Long.toUnsignedString(delta.baseSequence())
          + "->"
          + Long.toUnsignedString(delta.sequence())
          + " does not continue sequence "
          + Long.toUnsignedString(sequence);
    }
    int bucketCount = identity.format().bucketCount();
    for (int bucket : delta.buckets()) {
      if (bucket < 0 || bucket >= bucketCount) {
        return "bucket " + Integer.toUnsignedString(bucket) + " of " + bucketCount;
      }
    }
    return delta.buckets().length == delta.words().length ? "" : "a delta of uneven arrays";
  }

  /** The short ways need no helper and no object; the long way is {@link DeltaWork}. */
  private void begin(PoolDelta delta) {
    Mirror held = Objects.requireNonNull(mirror);
    boolean simple = !held.isPinned();
    if (simple && subscribers.isEmpty()) {
      held.apply(delta.buckets(), delta.words());
      sequence = delta.sequence();
      return;
    }
    if (simple && delta.buckets().length <= INLINE_IMAGES && context.deltaPermits().tryAcquire()) {
      PublicationFrame frame;
      try {
        frame = encode(delta);
      } finally {
        context.deltaPermits().release();
      }
      install(delta, frame, held);
      return;
    }
    work = new DeltaWork(delta);
  }

  private PublicationFrame encode(PoolDelta delta) {
    PublicationFrame frame =
        new PublicationFrame(
            identity,
            PublicationFrame.Kind.DELTA,
            delta.baseSequence(),
            delta.sequence(),
            encoder.delta(delta),
            0);
    context.counters().encoded(frame);
    return frame;
  }

  /**
   * Does what a delta still needs; looked at again after each step, for a subscriber may have come
   * or a reader may have pinned the mirror meanwhile.
   *
   * @return false if it has to wait
   */
  private boolean advance(DeltaWork current) {
    if (current.isRunning()) {
      return false;
    }
    Throwable error = current.error;
    if (error != null) {
      fail(
          new RelayException(
              RelayErrorReason.INVALID_PUBLICATION,
              RelayErrorReason.INVALID_PUBLICATION.action(),
              "delta encoding failed: " + error,
              error));
      return false;
    }
    if (current.frame == null && !subscribers.isEmpty()) {
      return startEncoding(current);
    }
    Mirror held = Objects.requireNonNull(mirror);
    if (current.copy == null && held.isPinned()) {
      return beside(
          current,
          () -> current.copy = held.copyAndApply(current.delta.buckets(), current.delta.words()));
    }
    work = null;
    current.releasePermit(); // those it was for may have left while it waited
    install(current.delta, current.frame, current.copy == null ? held : current.copy);
    return true;
  }

  private boolean startEncoding(DeltaWork current) {
    Permits.Ticket permit = current.permit;
    if (permit == null) {
      permit = context.deltaPermits().acquire(run::wake);
      current.permit = permit;
    }
    if (!permit.isGranted()) {
      return false;
    }
    Permits.Ticket held = permit;
    return beside(
        current,
        () -> {
          try {
            if (!current.cancelled) {
              current.frame = encode(current.delta);
            }
          } finally {
            held.close();
          }
        });
  }

  private boolean beside(DeltaWork current, Runnable step) {
    current.running = true;
    try {
      context
          .runtime()
          .executor()
          .execute(
              () -> {
                try {
                  step.run();
                } catch (RuntimeException | Error e) {
                  current.error = e;
                } finally {
                  current.running = false;
                  run.wake();
                }
              });
    } catch (RejectedExecutionException stopped) {
      current.running = false;
      close(unavailable("the executor was stopped"));
    }
    return false;
  }

  /** One step for all subscribers present: fan out, then move the mirror on. */
  private void install(PoolDelta delta, @Nullable PublicationFrame frame, Mirror next) {
    if (frame != null) {
      fanOut(frame);
    }
    if (next == mirror) {
      next.apply(delta.buckets(), delta.words());
    } else {
      mirror = next;
    }
    sequence = delta.sequence();
  }

  private void fanOut(PublicationFrame frame) {
    subscribers.forEach(
        (id, queue) -> {
          if (!queue.offer(frame)) {
            toRemove.add(id);
            if (queue.state() == SubscriberQueue.State.LAGGED) {
              context.counters().lagged();
            }
          }
        });
    context.counters().fannedOut(subscribers.size() - toRemove.size());
    if (!toRemove.isEmpty()) {
      toRemove.forEach(subscribers::remove);
      toRemove.clear();
      subscriberCount = subscribers.size();
    }
  }

  private void admit(Subscriber subscriber) {
    switch (state) {
      case READY -> admitReady(subscriber);
      case RECOVERING -> awaitingRecovery.add(subscriber);
      default -> {
        RelayException error = lastError;
        subscriber.refused(
            unavailable(error == null ? "the hub is not ready" : error.getMessage()));
      }
    }
  }

  private void admitReady(Subscriber subscriber) {
    int limit = context.config().maxSubscribersPerPool();
    if (subscribers.size() >= limit) {
      context.counters().rejectedPerPool();
      subscriber.refused(
          new RelayException(
              RelayErrorReason.RESOURCE_LIMIT, "max_subscribers_per_pool = " + limit + " reached"));
      return;
    }
    if (lastSubscriberId == -1L) {
      subscriber.refused(unavailable("no subscriber id is left"));
      return;
    }
    Mirror held = Objects.requireNonNull(mirror);
    held.pin();
    SubscriberQueue queue =
        new SubscriberQueue(
            context.config().publicationQueueCapacity(),
            context.config().publicationQueueBytes(),
            subscriber::wake);
    long id = ++lastSubscriberId;
    subscribers.put(id, queue);
    subscriberCount = subscribers.size();
    subscriber.subscribed(new HubSubscription(this, id, identity, sequence, held, queue));
  }

  private void removeSubscriber(long id) {
    subscribers.remove(id);
    subscriberCount = subscribers.size();
  }

  private void takeSnapshot() {
    if (state == State.CLOSED) {
      return;
    }
    producer
        .subscribe(lease)
        .whenComplete((snapshot, error) -> request(() -> snapshotTaken(snapshot, error)));
  }

  private void snapshotTaken(@Nullable PoolSnapshot snapshot, @Nullable Throwable error) {
    if (snapshot == null) {
      fail(unavailable("no snapshot of the pool: " + error));
      return;
    }
    if (state == State.CLOSED) {
      producer.retireLease(lease).whenComplete((done, ignored) -> snapshot.deltas().close());
      return;
    }
    String fault = faultOf(snapshot);
    if (!fault.isEmpty()) {
      snapshot.deltas().close();
      fail(new RelayException(RelayErrorReason.INVALID_PUBLICATION, fault));
      return;
    }
    DeltaReceiver old = deltas;
    if (old != null) {
      old.close();
    }
    mirror = new Mirror(snapshot.words());
    sequence = snapshot.sequence();
    deltas = snapshot.deltas();
    boolean first = state == State.STARTING;
    state = State.READY;
    snapshot.deltas().onSignal(run::wake);
    if (first) {
      owner.ready(this);
    }
    List<Subscriber> waiting = List.copyOf(awaitingRecovery);
    awaitingRecovery.clear();
    waiting.forEach(this::admit);
  }

  private String faultOf(PoolSnapshot snapshot) {
    if (!snapshot.identity().equals(identity)) {
      return "a snapshot of " + snapshot.identity() + " arrived at the hub of " + identity;
    }
    if (!snapshot.lease().equals(lease)) {
      return "a snapshot of " + snapshot.lease() + " arrived under " + lease;
    }
    int bucketCount = identity.format().bucketCount();
    return snapshot.words().length == bucketCount
        ? ""
        : "a snapshot of " + snapshot.words().length + " words for " + bucketCount + " buckets";
  }

  /** Starts over from a new snapshot; no open stream can follow. */
  private void recover(String why) {
    context.counters().recovered();
    state = State.RECOVERING;
    cancelWork();
    retireSubscribers();
    PublicationContext.LOG.log(
        System.Logger.Level.DEBUG, () -> identity + " takes a new snapshot: " + why);
    takeSnapshot();
  }

  private void fail(RelayException error) {
    if (state == State.CLOSED) {
      return;
    }
    close(error);
    owner.failed(this, error);
  }

  private void close(RelayException why) {
    close(why, error -> owner.closed(this));
  }

  private void close(RelayException why, Consumer<@Nullable Throwable> whenClosed) {
    if (state == State.CLOSED) {
      return;
    }
    state = State.CLOSED;
    lastError = why;
    cancelWork();
    retireSubscribers();
    awaitingRecovery.forEach(subscriber -> subscriber.refused(why));
    awaitingRecovery.clear();
    mirror = null;
    DeltaReceiver receiver = deltas;
    deltas = null;
    // The lease goes before its receiver: a producer that lost its receiver would fence itself.
    producer
        .retireLease(lease)
        .whenComplete(
            (done, error) -> {
              if (receiver != null) {
                receiver.close();
              }
              whenClosed.accept(error);
            });
  }

  private void cancelWork() {
    DeltaWork current = work;
    work = null;
    if (current != null) {
      current.cancelled = true;
      if (!current.running) {
        current.releasePermit(); // a helper gives it back itself
      }
    }
  }

  private void retireSubscribers() {
    subscribers.values().forEach(SubscriberQueue::retire);
    subscribers.clear();
    subscriberCount = 0;
  }

  static RelayException unavailable(String message) {
    return new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, message);
  }

  /** A delta that needs a permit or a helper. */
  private static final class DeltaWork {
    private final PoolDelta delta;
    private Permits.@Nullable Ticket permit;
    private volatile boolean cancelled;
    private volatile boolean running; // published last: orders the three below
    private @Nullable PublicationFrame frame;
    private @Nullable Mirror copy;
    private @Nullable Throwable error;

    private DeltaWork(PoolDelta delta) {
      this.delta = delta;
    }

    private boolean isRunning() {
      return running;
    }

    private void releasePermit() {
      if (permit != null) {
        permit.close();
      }
    }
  }
}
