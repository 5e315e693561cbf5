package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import io.kvrelay.api.runtime.SerialExecutor;
import io.kvrelay.engine.topology.SlotCounters.Event;
import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The life of one endpoint's pool: a serial state machine that starts a generation when the facts
 * allow one, keeps it up to date, retires it in order, and starts again. At most one generation
 * exists at a time.
 *
 * <p>Everything runs on one mailbox; public methods only post to it. {@link #state()} may be read
 * anywhere.
 */
final class EndpointSlot {
  private static final System.Logger LOG = System.getLogger(EndpointSlot.class.getName());

  private enum Phase {
    /** No generation. */
    IDLE,
    /** No generation until the retry timer fires. */
    WAITING,
    STARTING,
    RUNNING,
    RETIRING
  }

  private final EndpointId endpoint;
  private final long incarnation;
  private final RelayRuntime runtime;
  private final PoolDriver driver;
  private final SlotCounters counters;
  private final SerialExecutor mailbox;
  private final CompletableFuture<Void> joined = new CompletableFuture<>();

  // Everything below belongs to the mailbox; published and problem may be read anywhere.
  private final RetryDelay delay = RetryDelay.local();
  private Phase phase = Phase.IDLE;
  private @Nullable EndpointMembership membership;
  private @Nullable PoolPlan plan;
  private PoolPlan.@Nullable Binding desired;
  private @Nullable Attempt attempt;
  private RelayRuntime.@Nullable Timer retry;
  private int waits;
  private boolean predecessorGone;
  private boolean leaving;
  private volatile SlotState published = SlotState.LIGHTWEIGHT;
  private volatile @Nullable String problem;

  EndpointSlot(
      EndpointId endpoint,
      long incarnation,
      RelayRuntime runtime,
      PoolDriver driver,
      SlotCounters counters,
      CompletionStage<?> predecessor) {
    this.endpoint = endpoint;
    this.incarnation = incarnation;
    this.runtime = runtime;
    this.driver = driver;
    this.counters = counters;
    this.mailbox = new SerialExecutor(runtime.executor());
    // The endpoint stays taken until the slot before has removed its generation.
    predecessor.whenComplete(
        (done, error) ->
            post(
                () -> {
                  predecessorGone = true;
                }));
  }

  EndpointId endpoint() {
    return endpoint;
  }

  long incarnation() {
    return incarnation;
  }

  SlotState state() {
    return published;
  }

  /** What keeps the endpoint from having a pool, or null. */
  @Nullable String problem() {
    return problem;
  }

  /** Takes the latest facts, which belong together. */
  void update(EndpointMembership next, EndpointSources sources) {
    post(
        () -> {
          membership = next;
          plan = PoolPlan.of(next, sources);
          PoolPlan.Binding binding = plan == null ? null : plan.binding();
          if (!Objects.equals(binding, desired)) {
            desired = binding;
            delay.reset();
            endWait();
          }
        });
  }

  /** Gives the endpoint up. Completes when no generation is left. */
  CompletionStage<Void> leave() {
    post(
        () -> {
          leaving = true;
          membership = null;
          plan = null;
          endWait();
        });
    return joined.minimalCompletionStage();
  }

  private void post(Runnable change) {
    mailbox.execute(
        () -> {
          change.run();
          evaluate();
          publishState();
        });
  }

  private void publishState() {
    published = currentState();
    EndpointMembership member = membership;
    if (member != null && member.content().isBlocked()) {
      problem =
          member.content().conflicts().stream()
              .filter(conflict -> conflict.scope() != ConflictScope.SERVING_BINDING)
              .map(Conflict::detail)
              .reduce((a, b) -> a + "; " + b)
              .orElse(null);
    } else if (published != SlotState.FENCED) {
      problem = null;
    }
  }

  private SlotState currentState() {
    EndpointMembership member = membership;
    return switch (phase) {
      case STARTING -> SlotState.STARTING;
      case RUNNING -> SlotState.ACTIVE;
      case RETIRING -> running().fenced ? SlotState.FENCED : SlotState.DRAINING;
      case WAITING -> SlotState.FENCED;
      case IDLE ->
          member == null
              ? SlotState.LIGHTWEIGHT
              : member.content().isBlocked() ? SlotState.FENCED : SlotState.DISCOVERED;
    };
  }

  private Attempt running() {
    return Objects.requireNonNull(attempt);
  }

  private void evaluate() {
    switch (phase) {
      case IDLE -> {
        if (leaving) {
          joined.complete(null);
        } else if (plan != null && predecessorGone) {
          start(plan);
        }
      }
      case STARTING -> {
        if (!running().isStillWanted()) {
          running().giveUp();
        }
      }
      case RUNNING -> follow(running());
      case WAITING, RETIRING -> {
        // the timer, or the last step of the teardown, goes on
      }
    }
  }

  private void start(PoolPlan wanted) {
    counters.count(Event.STARTS);
    phase = Phase.STARTING;
    Attempt next = new Attempt(wanted);
    attempt = next;
    try {
      PoolDriver.Start start = driver.start(wanted, next);
      next.start = start;
      start.result().whenComplete((run, error) -> post(() -> started(next, run, error)));
    } catch (RuntimeException | Error refused) {
      startFailed(next, refused);
    }
  }

  private void started(Attempt from, @Nullable PoolRun run, @Nullable Throwable error) {
    if (run == null) {
      startFailed(from, error == null ? new IllegalStateException("no generation") : error);
      return;
    }
    from.run = run;
    if (from.givenUp || !from.isStillWanted()) {
      counters.count(Event.CANDIDATES_STOPPED);
      retire(from, from.faults.fence());
      return;
    }
    phase = Phase.RUNNING;
    delay.reset();
    from.handleFaults();
  }

  private void startFailed(Attempt from, Throwable error) {
    attempt = null;
    phase = Phase.IDLE;
    if (from.givenUp) {
      return;
    }
    counters.count(Event.START_FAILURES);
    LOG.log(Level.WARNING, () -> "the pool of " + endpoint + " did not start: " + error);
    wait("the pool did not start: " + error);
  }

  private void wait(String reason) {
    problem = reason;
    phase = Phase.WAITING;
    int wait = ++waits;
    retry = runtime.schedule(delay.takeNanos(), () -> post(() -> endWait(wait)));
  }

  private void endWait(int wait) {
    if (wait == waits) {
      endWait();
    }
  }

  private void endWait() {
    if (phase == Phase.WAITING) {
      phase = Phase.IDLE;
      if (retry != null) {
        retry.cancel();
      }
    }
  }

  /** Brings a running generation in line with the facts. */
  private void follow(Attempt current) {
    EndpointMembership member = membership;
    if (member != null && member.content().isBlocked()) {
      retire(current, "a conflict: " + member.content().conflicts());
    } else if (plan == null || !plan.binding().equals(current.startedFor.binding())) {
      retire(current, null);
    } else {
      current.bringUpToDate(plan);
    }
  }

  /**
   * Withdraws first, tears down, removes last. Graceful if there is no reason to fence: recovery
   * ends before the actor, which then publishes its tail. Fenced: both at once.
   */
  private void retire(Attempt current, @Nullable String fenceReason) {
    PoolRun run = Objects.requireNonNull(current.run);
    phase = Phase.RETIRING;
    current.fenced = fenceReason != null;
    counters.count(current.fenced ? Event.FENCED_RETIREMENTS : Event.GRACEFUL_RETIREMENTS);
    counters.count(Event.FAULTS_DISCARDED, current.faults.size());
    run(() -> run.withdraw(current.fenced, fenceReason == null ? "retired" : fenceReason));
    CompletionStage<?> recovery = step(run::stopRecovery);
    CompletionStage<?> actor =
        current.fenced
            ? step(() -> run.stopActor(false))
            : recovery.thenComposeAsync(
                done -> step(() -> run.stopActor(!current.fenced)), mailbox);
    CompletionStage<?> collector = step(run::stopCollector);
    recovery
        .runAfterBoth(actor, () -> {})
        .runAfterBoth(collector, () -> {})
        .whenComplete((done, error) -> post(() -> retired(current, run)));
  }

  private void retired(Attempt current, PoolRun run) {
    run(run::remove);
    attempt = null;
    phase = Phase.IDLE;
    if (current.fault != null && !leaving) {
      wait(current.fault);
    }
  }

  /** A generation that failed while it drains gently no longer does: its tail cannot be trusted. */
  private void escalate(Attempt current, String reason) {
    if (!current.fenced) {
      current.fenced = true;
      PoolRun run = Objects.requireNonNull(current.run);
      run(() -> run.withdraw(true, reason));
      step(() -> run.stopActor(false));
    }
  }

  private void run(Runnable action) {
    step(
        () -> {
          action.run();
          return CompletableFuture.completedStage(null);
        });
  }

  /** A step that fails is counted; what follows must happen all the same. */
  private CompletionStage<?> step(Supplier<CompletionStage<?>> action) {
    CompletionStage<?> stage;
    try {
      stage = action.get();
    } catch (RuntimeException | Error e) {
      stage = CompletableFuture.failedStage(e);
    }
    return stage.<@Nullable Object>handle(
        (done, error) -> {
          if (error != null) {
            counters.count(Event.FAILED_STEPS);
            LOG.log(Level.WARNING, "a step of the pool of " + endpoint, error);
          }
          return null;
        });
  }

  /** One generation, from its start to its removal. Events of an older one find it replaced. */
  private final class Attempt implements PoolDriver.Events {
    private final PoolPlan startedFor;
    private final FaultQueue faults = new FaultQueue();
    private PoolDriver.@Nullable Start start;
    private @Nullable PoolRun run;
    private PoolPlan applied;
    private EndpointSources reconciled;
    private boolean givenUp;
    private boolean fenced;
    private boolean handling;
    private @Nullable String fault;

    private Attempt(PoolPlan startedFor) {
      this.startedFor = startedFor;
      this.applied = startedFor;
      this.reconciled = startedFor.sources();
    }

    private boolean isStillWanted() {
      PoolPlan now = plan;
      return now != null
          && now.membership().generation() == startedFor.membership().generation()
          && now.binding().equals(startedFor.binding());
    }

    private void giveUp() {
      if (!givenUp && start != null) {
        givenUp = true;
        start.cancel();
      }
    }

    private void bringUpToDate(PoolPlan latest) {
      PoolRun current = Objects.requireNonNull(run);
      if (latest.membership().generation() != applied.membership().generation()) {
        if (applies(current, latest)) {
          counters.count(Event.UPDATES);
          applied = latest;
        } else {
          counters.count(Event.FAILED_UPDATES);
        }
      }
      if (!latest.sources().equals(reconciled)) {
        run(
            () -> {
              current.reconcile(latest.sources());
              reconciled = latest.sources();
            });
      }
    }

    private boolean applies(PoolRun current, PoolPlan latest) {
      try {
        return current.update(latest);
      } catch (RuntimeException | Error e) {
        LOG.log(Level.WARNING, "an update of the pool of " + endpoint, e);
        return false;
      }
    }

    @Override
    public void sourceFault(SourceFault reported) {
      post(
          () -> {
            if (attempt != this || phase == Phase.RETIRING) {
              counters.count(Event.FAULTS_DISCARDED);
            } else if (!faults.offer(reported)) {
              counters.count(Event.FAULTS_COALESCED);
            }
            handleFaults();
          });
    }

    @Override
    public void fence(String reason) {
      post(
          () -> {
            if (attempt == this && phase == Phase.RETIRING) {
              escalate(this, reason);
            } else if (attempt == this) {
              faults.fence(reason);
              handleFaults();
            }
          });
    }

    /** One at a time; a producer fence does not wait for the one being handled. */
    private void handleFaults() {
      if (attempt != this || phase != Phase.RUNNING) {
        return;
      }
      String reason = faults.fence();
      if (reason != null) {
        fault = "the pool was fenced: " + reason;
        LOG.log(Level.WARNING, () -> "the pool of " + endpoint + " is fenced: " + reason);
        retire(this, reason);
        return;
      }
      SourceFault next = handling ? null : faults.poll();
      if (next != null) {
        handling = true;
        counters.count(Event.FAULTS_HANDLED);
        outcome(next).whenComplete((outcome, error) -> post(() -> handled(next, outcome, error)));
      }
    }

    private CompletionStage<PoolDriver.FaultOutcome> outcome(SourceFault next) {
      try {
        return Objects.requireNonNull(run).handle(next);
      } catch (RuntimeException | Error e) {
        return CompletableFuture.failedStage(e);
      }
    }

    private void handled(
        SourceFault which, PoolDriver.@Nullable FaultOutcome outcome, @Nullable Throwable error) {
      handling = false;
      if (outcome != PoolDriver.FaultOutcome.HANDLED) {
        faults.fence(which + (error == null ? "" : ": " + error));
      }
      handleFaults();
    }
  }
}
