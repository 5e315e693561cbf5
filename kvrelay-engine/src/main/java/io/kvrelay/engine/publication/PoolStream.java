package io.kvrelay.engine.publication;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.flow.Demand;
import io.kvrelay.api.runtime.SerialTask;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One subscription to one generation: its admission, its snapshot, its deltas and its end.
 *
 * <p>All of it is one {@link SerialTask}, woken by whatever may let it go on: demand, a permit, the
 * hub's answer, an encoded chunk, a queued delta, the generation's or the relay's end. A run looks
 * at what there is and takes as many steps as it can, so that a signal is never lost and a late
 * answer finds its resources given back.
 *
 * <table>
 * <caption>Fields</caption>
 * <tr><th>field</th><th>access</th><th>guarded by</th></tr>
 * <tr><td>cancelled, answeredHub, answeredSubscription, answeredError</td><td>volatile</td>
 * <td>written by their callers, read by the run</td></tr>
 * <tr><td>all other</td><td>plain</td><td>the run</td></tr>
 * </table>
 */
final class PoolStream implements Flow.Subscription, HubRequest.Answer, PublicationHub.Subscriber {
  private enum Phase {
    NEW,
    AWAITING_PERMIT,
    AWAITING_HUB,
    BOOTSTRAP,
    DELTAS,
    DONE
  }

  /** Frames delivered before others get a turn on the executor. */
  private static final int FRAMES_PER_RUN = 64;

  private final PoolRegistry registry;
  private final PublicationContext context;
  private final ProducerIdentity expected;
  private final SerialTask run;
  private final Runnable wake;
  private final Demand demand = new Demand();

  private volatile boolean cancelled;
  private volatile @Nullable PublicationHub answeredHub;
  private volatile @Nullable HubSubscription answeredSubscription;
  private volatile @Nullable RelayException answeredError;

  // Dropped at the end, so that a finished subscription keeps nothing reachable.
  private Flow.@Nullable Subscriber<? super PublicationFrame> subscriber;
  private Phase phase = Phase.NEW;
  private @Nullable Generation generation;
  private boolean streamPermit;
  private Permits.@Nullable Ticket encodingPermit;
  private @Nullable HubRequest hubRequest;
  private boolean hubAsked;
  private @Nullable HubSubscription subscription;
  private @Nullable Bootstrap bootstrap;
  private long sequence;

  PoolStream(
      PoolRegistry registry,
      ProducerIdentity expected,
      Flow.Subscriber<? super PublicationFrame> subscriber) {
    this.registry = registry;
    this.context = registry.context();
    this.expected = expected;
    this.subscriber = subscriber;
    this.run = new SerialTask(context.runtime().executor(), this::run);
    this.wake = run::wake;
  }

  void start() {
    run.wake();
  }

  // From any thread.

  @Override
  public void request(long n) {
    demand.add(n);
    run.wake();
  }

  @Override
  public void cancel() {
    cancelled = true;
    run.wake();
  }

  @Override
  public void hub(PublicationHub hub) {
    answeredHub = hub;
    run.wake();
  }

  @Override
  public void noHub(RelayException error) {
    refused(error);
  }

  @Override
  public void subscribed(HubSubscription answer) {
    answeredSubscription = answer;
    run.wake();
  }

  @Override
  public void refused(RelayException error) {
    answeredError = error;
    run.wake();
  }

  @Override
  public void wake() {
    run.wake();
  }

  // On the run.

  private void run() {
    try {
      if (phase == Phase.NEW) {
        registry.shutdownSignal().add(wake);
        signal(to -> to.onSubscribe(this));
      }
      for (int i = 0; i < FRAMES_PER_RUN; i++) {
        if (!step()) {
          return;
        }
      }
      run.wake();
    } catch (RelayException e) {
      fail(e);
    } catch (RuntimeException e) {
      fail(
          new RelayException(
              RelayErrorReason.INTERNAL,
              RelayErrorReason.INTERNAL.action(),
              "the stream failed: " + e,
              e));
    }
  }

  /** A subscriber that throws has broken the rules: it counts as cancelled, nobody else notices. */
  private void signal(Consumer<Flow.Subscriber<? super PublicationFrame>> call) {
    try {
      call.accept(Objects.requireNonNull(subscriber));
    } catch (RuntimeException | Error e) {
      threw(e);
    }
  }

  /** The same for the one signal that must not allocate. */
  private void deliver(PublicationFrame frame) {
    try {
      Objects.requireNonNull(subscriber).onNext(frame);
    } catch (RuntimeException | Error e) {
      threw(e);
    }
  }

  private void threw(Throwable e) {
    cancelled = true;
    context.counters().subscriberFault();
    PublicationContext.LOG.log(System.Logger.Level.WARNING, "a subscriber failed", e);
  }

  /** Takes one step. Returns false if it has to wait. */
  private boolean step() {
    if (phase == Phase.DONE) {
      release();
      return false;
    }
    if (cancelled) {
      finish();
      return false;
    }
    IllegalArgumentException badRequest = demand.fault();
    if (badRequest != null) {
      context.counters().subscriberFault();
      fail(badRequest);
      return false;
    }
    if (registry.shutdownSignal().isFired()) {
      endForShutdown();
      return false;
    }
    return switch (phase) {
      case NEW -> admit();
      case AWAITING_PERMIT -> askForHub();
      case AWAITING_HUB -> open();
      case BOOTSTRAP -> bootstrap();
      case DELTAS -> delta();
      case DONE -> false;
    };
  }

  private void endForShutdown() {
    if (phase.compareTo(Phase.BOOTSTRAP) < 0) {
      fail(PublicationHub.unavailable("the relay is shutting down"));
    } else {
      complete();
    }
  }

  private boolean admit() {
    Generation found = checkIdentity();
    generation = found;
    found.cancelled().add(wake);
    if (!context.streamPermits().tryAcquire()) {
      context.counters().rejectedTotal();
      throw new RelayException(
          RelayErrorReason.RESOURCE_LIMIT,
          "max_pool_streams_total = " + context.config().maxPoolStreamsTotal() + " reached");
    }
    streamPermit = true;
    // Before the snapshot, so that a stream that waits does not pin a mirror.
    encodingPermit = context.bootstrapPermits().acquire(wake);
    phase = Phase.AWAITING_PERMIT;
    return true;
  }

  private Generation checkIdentity() {
    Generation found = registry.find(expected);
    if (found == null) {
      throw Generation.notFound(expected);
    }
    RelayException fault = found.faultFor(expected);
    if (fault != null) {
      throw fault;
    }
    return found;
  }

  private boolean askForHub() {
    failIfRetired();
    if (!Objects.requireNonNull(encodingPermit).isGranted()) {
      return false;
    }
    Generation found = checkIdentity();
    phase = Phase.AWAITING_HUB;
    hubRequest = registry.hubs().request(found.slot(), this);
    return true;
  }

  private void failIfRetired() {
    if (Objects.requireNonNull(generation).cancelled().isFired()) {
      throw PublicationHub.unavailable(expected + " was retired");
    }
  }

  private boolean open() {
    RelayException error = answeredError;
    if (error != null) {
      throw error;
    }
    HubSubscription answer = answeredSubscription;
    if (answer == null) {
      failIfRetired();
      PublicationHub hub = answeredHub;
      if (hub != null && !hubAsked) {
        hubAsked = true;
        hub.subscribe(this);
      }
      return false;
    }
    subscription = answer;
    registry.hubs().close(Objects.requireNonNull(hubRequest));
    checkIdentity();
    if (!answer.producer().equals(expected)) {
      throw invalid("the snapshot is " + answer.producer() + "'s instead of " + expected + "'s");
    }
    failIfEnded(answer.queue());
    sequence = answer.snapshotSequence();
    bootstrap = new Bootstrap(context, answer, Objects.requireNonNull(encodingPermit), wake);
    phase = Phase.BOOTSTRAP;
    return true;
  }

  /** A queue that has ended delivers nothing more, whatever it or the bootstrap still holds. */
  private static void failIfEnded(SubscriberQueue queue) {
    switch (queue.state()) {
      case LAGGED ->
          throw new RelayException(
              RelayErrorReason.SUBSCRIBER_LAGGED, "the subscriber's delta queue ran over");
      case RETIRED ->
          throw PublicationHub.unavailable("the publication was retired or started over");
      default -> {}
    }
  }

  private boolean bootstrap() {
    Bootstrap current = Objects.requireNonNull(bootstrap);
    HubSubscription from = Objects.requireNonNull(subscription);
    if (!current.isStalled()) {
      failIfEnded(from.queue());
    }
    current.advance();
    RelayException error = current.error();
    if (error != null) {
      if (error.reason() == RelayErrorReason.INVALID_PUBLICATION
          || error.reason() == RelayErrorReason.INTERNAL) {
        fence(error);
      }
      throw error;
    }
    if (current.hasFrame() && demand.tryTake()) {
      PublicationFrame frame = current.take();
      String fault = faultOfChunk(frame);
      if (!fault.isEmpty()) {
        throw fence(invalid(fault));
      }
      deliver(frame);
      return true;
    }
    if (current.isTransferred()) {
      bootstrap = null;
      encodingPermit = null;
      phase = Phase.DELTAS;
      return true;
    }
    return false;
  }

  private String faultOfChunk(PublicationFrame frame) {
    boolean valid =
        frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK
            && frame.producer().equals(expected)
            && frame.sequence() == sequence
            && frame.baseSequence() == sequence;
    return valid
        ? ""
        : frame + " is no chunk of the snapshot at " + Long.toUnsignedString(sequence);
  }

  private boolean delta() {
    SubscriberQueue queue = Objects.requireNonNull(subscription).queue();
    failIfEnded(queue);
    if (!demand.isPresent()) {
      return false;
    }
    PublicationFrame frame = queue.poll();
    if (frame == null) {
      failIfEnded(queue);
      return false;
    }
    if (!isNext(frame)) {
      throw fence(
          invalid(frame + " does not continue sequence " + Long.toUnsignedString(sequence)));
    }
    sequence = frame.sequence();
    demand.tryTake();
    deliver(frame);
    return true;
  }

  private boolean isNext(PublicationFrame frame) {
    return frame.kind() == PublicationFrame.Kind.DELTA
        && frame.producer().equals(expected)
        && frame.baseSequence() == sequence
        && sequence != -1L
        && frame.sequence() == sequence + 1;
  }

  private static RelayException invalid(String message) {
    return new RelayException(RelayErrorReason.INVALID_PUBLICATION, message);
  }

  /** A fault of the publication, not of this subscriber: nobody may use the generation. */
  private RelayException fence(RelayException error) {
    registry.fence(Objects.requireNonNull(generation), error.getMessage());
    return error;
  }

  // The end. Resources go before the last signal: who sees it can subscribe again at once.

  private void fail(Throwable error) {
    end(last -> last.onError(error));
  }

  private void complete() {
    end(Flow.Subscriber::onComplete);
  }

  private void end(Consumer<Flow.Subscriber<? super PublicationFrame>> signal) {
    Flow.Subscriber<? super PublicationFrame> last = subscriber;
    finish();
    if (last != null && !cancelled) {
      try {
        signal.accept(last);
      } catch (RuntimeException | Error e) {
        threw(e);
      }
    }
  }

  private void finish() {
    phase = Phase.DONE;
    subscriber = null;
    registry.shutdownSignal().remove(wake);
    Generation of = generation;
    if (of != null) {
      of.cancelled().remove(wake);
    }
    release();
    if (streamPermit) {
      streamPermit = false;
      context.streamPermits().release();
    }
  }

  /** Gives back what is held; also what arrives after the end. */
  private void release() {
    HubRequest request = hubRequest;
    if (request != null) {
      registry.hubs().close(request);
    }
    HubSubscription held = answeredSubscription;
    if (held != null) {
      held.close();
    }
    Bootstrap current = bootstrap;
    if (current != null && !current.close()) {
      return; // an encoder still reads the snapshot; it wakes this run when it is done
    }
    bootstrap = null;
    if (held != null) {
      held.releaseSnapshot();
      answeredSubscription = null;
    }
    Permits.Ticket permit = encodingPermit;
    if (permit != null) {
      permit.close();
    }
    // Whoever keeps a finished subscription keeps no hub and no mirror with it.
    subscription = null;
    answeredHub = null;
    hubRequest = null;
    generation = null;
  }
}
