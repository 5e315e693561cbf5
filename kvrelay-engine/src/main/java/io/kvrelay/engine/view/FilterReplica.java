package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RecoveryAction;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialExecutor;
import io.kvrelay.engine.cbi1.Cbi1Decoder;
import io.kvrelay.engine.cbi1.SnapshotAssembly;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The filter plane of one producer generation: one stream, one lease at a time, one lane.
 *
 * <p>Each opening first takes a fresh lease, which withdraws what was there, and only then
 * subscribes. Chunks are assembled outside the table; a complete snapshot is installed as a whole,
 * and frames that arrive meanwhile wait in order. Deltas are handed to the lane without waiting for
 * one another; a frame counts against the demand until it has been applied, so a slow lane slows
 * the stream and nothing piles up. Whatever the lane does with a snapshot or a delta other than
 * installing or applying it fails the stream, which withdraws the replica at once.
 *
 * <pre>
 * field       mode       guarded by
 * serving     volatile   written in the mailbox
 * installed   volatile   written in the mailbox at the install, by the lane's worker after that
 * all others  plain      the mailbox
 * </pre>
 */
final class FilterReplica extends StreamPlane<PublicationFrame> {
  /** What a look at the catalog says about a generation. */
  enum Advertised {
    YES,
    NO,
    CATALOG_UNAVAILABLE
  }

  /** What a replica needs of its surroundings. Called in the replica's mailbox. */
  interface Host {
    Flow.Publisher<PublicationFrame> stream(ProducerIdentity producer);

    /**
     * Looks the generation up in a catalog that is newer than the call.
     *
     * @return gives the look-up up
     */
    Runnable refreshCatalog(ProducerIdentity producer, Consumer<Advertised> answer);

    void reported(FilterReplica replica, Report report);

    /** The installed sequence moved. Also called on a thread of the lane. */
    void advanced(FilterReplica replica);
  }

  private static final long LOOK_UP_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final ProducerIdentity producer;
  private final ReplicaLane lane;
  private final Host host;
  private final Cbi1Decoder decoder;
  private final Freshness freshness = new Freshness();
  private final Queue<PublicationFrame> held = new ArrayDeque<>();
  private SnapshotAssembly assembly;
  private @Nullable LaneLease lease;
  private boolean installing;
  private boolean hasSnapshot;
  private long submitted;
  private boolean catalogFirst;
  private boolean awaitsCatalog;
  private @Nullable LookUp lookUp;
  private @Nullable Runnable afterClose;
  private volatile boolean serving;
  private volatile long installed;

  FilterReplica(
      ProducerIdentity producer,
      ReplicaLane lane,
      Host host,
      RelayRuntime runtime,
      ViewCounters counters,
      int window) {
    super(PlaneKind.FILTER, runtime, counters, new SerialExecutor(runtime.executor()), window);
    this.producer = producer;
    this.lane = lane;
    this.host = host;
    this.decoder = new Cbi1Decoder(producer.format());
    this.assembly = new SnapshotAssembly(producer.format());
  }

  ProducerIdentity producer() {
    return producer;
  }

  Freshness freshness() {
    return freshness;
  }

  /** Whether a snapshot is installed and nothing has gone wrong since. */
  boolean isServing() {
    return serving;
  }

  /** The installed sequence; only means something while serving. */
  long installedSequence() {
    return installed;
  }

  /**
   * Ends the replica.
   *
   * @param then run once the stream is cancelled and the lane is retired
   */
  void close(String why, Runnable then) {
    run(() -> afterClose = then);
    close(why);
    run(this::runAfterClose);
  }

  private void runAfterClose() {
    Runnable then = afterClose;
    if (then != null) {
      afterClose = null;
      then.run();
    }
  }

  @Override
  Flow.Publisher<PublicationFrame> publisher() {
    return host.stream(producer);
  }

  @Override
  boolean opened() {
    endLookUp();
    catalogFirst = false;
    awaitsCatalog = false;
    forget();
    Object fence = fence();
    lane.assign(producer, new LeaseListener(fence))
        .whenComplete((taken, failure) -> run(() -> assigned(fence, taken, failure)));
    return false;
  }

  private void assigned(
      @Nullable Object fence, @Nullable LaneLease taken, @Nullable Throwable failure) {
    if (!isCurrent(fence)) {
      return; // a later opening has its own lease, and closing has retired the lane
    }
    if (taken == null) {
      failCurrent(relayException(unwrap(failure)));
      return;
    }
    lease = taken;
    subscribe();
  }

  @Override
  boolean item(PublicationFrame frame) {
    if (installing) {
      held.add(frame);
      return false;
    }
    if (!frame.producer().equals(producer)) {
      throw violation("frame producer = " + frame.producer() + ": subscribed to " + producer);
    }
    return switch (frame.kind()) {
      case SNAPSHOT_CHUNK -> chunk(frame);
      case DELTA -> delta(frame);
      case HEARTBEAT -> heartbeat(frame);
    };
  }

  private boolean chunk(PublicationFrame frame) {
    if (hasSnapshot) {
      throw violation("a snapshot chunk after the snapshot: " + frame);
    }
    if (frame.baseSequence() != frame.sequence()) {
      throw violation("chunk base sequence differs from its sequence: " + frame);
    }
    decode(frame);
    SnapshotAssembly.Result result = assembly.absorb(decoder);
    decoder.release();
    counters.increment(ViewCounter.FILTER_CHUNKS);
    counters.add(ViewCounter.FILTER_SNAPSHOT_BYTES, frame.payloadBytes());
    return switch (result) {
      case INCOMPLETE -> {
        show(PlaneStatus.ASSEMBLING, "assembling the snapshot");
        yield true;
      }
      case COMPLETE -> {
        install();
        yield false;
      }
      case CHUNK_SEQUENCE -> throw violation("chunk does not continue the assembly: " + frame);
      case INCOMPLETE_COVERAGE ->
          throw violation("the last chunk leaves buckets uncovered: " + frame);
    };
  }

  private void install() {
    LaneLease current = currentLease();
    long sequence = assembly.epoch();
    installing = true;
    show(PlaneStatus.ASSEMBLING, "installing the snapshot");
    Object fence = fence();
    lane.install(producer, current, sequence, assembly.takeWords())
        .whenComplete(
            (outcome, failure) -> run(() -> installed(fence, sequence, outcome, failure)));
  }

  private void installed(
      @Nullable Object fence,
      long sequence,
      @Nullable IngestOutcome outcome,
      @Nullable Throwable failure) {
    if (!isCurrent(fence)) {
      counters.increment(ViewCounter.LATE_SIGNALS_IGNORED);
      return;
    }
    if (outcome == null) {
      failCurrent(relayException(unwrap(failure)));
      return;
    }
    if (outcome.result() != IngestResult.SNAPSHOT_INSTALLED) {
      failCurrent(violation("the lane did not install the snapshot: " + outcome));
      return;
    }
    installing = false;
    hasSnapshot = true;
    submitted = sequence;
    installed = sequence;
    freshness.received(runtime.nanoTime());
    serving = true;
    counters.increment(ViewCounter.FILTER_SNAPSHOTS_INSTALLED);
    show(PlaneStatus.CURRENT, "current");
    host.advanced(this);
    done();
    takeHeld(fence);
  }

  private void takeHeld(@Nullable Object fence) {
    for (PublicationFrame frame = held.poll();
        frame != null && isCurrent(fence);
        frame = held.poll()) {
      try {
        if (item(frame) && isCurrent(fence)) {
          done();
        }
      } catch (RuntimeException | Error e) {
        counters.increment(ViewCounter.FILTER_FRAMES_DROPPED);
        failCurrent(relayException(e));
      }
    }
  }

  private boolean delta(PublicationFrame frame) {
    if (!hasSnapshot) {
      throw violation("a delta before the snapshot is complete: " + frame);
    }
    decode(frame);
    if (decoder.baseEpoch() != frame.baseSequence()) {
      throw violation(
          "CBI1 base_epoch = "
              + Long.toUnsignedString(decoder.baseEpoch())
              + ": differs from the frame's: "
              + frame);
    }
    int images = decoder.imageCount();
    int[] buckets = new int[images];
    long[] words = new long[images];
    decoder.copyImages(buckets, words);
    decoder.release();
    LaneDelta delta =
        new LaneDelta(
            producer,
            currentLease(),
            frame.baseSequence(),
            frame.sequence(),
            buckets,
            words,
            images);
    submitted = frame.sequence();
    Admission admission = lane.submit(delta);
    if (admission != Admission.ADMITTED) {
      throw new RelayException(
          RelayErrorReason.RESOURCE_LIMIT, "the lane refused a delta: " + admission);
    }
    counters.add(ViewCounter.FILTER_DELTA_BYTES, frame.payloadBytes());
    return false;
  }

  private void applied(@Nullable Object fence, IngestResult result) {
    if (!isCurrent(fence)) {
      return;
    }
    if (result != IngestResult.DELTA_APPLIED) {
      failCurrent(violation("the lane did not apply a delta: " + result));
      return;
    }
    freshness.received(runtime.nanoTime());
    done();
  }

  private boolean heartbeat(PublicationFrame frame) {
    boolean fits =
        hasSnapshot
            && frame.payloadBytes() == 0
            && frame.baseSequence() == frame.sequence()
            && frame.sequence() == submitted;
    if (!fits) {
      throw violation(
          "heartbeat does not repeat the "
              + (hasSnapshot ? "sequence " + Long.toUnsignedString(submitted) : "missing snapshot")
              + ": "
              + frame);
    }
    counters.increment(ViewCounter.FILTER_HEARTBEATS);
    freshness.received(runtime.nanoTime());
    return true;
  }

  /** Decodes and checks what the codec cannot know. */
  private void decode(PublicationFrame frame) {
    decoder.decodeOrThrow(frame.payload());
    if (decoder.kind() != frame.kind()) {
      throw violation("CBI1 payload is a " + decoder.kind() + ": " + frame);
    }
    if (decoder.dcId() != producer.poolId().dcId().value()) {
      throw violation(
          "CBI1 dc_id = "
              + Long.toUnsignedString(decoder.dcId())
              + ": not the producer's: "
              + frame);
    }
    if (decoder.epoch() != frame.sequence()) {
      throw violation(
          "CBI1 epoch = "
              + Long.toUnsignedString(decoder.epoch())
              + ": differs from the frame's sequence: "
              + frame);
    }
  }

  @Override
  void dropped(RelayException why) {
    if (serving && why.reason() != RelayErrorReason.CLOSED) {
      counters.increment(ViewCounter.REPLICAS_WITHDRAWN);
    }
    endLookUp();
    forget();
    catalogFirst = why.action() == RecoveryAction.REFRESH_CATALOG;
  }

  /** Withdraws the replica at once and lets go of everything the stream has left. */
  private void forget() {
    serving = false;
    freshness.forget();
    lane.retire();
    lease = null;
    installing = false;
    hasSnapshot = false;
    counters.add(ViewCounter.FILTER_FRAMES_DROPPED, held.size());
    held.clear();
    decoder.release();
    assembly = new SnapshotAssembly(producer.format()); // gives a half-filled image back
  }

  /** Generations that the relay has fenced, or that nobody here can read, are not tried again. */
  @Override
  boolean mayRetry(RelayException why) {
    boolean retry =
        switch (why.action()) {
          case RETRY_WITH_BACKOFF, REFRESH_CATALOG -> true;
          case STOP, FIX_REQUEST, QUARANTINE, ABANDON_GENERATION -> false;
        };
    if (!retry) {
      counters.increment(ViewCounter.GENERATIONS_ABANDONED);
    }
    return retry;
  }

  @Override
  void retryDue() {
    if (!catalogFirst) {
      open();
      return;
    }
    counters.increment(ViewCounter.CATALOG_REFRESHES);
    LookUp asked = new LookUp();
    lookUp = asked;
    try {
      asked.timeout =
          runtime.schedule(
              LOOK_UP_NANOS, () -> run(() -> refreshed(asked, Advertised.CATALOG_UNAVAILABLE)));
      asked.cancel =
          host.refreshCatalog(producer, advertised -> run(() -> refreshed(asked, advertised)));
    } catch (RuntimeException | Error e) {
      refreshed(asked, Advertised.CATALOG_UNAVAILABLE);
    }
  }

  /** Under way; a catalog that the board saw meanwhile is newer than the answer may be. */
  private static final class LookUp {
    RelayRuntime.@Nullable Timer timeout;
    Runnable cancel = () -> {};
    boolean advertised;
  }

  private void endLookUp() {
    LookUp asked = lookUp;
    if (asked != null) {
      lookUp = null;
      if (asked.timeout != null) {
        asked.timeout.cancel();
      }
      asked.cancel.run();
    }
  }

  private void refreshed(LookUp asked, Advertised answer) {
    if (asked != lookUp) {
      return;
    }
    endLookUp();
    Advertised advertised = answer == Advertised.NO && asked.advertised ? Advertised.YES : answer;
    switch (advertised) {
      case YES -> open();
      case NO -> {
        awaitsCatalog = true;
        show(PlaneStatus.STOPPED, "the catalog does not advertise this generation");
      }
      case CATALOG_UNAVAILABLE -> {
        counters.increment(ViewCounter.CATALOG_REFRESHES_FAILED);
        backOff();
      }
    }
  }

  /**
   * The catalog shows this generation (again). A replica that stopped because it had gone from the
   * catalog is opened; one that stopped for another reason is not.
   */
  void advertised() {
    run(
        () -> {
          if (awaitsCatalog) {
            open();
          } else if (lookUp != null) {
            lookUp.advertised = true;
          }
        });
  }

  @Override
  void reported(Report report) {
    host.reported(this, report);
  }

  private LaneLease currentLease() {
    LaneLease current = lease;
    if (current == null) {
      throw new IllegalStateException("a stream without a lease");
    }
    return current;
  }

  static Throwable unwrap(@Nullable Throwable failure) {
    if (failure instanceof CompletionException wrapped && wrapped.getCause() != null) {
      return wrapped.getCause();
    }
    return failure == null ? new IllegalStateException("no lease and no failure") : failure;
  }

  /** Hears what becomes of one opening's lease. */
  private final class LeaseListener implements ReplicaLane.Listener {
    private final @Nullable Object fence;

    private LeaseListener(@Nullable Object fence) {
      this.fence = fence;
    }

    @Override
    public void applied(LaneDelta delta, IngestResult result) {
      if (result == IngestResult.DELTA_APPLIED) {
        installed = delta.sequence();
        counters.increment(ViewCounter.FILTER_DELTAS_APPLIED);
        counters.add(ViewCounter.FILTER_IMAGES_APPLIED, delta.images());
        host.advanced(FilterReplica.this);
      }
      run(() -> FilterReplica.this.applied(fence, result));
    }

    @Override
    public void lost(RelayException why) {
      run(
          () -> {
            if (isCurrent(fence)) {
              failCurrent(why);
            }
          });
    }
  }
}
