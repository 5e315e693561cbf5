package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.Member;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialTask;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * One generation of one pool: a serial mailbox around {@link PoolState} and its publisher.
 *
 * <p>Events and commands are applied in the order in which they were admitted. Images are published
 * by count (the publication threshold), by time (the publication delay after the first pending
 * event), and by every flush, reset, replacement and subscription. An event that cannot be applied
 * becomes a fault once its publication is out.
 *
 * <p>Thread safe. Nothing here blocks except {@link #admitBlocking}. Stages complete on the thread
 * that runs the pool, those of who waited for admission on the runtime's executor, and refused ones
 * on the thread that asks or that ends the pool: what depends on them must be quick. The pool runs
 * on the runtime's executor, never on two threads at a time and on none while it has nothing to do.
 *
 * <pre>
 *   field                     written by           read by
 *   state, publisher, timer   the pool's task      the pool's task, and the snapshot copy it waits for
 *   fenceReason, shutdown     any thread           the pool's task       (volatile; the fence comes first)
 *   copyEnded                 the copy             the pool's task       (volatile)
 *   counters                  the pool's task      any thread            (opaque cells)
 * </pre>
 */
public final class PoolActor implements PoolProducer {
  private static final System.Logger LOG = System.getLogger(PoolActor.class.getName());
  private static final int COMMANDS_PER_TURN = 64;
  private static final long WAKE_INTERVAL_MILLIS = 100;

  private final ProducerIdentity identity;
  private final RelayRuntime runtime;
  private final PoolState state;
  private final PoolPublisher publisher;
  private final PoolActorCounters counters = new PoolActorCounters();
  private final PublicationTimer timer;
  // The gate admits no more than fit, so that nothing is allocated, and can fail, behind it.
  private final Queue<PoolCommand> mailbox;
  private final AdmissionGate gate;
  private final SerialTask task;
  private final PoolFaults faults;
  private final CompletableFuture<Void> terminated = new CompletableFuture<>();

  private volatile @Nullable String fenceReason;
  private volatile boolean shutdown;

  // The pool applies nothing while one of these is set.
  private @Nullable SnapshotCopy copy;
  private @Nullable PoolFault blockedFault;

  // What the log has told.
  private long loggedOmissions;
  private long loggedUnknownRemovals;

  private boolean ended;

  /**
   * Creates an empty pool with sequence 0. It allocates the filter: call it where a few
   * milliseconds do not matter.
   *
   * @param config size and cadence
   * @param identity the generation; its format must be the configuration's
   * @param runtime clock, executor and timer
   * @throws IllegalArgumentException if the identity has another format
   * @throws OutOfMemoryError if the filter does not fit
   */
  public PoolActor(PoolConfig config, ProducerIdentity identity, RelayRuntime runtime) {
    this(config, identity, runtime, Memory.HEAP, 0);
  }

  PoolActor(
      PoolConfig config,
      ProducerIdentity identity,
      RelayRuntime runtime,
      Memory memory,
      long lastSequence) {
    this(
        config,
        identity,
        runtime,
        memory,
        lastSequence,
        new MpscVarHandleArrayQueue<>(AdmissionGate.COMMANDS));
  }

  PoolActor(
      PoolConfig config,
      ProducerIdentity identity,
      RelayRuntime runtime,
      Memory memory,
      long lastSequence,
      Queue<PoolCommand> mailbox) {
    if (!identity.format().equals(config.format())) {
      throw new IllegalArgumentException(
          "identity.format = " + identity.format() + ": must be " + config.format());
    }
    this.identity = identity;
    this.runtime = runtime;
    this.mailbox = mailbox;
    this.state = new PoolState(config.filter(), config.publicationThreshold(), memory);
    this.publisher = new PoolPublisher(identity, lastSequence);
    this.task = new SerialTask(runtime.executor(), this::turn);
    this.gate = new AdmissionGate(mailbox::offer, runtime.executor(), this::refusal);
    this.faults = new PoolFaults(task::wake);
    this.timer = new PublicationTimer(runtime, config.publicationDelay().toNanos(), task::wake);
    publishNumbers();
  }

  @Override
  public ProducerIdentity identity() {
    return identity;
  }

  /**
   * Admits an event. The stage completes once it is in the mailbox, which is at once unless the
   * mailbox is full; it does not wait for the event to be applied. Events whose stages were asked
   * for in one order are applied in that order.
   *
   * @param event the event
   * @param publisherId the publisher it came from; a fault names it
   * @return a stage; fails with a {@link RelayException} once the pool is ending
   */
  public CompletionStage<Void> admit(KvEvent event, long publisherId) {
    return send(new PoolCommand.Event(event, publisherId));
  }

  /**
   * Admits an event and waits until it is in the mailbox or the pool is ending. Do not call it on
   * the runtime's executor.
   *
   * @param event the event
   * @param publisherId the publisher it came from; a fault names it
   * @throws InterruptedException if the thread is interrupted; the event may still be admitted
   * @throws RelayException once the pool is ending
   */
  public void admitBlocking(KvEvent event, long publisherId) throws InterruptedException {
    CompletableFuture<Void> admitted = admit(event, publisherId).toCompletableFuture();
    while (true) {
      try {
        admitted.get(WAKE_INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
        return;
      } catch (TimeoutException full) {
        task.wake(); // the executor may have rejected the turn that was to make room
      } catch (ExecutionException e) {
        throw e.getCause() instanceof RelayException known ? known : new CompletionException(e);
      }
    }
  }

  /**
   * Publishes what is pending.
   *
   * @return a stage that completes, once everything admitted before is applied and published, with
   *     the sequence that covers it (unsigned). Fails with {@code RESOURCE_LIMIT} if there is no
   *     memory for the images, which are tried again, and with {@code PUBLICATION_UNAVAILABLE} if
   *     images could not be handed over since the lease had its snapshot: only the snapshot of a
   *     new lease covers them
   */
  public CompletionStage<Long> flush() {
    return sendAndAwait(new PoolCommand.Flush());
  }

  /**
   * Copies the filter as it stands after everything admitted before; lease and sequence stay as
   * they are. For comparing a consumer with its producer: the pool does nothing else meanwhile.
   *
   * @return a stage with one word per bucket; fails with {@code RESOURCE_LIMIT}, and the pool goes
   *     on, if there is no memory for them
   */
  public CompletionStage<long[]> filterWords() {
    return sendAndAwait(new PoolCommand.CopyFilter());
  }

  /**
   * Removes every mapping of a rank and publishes.
   *
   * @param member the rank; an unknown one is a success
   * @return a stage that completes once everything admitted before and the reset are applied and
   *     published; if there is no memory for the images the timer publishes them. Fails if the rank
   *     could not be cleared in two attempts, and fences the pool if its state contradicts itself
   */
  public CompletionStage<Void> resetRank(Member member) {
    return sendAndAwait(new PoolCommand.Reset(member));
  }

  /**
   * Removes every mapping of every rank of a worker and publishes once.
   *
   * @param workerId the worker; an unknown one is a success
   * @return a stage as of {@link #resetRank}
   */
  public CompletionStage<Void> removeWorker(long workerId) {
    return sendAndAwait(new PoolCommand.RemoveWorker(workerId));
  }

  /**
   * Replaces the whole content of some ranks in one step, with at most one publication.
   *
   * @param replacements new content by rank; an empty one removes the rank. Handed over
   * @return a stage that completes once the new state is in place and published, as of {@link
   *     #resetRank}; fails, with the old state untouched, if it could not be built
   * @throws IllegalArgumentException if a replacement is of another rank than its key
   * @throws IllegalStateException if a replacement was handed over before
   */
  public CompletionStage<Void> replaceRanks(Map<Member, RankReplacement> replacements) {
    return sendAndAwait(new PoolCommand.Replace(replacements));
  }

  @Override
  public CompletionStage<PoolSnapshot> subscribe(LaneLease lease) {
    return sendAndAwait(new PoolCommand.Subscribe(lease));
  }

  @Override
  public CompletionStage<Void> retireLease(LaneLease lease) {
    return retire(new PoolCommand.Retire(lease, false));
  }

  /**
   * Retires a lease whose consumer makes no progress. Nothing is published until a new lease has
   * its snapshot.
   *
   * @param lease the lease; one that is not current is left alone
   * @return a stage that completes once it is retired
   */
  public CompletionStage<Void> retireStalledLease(LaneLease lease) {
    return retire(new PoolCommand.Retire(lease, true));
  }

  private CompletionStage<Void> retire(PoolCommand.Retire command) {
    // An ending pool retires every lease, so a refusal is a success that comes with the end.
    return sendAndAwait(command).exceptionallyCompose(refused -> terminated);
  }

  private <T> CompletableFuture<T> sendAndAwait(PoolCommand.Awaited<T> command) {
    CompletionStage<Void> admitted = send(command);
    admitted.whenComplete(
        (done, refused) -> {
          if (refused != null) {
            command.done.completeExceptionally(refused);
          }
        });
    return command.done;
  }

  private CompletionStage<Void> send(PoolCommand command) {
    CompletionStage<Void> admitted = gate.admit(command);
    task.wake();
    return admitted;
  }

  /**
   * Events that could not be applied. Somebody must take them: the pool stops while 16 wait.
   *
   * @return the faults
   */
  public PoolFaults faults() {
    return faults;
  }

  /**
   * Ends in order: refuses new commands, finishes the admitted ones, publishes the tail, retires
   * the lease. Idempotent.
   *
   * @return a stage that completes once the pool has ended
   */
  public CompletionStage<Void> shutdown() {
    // In this order: the task ends when it finds an empty mailbox, into which nothing may come
    // then.
    gate.close();
    shutdown = true;
    task.wake();
    return terminated.minimalCompletionStage();
  }

  @Override
  public void fence(String reason) {
    synchronized (gate) {
      if (fenceReason == null) {
        fenceReason = reason;
      }
    }
    gate.close();
    task.wake();
  }

  /**
   * Why the pool was fenced.
   *
   * @return the first reason, or null
   */
  public @Nullable String fenceReason() {
    return fenceReason;
  }

  @Override
  public CompletionStage<Void> terminated() {
    return terminated.minimalCompletionStage();
  }

  /**
   * Counters and sizes, without disturbing the pool: each number is recent, together they are no
   * single moment's.
   *
   * @return a copy
   */
  public PoolActorStatistics statistics() {
    return counters.read(state.counters().read(), gate);
  }

  private RelayException refusal() {
    String reason = fenceReason;
    return new RelayException(
        RelayErrorReason.PUBLICATION_UNAVAILABLE,
        "pool " + identity + (reason == null ? " is shutting down" : " is fenced: " + reason));
  }

  // ---- From here on only the pool's task runs. ----

  private void turn() {
    if (ended) {
      refuseMailbox();
      return;
    }
    try {
      for (int i = 0; i < COMMANDS_PER_TURN; i++) {
        if (fenceReason != null && copyIsSettled()) {
          end();
          return;
        }
        if (isBlocked()) {
          publishNumbers();
          return;
        }
        // Read before the mailbox: the gate was closed before this was set, so a mailbox that is
        // found empty afterwards stays so.
        boolean closing = shutdown;
        PoolCommand command = mailbox.poll();
        if (command == null) {
          idle(closing);
          publishNumbers();
          return;
        }
        process(command);
      }
      publishNumbers();
      task.wake();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "pool " + identity + " failed", e);
      fence("internal error: " + e);
    }
  }

  private void idle(boolean closing) {
    if (closing) {
      publish(state.drain());
      if (state.isDeferred()) {
        LOG.log(Level.WARNING, "pool " + identity + ": no memory for its last publication");
      }
      end();
    } else if (timer.isDue()) {
      publish(state.drain());
      if (state.hasPending()) {
        // The images could not be allocated. They are tried again.
        timer.arm();
      }
    }
  }

  private boolean isBlocked() {
    if (blockedFault != null && faults.offer(blockedFault)) {
      blockedFault = null;
    }
    return blockedFault != null || !copyIsSettled();
  }

  private void process(PoolCommand command) {
    try {
      if (command instanceof PoolCommand.Event event) {
        applyEvent(event);
      } else if (command instanceof PoolCommand.Subscribe subscribe) {
        startCopy(subscribe);
      } else {
        processBarrier(command);
      }
    } catch (RuntimeException | Error e) {
      command.refuse(new RelayException(RelayErrorReason.INTERNAL, "pool " + identity + ": " + e));
      throw e;
    } finally {
      gate.release(command);
    }
  }

  private void applyEvent(PoolCommand.Event command) {
    EventOutcome outcome = state.apply(command.event);
    counters.appliedEvents.increment();
    publish(outcome.publication());
    if (outcome.boundary() || !state.hasPending()) {
      timer.disarm();
    } else if (state.pendingEvents() == 1 || state.isDeferred()) {
      timer.arm();
    }
    logNews();
    if (outcome.firstError() != null) {
      dispose(command, outcome.firstError());
    }
  }

  /** What an error means for its source; see {@code docs/producer.md}. */
  private void dispose(PoolCommand.Event command, KvEventErrorKind kind) {
    PoolFault.Action action = EventDisposition.of(kind);
    if (action == null) {
      return; // a capacity omission
    }
    counters.faults.increment();
    KvEvent event = command.event;
    PoolFault fault =
        new PoolFault(command.publisherId, event.member(), event.eventId(), kind, action);
    boolean offered = faults.offer(fault);
    if (action == PoolFault.Action.FENCE_PRODUCER) {
      fence(kind.wireName() + " at event " + Long.toUnsignedString(event.eventId()));
    } else if (!offered) {
      blockedFault = fault;
    }
  }

  private void logNews() {
    PoolCounters numbers = state.counters();
    loggedOmissions =
        logSparsely("capacity omissions", loggedOmissions, numbers.capacityFailures.get());
    loggedUnknownRemovals =
        logSparsely(
            "removals of unknown engine hashes",
            loggedUnknownRemovals,
            numbers.unknownRemovals.get());
  }

  /** Warns of the first, however many come at once, and mentions each power of two reached. */
  private long logSparsely(String what, long before, long now) {
    if (Long.highestOneBit(before) != Long.highestOneBit(now)) {
      Level level = before == 0 ? Level.WARNING : Level.DEBUG;
      LOG.log(level, () -> "pool " + identity + ": " + what + ", " + now + " so far");
    }
    return now;
  }

  private void processBarrier(PoolCommand command) {
    if (command instanceof PoolCommand.Flush flush) {
      flush(flush);
    } else if (command instanceof PoolCommand.CopyFilter copyFilter) {
      copyWords(copyFilter);
    } else if (command instanceof PoolCommand.Reset reset) {
      KvEventErrorKind error = state.removeRank(reset.member);
      // What is left is exact, so that a partial failure can be repeated.
      error = error == null ? null : state.removeRank(reset.member);
      finish(reset, error, "reset of rank " + reset.member);
    } else if (command instanceof PoolCommand.RemoveWorker removal) {
      KvEventErrorKind error = state.removeWorker(removal.workerId);
      error = error == null ? null : state.removeWorker(removal.workerId);
      finish(removal, error, "removal of worker " + Long.toUnsignedString(removal.workerId));
    } else if (command instanceof PoolCommand.Replace replace) {
      finish(replace, state.replaceRanks(replace.replacements), "replacement of ranks");
      logNews();
    } else if (command instanceof PoolCommand.Retire retire) {
      if (retire.stalled) {
        publisher.retireStalled(retire.lease);
      } else {
        publisher.retire(retire.lease);
      }
      publishNumbers();
      retire.done.complete(null);
    }
  }

  private void copyWords(PoolCommand.CopyFilter command) {
    long[] words;
    try {
      words = state.copyWords();
    } catch (OutOfMemoryError e) {
      command.done.completeExceptionally(failed("copy", KvEventErrorKind.ALLOCATION_FAILED));
      return;
    }
    command.done.complete(words);
  }

  private void finish(
      PoolCommand.Awaited<Void> command, @Nullable KvEventErrorKind error, String what) {
    if (error == null) {
      drain();
      command.done.complete(null);
      return;
    }
    // Before the answer: whoever gets it finds the pool fenced, and for this reason.
    if (error == KvEventErrorKind.INDEXER_INVARIANT_VIOLATION) {
      fence(error.wireName() + " at the " + what);
    } else if (state.hasPending()) {
      timer.arm(); // ranks that went before the one that failed
    }
    command.done.completeExceptionally(failed(what, error));
  }

  private void flush(PoolCommand.Flush command) {
    drain();
    if (state.isDeferred()) {
      command.done.completeExceptionally(failed("publication", KvEventErrorKind.ALLOCATION_FAILED));
    } else if (publisher.isBehind()) {
      command.done.completeExceptionally(
          new RelayException(
              RelayErrorReason.PUBLICATION_UNAVAILABLE,
              "pool "
                  + identity
                  + ": publications are lost until the next lease has its snapshot"));
    } else {
      command.done.complete(publisher.lastSequence());
    }
  }

  private void drain() {
    publish(state.drain());
    if (state.isDeferred()) {
      timer.arm();
    } else {
      timer.disarm();
    }
    publishNumbers(); // whoever waits for this finds it in the statistics
  }

  private RelayException failed(String what, KvEventErrorKind error) {
    RelayErrorReason reason =
        error == KvEventErrorKind.ALLOCATION_FAILED
            ? RelayErrorReason.RESOURCE_LIMIT
            : RelayErrorReason.INTERNAL;
    return new RelayException(reason, what + " of pool " + identity + ": " + error.wireName());
  }

  private void publish(@Nullable BucketImages images) {
    if (images == null) {
      return;
    }
    PoolPublisher.Result result = publisher.publish(images);
    counters.count(result);
    if (result == PoolPublisher.Result.FENCED) {
      LOG.log(Level.WARNING, () -> "pool " + identity + ": publisher fenced, " + publisher.fence());
      if (publisher.isExhausted()) {
        fence("no sequence number left");
      }
    }
  }

  // ---- Barrier snapshots ----

  private void startCopy(PoolCommand.Subscribe command) {
    if (publisher.isExhausted()) {
      command.done.completeExceptionally(
          new RelayException(
              RelayErrorReason.INVALID_PUBLICATION, "no sequence number left: " + identity));
      return;
    }
    if (command.done.isDone()) {
      return;
    }
    SnapshotCopy started = new SnapshotCopy(command, state, task::wake);
    runtime.executor().execute(started);
    copy = started; // not if the executor refused it: nobody would ever end it
  }

  /** Whether no copy is under way; takes over one that has just ended. */
  private boolean copyIsSettled() {
    SnapshotCopy current = copy;
    if (current == null) {
      return true;
    }
    if (!current.hasEnded()) {
      return false;
    }
    copy = null;
    if (fenceReason != null) {
      current.command.refuse(refusal());
    } else if (current.failure() != null) {
      failCopy(current.command, current.failure());
    } else {
      try {
        install(current.command, Objects.requireNonNull(current.words()));
      } catch (RuntimeException | Error e) {
        current.command.refuse(
            new RelayException(RelayErrorReason.INTERNAL, "pool " + identity + ": " + e));
        throw e;
      }
    }
    return true;
  }

  private void failCopy(PoolCommand.Subscribe command, Throwable failure) {
    if (failure instanceof OutOfMemoryError) {
      // The tail is where it was: the copy comes before the drain.
      command.done.completeExceptionally(failed("snapshot", KvEventErrorKind.ALLOCATION_FAILED));
    } else {
      command.done.completeExceptionally(
          new RelayException(
              RelayErrorReason.INTERNAL,
              RelayErrorReason.INTERNAL.action(),
              "the snapshot copy of " + identity + " died: " + failure,
              failure));
      fence("the snapshot copy died: " + failure);
    }
  }

  private void install(PoolCommand.Subscribe command, long[] words) {
    BucketImages tail = state.drain();
    if (state.isDeferred()) {
      timer.arm();
      command.done.completeExceptionally(failed("snapshot", KvEventErrorKind.ALLOCATION_FAILED));
      return;
    }
    timer.disarm();
    if (tail != null && publisher.fence() == null) {
      publish(tail);
      if (publisher.fence() != null) {
        command.done.completeExceptionally(
            new RelayException(
                RelayErrorReason.PUBLICATION_UNAVAILABLE,
                "the tail could not be handed to the old lease of " + identity));
        return;
      }
    }
    DeltaChannel channel = publisher.install(command.lease);
    state.startMaterializing();
    PoolSnapshot snapshot =
        new PoolSnapshot(identity, command.lease, publisher.lastSequence(), words, channel);
    if (!command.done.complete(snapshot)) {
      // The requester has gone.
      publisher.retire(command.lease);
    }
  }

  // ---- The end ----

  private void end() {
    ended = true;
    try {
      gate.close();
      timer.close();
      publisher.retireCurrent();
      blockedFault = null;
      refuseMailbox();
      publishNumbers();
    } finally {
      terminated.complete(null);
    }
  }

  private void refuseMailbox() {
    for (PoolCommand command = mailbox.poll(); command != null; command = mailbox.poll()) {
      if (command instanceof PoolCommand.Event) {
        counters.droppedEvents.increment();
      }
      command.refuse(refusal());
      gate.release(command);
    }
  }

  private void publishNumbers() {
    state.readSizes();
    counters.lastSequence.set(publisher.lastSequence());
    counters.leased.set(publisher.lease() == null ? 0 : 1);
  }

  /** For tests that look at the exact state between turns. */
  PoolState state() {
    return state;
  }

  /** For tests that look at the publisher between turns. */
  PoolPublisher publisher() {
    return publisher;
  }
}
