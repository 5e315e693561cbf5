package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import io.kvrelay.api.runtime.SerialTask;
import io.kvrelay.engine.pool.PoolFault;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One rank: takes a source up and gives it up as the deployment's view says, fences itself when its
 * place in the stream is in doubt, and is taken up again by a timer.
 *
 * <p>Everything happens in the rank's turn, one thing at a time and in the order of the inbox. A
 * thing that waits (for a place in the pool's mailbox, for a reset) holds back this rank alone.
 *
 * <pre>
 *   field                  written by        read by
 *   inbox                  any thread        the turn        (its own lock)
 *   reconcileAsked, trustAsked  any thread   the turn        (atomic; one piece of work at a time)
 *   suppressed             the ingest        the turn        (volatile)
 *   published              the turn          any thread      (volatile; immutable)
 *   cursorSeen, lastEvent  the turn          any thread      (opaque)
 *   the rest               the turn          the turn
 * </pre>
 */
final class RankSlot implements RankStream.Rank {
  private static final System.Logger LOG = System.getLogger(RankSlot.class.getName());
  private static final int STEPS_PER_TURN = 64;
  private static final long NEVER = Long.MIN_VALUE;
  private static final long MENDING_NANOS = 60_000_000_000L;

  /** What changes seldom of a status. */
  private record Published(
      SourceStatus source,
      @Nullable Binding active,
      boolean live,
      boolean recovering,
      int buffered,
      boolean resetPending,
      boolean rejected,
      TrustReport trust,
      long clears) {}

  private record Judgement(Binding binding, TrustReport report) {}

  private final Member member;
  private final IngestContext context;
  private final RankInbox inbox;
  private final SerialTask task;
  private final RankSequence sequence;
  private final RankTrust trust = new RankTrust();
  private final RankStream stream;
  private final RetryDelay repairDelay = RetryDelay.local();

  /** Whether the slot has work. Only an idle one can be dismissed, and it never works again. */
  private enum Life {
    ACTIVE,
    IDLE,
    DISMISSED
  }

  private final AtomicReference<Life> life = new AtomicReference<>(Life.ACTIVE);
  private final AtomicBoolean reconcileAsked = new AtomicBoolean();
  private final AtomicReference<@Nullable Judgement> trustAsked = new AtomicReference<>();
  private volatile boolean suppressed;

  private @Nullable Binding active;
  private @Nullable SourceId pendingReset;
  private @Nullable SourceId rejected;
  private String problem = "no source is advertised";
  private boolean parked; // unknown for too long
  private boolean stopping;
  private boolean mended; // at mendedNanos
  private long mendedNanos;
  private RelayRuntime.@Nullable Timer repair;
  private RelayRuntime.@Nullable Timer unknown;
  private int unknownWaits; // a timer that fired as it was cancelled is told apart
  private @Nullable CompletableFuture<?> promise; // of the work under way

  // The batch under way.
  private List<KvEvent> events = List.of();
  private int nextEvent;

  private volatile Published published;
  private final AtomicLong cursorSeen = new AtomicLong();
  private final AtomicLong lastEvent = new AtomicLong(NEVER);

  RankSlot(Member member, IngestContext context) {
    this.member = member;
    this.context = context;
    this.inbox = new RankInbox(context.config().inboxBatches());
    this.task = new SerialTask(context.runtime().executor(), this::turn);
    this.sequence = new RankSequence(task::wake);
    this.stream = new RankStream(member, this, context, sequence, trust);
    this.published = snapshot();
  }

  Member member() {
    return member;
  }

  // ---- From any thread ----

  void deliver(Binding binding, KvEventBatch batch) {
    if (!inbox.offer(binding, batch)) {
      context.count(IngestCount.OVERFLOWED_BATCHES);
    }
    task.wake();
  }

  void broke(Binding binding, String reason) {
    inbox.broke(new RankInbox.Break(binding, reason));
    task.wake();
  }

  void suppressed(boolean now) {
    suppressed = now;
  }

  /**
   * Ends a slot that has given everything up.
   *
   * @return false if it has taken work up again; then it is still there
   */
  boolean dismiss() {
    return life.compareAndSet(Life.IDLE, Life.DISMISSED) || life.get() == Life.DISMISSED;
  }

  void reconcile() {
    if (reconcileAsked.compareAndSet(false, true)) {
      post(
          () -> {
            reconcileAsked.set(false);
            follow();
          });
    }
  }

  /** The provider judged the publisher of an activation. */
  void trust(Binding binding, TrustReport report) {
    if (trustAsked.getAndSet(new Judgement(binding, report)) == null) {
      post(() -> trusted(trustAsked.getAndSet(null)));
    }
  }

  /** The subscription to live events ended (a reason), or is there again (null). */
  void subscription(@Nullable String reason) {
    post(() -> subscribed(reason));
  }

  CompletionStage<FaultOutcome> handle(PoolFault fault) {
    CompletableFuture<FaultOutcome> outcome = new CompletableFuture<>();
    post(
        () -> {
          promise = outcome;
          handle(fault, outcome);
        });
    return outcome;
  }

  CompletionStage<Void> clear() {
    CompletableFuture<Void> done = new CompletableFuture<>();
    post(
        () -> {
          promise = done;
          clearByHand(done);
        });
    return done;
  }

  /** Gives everything up; completes when nothing of it runs any more. */
  CompletionStage<Void> stop() {
    CompletableFuture<Void> done = new CompletableFuture<>();
    post(
        () -> {
          stopping = true;
          promise = done;
          giveUp(() -> done.complete(null));
        });
    return done;
  }

  private void post(Runnable work) {
    inbox.post(work);
    task.wake();
  }

  RankStatus status() {
    Published now = published;
    Binding source = now.active();
    long event = lastEvent.getOpaque();
    return new RankStatus(
        member,
        now.source(),
        source == null ? OptionalLong.empty() : OptionalLong.of(source.publisherId()),
        now.live() ? OptionalLong.of(cursorSeen.getOpaque()) : OptionalLong.empty(),
        now.recovering(),
        now.buffered(),
        inbox.batches(),
        now.resetPending(),
        now.rejected(),
        now.trust().level(),
        now.trust().reason(),
        event == NEVER ? OptionalLong.empty() : OptionalLong.of(event),
        now.clears());
  }

  // ---- The turn ----

  private void turn() {
    try {
      for (int i = 0; i < STEPS_PER_TURN; i++) {
        if (!step()) {
          publish();
          return;
        }
      }
    } catch (RuntimeException | Error e) {
      defect(e);
    }
    publish();
    task.wake();
  }

  /** False if there is nothing to do now. */
  private boolean step() {
    if (sequence.isWaiting()) {
      return sequence.resume();
    }
    if (nextEvent < events.size()) {
      takeEvents();
      return true;
    }
    promise = null;
    Object item = inbox.poll();
    if (item instanceof RankInbox.Delivery delivery) {
      takeBatch(delivery.binding(), delivery.batch());
    } else if (item instanceof RankInbox.Loss loss) {
      takeLoss(loss);
    } else if (item instanceof RankInbox.Break broken) {
      takeBreak(broken);
    } else if (item instanceof Runnable work) {
      work.run();
    }
    return item != null;
  }

  /** Nothing that this rank knows can be trusted any more, nor perhaps what it did to the pool. */
  private void defect(Throwable error) {
    LOG.log(Level.ERROR, "rank " + member + " failed", error);
    events = List.of();
    nextEvent = 0;
    sequence.abandon();
    CompletableFuture<?> waiting = promise;
    if (waiting != null) {
      waiting.completeExceptionally(error);
    }
    fence("internal error: " + error);
    context.count(IngestCount.POOL_FENCES);
    context.listener().fencePool("ingest of rank " + member + ": " + error);
  }

  private void publish() {
    cursorSeen.setOpaque(stream.cursor());
    Published before = published;
    if (isOutdated(before)) {
      published = snapshot();
    }
  }

  private boolean isOutdated(Published before) {
    return before.active() != active
        || before.live() != stream.isLive()
        || before.recovering() != stream.isRecovering()
        || before.buffered() != stream.buffered()
        || before.resetPending() != (pendingReset != null)
        || before.rejected() != (rejected != null)
        || before.clears() != stream.clears()
        || before.source() != sourceStatus()
        || !before.trust().equals(trustReport());
  }

  private Published snapshot() {
    return new Published(
        sourceStatus(),
        active,
        stream.isLive(),
        stream.isRecovering(),
        stream.buffered(),
        pendingReset != null,
        rejected != null,
        trustReport(),
        stream.clears());
  }

  private SourceStatus sourceStatus() {
    RankSource source = context.directory().sourceOf(member);
    return source == null ? SourceStatus.MISSING : source.status();
  }

  private TrustReport trustReport() {
    return active == null || pendingReset != null || parked
        ? TrustReport.unknown(problem)
        : trust.report(stream.underWay());
  }

  // ---- Batches ----

  private void takeBatch(Binding binding, KvEventBatch batch) {
    IngestCount refused = refusal(binding, batch);
    if (refused != null) {
      context.count(refused);
      return;
    }
    context.count(IngestCount.ACCEPTED_BATCHES);
    lastEvent.setOpaque(context.runtime().currentTimeMillis());
    events = batch.events();
    nextEvent = 0;
    takeEvents();
  }

  /** Why the whole batch is dropped, or null. The order of the tests is a rule. */
  private @Nullable IngestCount refusal(Binding binding, KvEventBatch batch) {
    if (suppressed) {
      return IngestCount.SUPPRESSED_BATCHES;
    }
    if (!RankRecovery.areOf(member, batch.events())) {
      return IngestCount.FOREIGN_BATCHES;
    }
    if (batch.events().isEmpty()) {
      return IngestCount.EMPTY_BATCHES;
    }
    if (active != binding || pendingReset != null) {
      return IngestCount.INACTIVE_BATCHES;
    }
    return parked ? IngestCount.UNREACHABLE_BATCHES : null;
  }

  private void takeEvents() {
    while (nextEvent < events.size() && !sequence.isWaiting()) {
      if (pendingReset != null) {
        context.count(IngestCount.ABANDONED_EVENTS, events.size() - nextEvent);
        nextEvent = events.size();
      } else {
        stream.accept(events.get(nextEvent++));
      }
    }
    if (nextEvent == events.size()) {
      events = List.of();
      nextEvent = 0;
    }
  }

  private boolean isAccepting(Binding binding) {
    return active == binding && pendingReset == null && !parked;
  }

  private void takeLoss(RankInbox.Loss loss) {
    if (isAccepting(loss.binding())) {
      lost(loss.reason());
    }
  }

  /** Something was lost on the way, and perhaps no later event shows it. */
  private void lost(String reason) {
    context.count(IngestCount.LOSSES);
    Binding source = active;
    if (source != null && source.recoverable) {
      stream.recoverLoss();
    } else {
      restart(reason, error -> {});
    }
  }

  private void takeBreak(RankInbox.Break broken) {
    if (active != broken.binding()) {
      context.count(IngestCount.STALE_DISCONTINUITIES);
      return;
    }
    context.count(IngestCount.DISCONTINUITIES);
    LOG.log(Level.INFO, () -> "rank " + member + ": " + broken.reason());
    if (!parked) { // else it was reset already
      restart(broken.reason(), error -> {});
    }
  }

  // ---- Resets and fences ----

  @Override
  public void reset(Consumer<@Nullable Throwable> then) {
    sequence.await(
        context.pool().resetRank(member),
        (done, error) -> {
          context.count(error == null ? IngestCount.RESETS : IngestCount.FAILED_RESETS);
          then.accept(error);
        });
  }

  @Override
  public void fence(String reason) {
    Binding source = active;
    context.count(IngestCount.FENCES);
    LOG.log(Level.WARNING, () -> "rank " + member + " is fenced: " + reason);
    stream.stop();
    if (source != null) {
      resetPending(source.id, reason);
    }
  }

  private void resetPending(SourceId id, String reason) {
    pendingReset = id;
    problem = "a reset is pending: " + reason;
    armRepair();
  }

  private void armRepair() {
    if (repair == null && !stopping) {
      repair =
          context
              .runtime()
              .schedule(
                  repairDelay.takeNanos(),
                  () ->
                      post(
                          () -> {
                            repair = null;
                            context.count(IngestCount.REPAIRS);
                            follow();
                          }));
    }
  }

  private void disarm() {
    if (repair != null) {
      repair.cancel();
      repair = null;
    }
    calm();
  }

  /** Deactivates, and resets if there was a source or a reset is pending. Fails with its reset. */
  private void retire(Consumer<@Nullable Throwable> then) {
    Binding source = active;
    SourceId toReset = pendingReset != null || source == null ? pendingReset : source.id;
    deactivate(
        () -> {
          if (toReset == null) {
            then.accept(null);
            return;
          }
          reset(
              error -> {
                pendingReset = null;
                if (error != null) {
                  resetPending(toReset, Failures.text(error));
                }
                then.accept(error);
              });
        });
  }

  private void deactivate(Runnable then) {
    Binding source = active;
    active = null;
    calm();
    if (source != null) {
      context.count(IngestCount.DEACTIVATIONS);
      context.bindings().unbind(source);
    }
    stream.close(then);
  }

  /** The same source from the beginning: reset, fresh, taken up. Batches behind it are its own. */
  private void restart(String reason, Consumer<@Nullable Throwable> then) {
    Binding source = active;
    if (source == null) {
      then.accept(null);
      return;
    }
    stream.close(
        () ->
            reset(
                error -> {
                  if (error != null) {
                    pendingReset = null;
                    fence(reason + ": the reset failed: " + Failures.text(error));
                  } else {
                    pendingReset = null;
                    stream.open(source);
                  }
                  then.accept(error);
                }));
  }

  // ---- The view ----

  private void follow() {
    RankSource wanted = stopping ? null : context.directory().sourceOf(member);
    if (wanted == null) {
      giveUp(() -> {});
      return;
    }
    life.compareAndSet(Life.IDLE, Life.ACTIVE);
    if (life.get() == Life.DISMISSED) {
      return; // another slot stands for the rank
    }
    EventSourceAdvertisement selected = wanted.source();
    Binding source = active;
    if (source != null
        && selected != null
        && source.id.equals(SourceId.of(selected))
        && pendingReset == null) {
      return;
    }
    if (selected == null || selected.recoveryTarget() == null) {
      context.batcher().completed(member); // nothing to wait for
    }
    retire(
        error -> {
          if (error == null) {
            activate(wanted);
          }
        });
  }

  private void activate(RankSource wanted) {
    EventSourceAdvertisement selected = wanted.source();
    if (selected == null) {
      problem = idle(wanted.status());
      return;
    }
    Binding next = new Binding(this, selected);
    if (next.id.equals(rejected)) {
      problem = "what the source said was refused: " + next.id;
      return;
    }
    rejected = null;
    if (!context.bindings().bind(next)) {
      context.count(IngestCount.BINDING_CONFLICTS);
      problem = "another rank is bound to publisher " + Long.toUnsignedString(next.publisherId());
      armRepair();
      return;
    }
    context.count(IngestCount.ACTIVATIONS);
    active = next;
    trust.open(
        context.directory().trustOf(next.publisherId()), context.directory().subscriptionProblem());
    parked = parked && !trust.isReachable();
    if (parked) {
      problem = trust.report(null).reason();
    } else {
      stream.open(next);
    }
    if (!next.recoverable) {
      repairDelay.reset();
    }
    judge();
  }

  private static String idle(SourceStatus status) {
    return switch (status) {
      case AMBIGUOUS -> "advertisements of the source contradict each other";
      case SUPPRESSED -> "its events reach the deployment another way";
      default -> "no source is advertised";
    };
  }

  /** No longer expected, or everything ends. A reset that fails keeps the slot. */
  private void giveUp(Runnable then) {
    context.batcher().completed(member);
    problem = "no longer expected";
    retire(
        error -> {
          if (error == null || stopping) {
            disarm();
            life.compareAndSet(Life.ACTIVE, Life.IDLE);
            context.directory().forget(this);
          }
          then.run();
        });
  }

  // ---- Faults, by-hand clears ----

  private void handle(PoolFault fault, CompletableFuture<FaultOutcome> outcome) {
    Binding source = active;
    if (source == null || source.publisherId() != fault.publisherId()) {
      context.count(IngestCount.STALE_FAULTS);
      outcome.complete(FaultOutcome.HANDLED);
    } else if (isExplained(fault)) {
      context.count(IngestCount.EXPLAINED_FAULTS);
      mend(source, fault);
      outcome.complete(FaultOutcome.HANDLED);
    } else if (fault.action() == PoolFault.Action.REJECT_SOURCE) {
      reject(source, fault, outcome);
    } else {
      context.count(IngestCount.RESOURCE_FAULTS);
      if (pendingReset != null) {
        fencePool(outcome);
      } else if (parked) {
        outcome.complete(FaultOutcome.HANDLED); // it was reset already and holds nothing
      } else if (source.recoverable) {
        stream.recoverFully("an event was not applied: " + fault.kind().wireName());
        outcome.complete(FaultOutcome.HANDLED);
      } else {
        restart(
            "an event was not applied: " + fault.kind().wireName(),
            error -> {
              if (error == null) {
                outcome.complete(FaultOutcome.HANDLED);
              } else {
                fencePool(outcome);
              }
            });
      }
    }
  }

  /**
   * A hole makes later events unusable that are right in themselves; the source is not to blame.
   */
  private boolean isExplained(PoolFault fault) {
    boolean hangsOnOthers =
        fault.kind() == KvEventErrorKind.PARENT_BLOCK_NOT_FOUND
            || fault.kind() == KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    return hangsOnOthers && (isResetAnyway() || stream.explains(fault.eventId()));
  }

  private boolean isResetAnyway() {
    return pendingReset != null || parked;
  }

  /** The hole matters: asks for everything, if there is somebody to ask, and not too often. */
  private void mend(Binding source, PoolFault fault) {
    long now = context.runtime().nanoTime();
    boolean due = !isResetAnyway() && (!mended || now - mendedNanos >= MENDING_NANOS);
    if (source.recoverable && !trust.isWhole() && !stream.isRecoveringFully() && due) {
      mended = true;
      mendedNanos = now;
      stream.recoverFully("a hole was felt: " + fault.kind().wireName());
    }
  }

  private void fencePool(CompletableFuture<FaultOutcome> outcome) {
    context.count(IngestCount.POOL_FENCES);
    outcome.complete(FaultOutcome.FENCE_POOL);
  }

  private void reject(Binding source, PoolFault fault, CompletableFuture<FaultOutcome> outcome) {
    context.count(IngestCount.REJECTED_SOURCES);
    LOG.log(Level.WARNING, () -> source.id + " is rejected: " + fault);
    rejected = source.id;
    context.batcher().completed(member);
    problem =
        "what the source said was refused: "
            + fault.kind().wireName()
            + " at event "
            + Long.toUnsignedString(fault.eventId());
    retire(error -> outcome.complete(FaultOutcome.HANDLED));
  }

  private void clearByHand(CompletableFuture<Void> done) {
    if (life.get() != Life.ACTIVE) { // a reset now could meet what a later slot has stored
      done.completeExceptionally(PoolIngest.notExpected(member));
      return;
    }
    context.count(IngestCount.OPERATOR_CLEARS);
    if (active != null && !parked) {
      restart("cleared by hand", error -> complete(done, error));
    } else {
      reset(error -> complete(done, error));
    }
  }

  private static void complete(CompletableFuture<Void> done, @Nullable Throwable error) {
    if (error == null) {
      done.complete(null);
    } else {
      done.completeExceptionally(error);
    }
  }

  // ---- Trust ----

  private void trusted(@Nullable Judgement judgement) {
    if (judgement != null && active == judgement.binding()) {
      trust.provider(judgement.report());
      judge();
    }
  }

  private void subscribed(@Nullable String problemNow) {
    Binding source = active;
    if (source == null) {
      return;
    }
    trust.subscription(problemNow);
    if (problemNow == null) { // what the subscription before said is void
      trust.provider(context.directory().trustOf(source.publisherId()));
    }
    boolean wasParked = parked;
    judge();
    if (problemNow == null && !wasParked && !parked && pendingReset == null) {
      lost("the subscription to live events ended");
    }
  }

  /** An unknown source may stay for a while; then it has to come back with a verified state. */
  private void judge() {
    if (trust.isReachable()) {
      calm();
      if (parked) {
        parked = false;
        Binding source = active;
        if (source != null && pendingReset == null) {
          stream.open(source);
        }
      }
    } else if (unknown == null && !parked) {
      int wait = ++unknownWaits;
      unknown =
          context
              .runtime()
              .schedule(
                  context.config().unknownGrace().toNanos(),
                  () -> post(() -> unknownForTooLong(wait)));
    }
  }

  private void calm() {
    if (unknown != null) {
      unknown.cancel();
      unknown = null;
    }
  }

  private void unknownForTooLong(int wait) {
    if (wait != unknownWaits || unknown == null || active == null || trust.isReachable()) {
      return;
    }
    unknown = null;
    context.count(IngestCount.UNKNOWN_RESETS);
    problem = trust.report(null).reason();
    parked = true;
    context.batcher().completed(member);
    stream.close(
        () ->
            reset(
                error -> {
                  if (error != null) {
                    fence("unknown for too long, and the reset failed: " + Failures.text(error));
                  }
                }));
  }

  // ---- Recovery results, from any thread ----

  @Override
  public void fetched(RankRecovery recovery, FetchResult result) {
    post(
        () -> {
          stream.fetched(recovery, result);
          recovered();
        });
  }

  @Override
  public void replaced(RankRecovery recovery, long last, @Nullable Throwable error) {
    post(
        () -> {
          stream.replaced(recovery, last, error);
          recovered();
        });
  }

  @Override
  public void foreignDump(RankRecovery recovery) {
    post(
        () -> {
          if (stream.isCurrent(recovery)) {
            stream.corrupt(recovery);
          }
        });
  }

  /** A rank that stands again is repaired quickly the next time. */
  private void recovered() {
    if (pendingReset == null && stream.isLive() && !stream.isRecovering()) {
      repairDelay.reset();
    }
  }
}
