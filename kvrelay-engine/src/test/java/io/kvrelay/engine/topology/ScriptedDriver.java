package io.kvrelay.engine.topology;

import io.kvrelay.api.deployment.EndpointSources;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A world that does what the test says, and writes down what the slot asks for. */
final class ScriptedDriver implements PoolDriver {
  final List<String> log = new ArrayList<>();
  final List<Run> runs = new ArrayList<>();
  final List<Attempt> attempts = new ArrayList<>();
  boolean holdStarts;
  boolean holdTeardown;
  boolean failStarts;
  boolean throwOnStart;
  boolean failUpdates;
  boolean failTeardown;

  final class Attempt implements Start {
    final PoolPlan plan;
    final Events events;
    final CompletableFuture<PoolRun> result = new CompletableFuture<>();

    Attempt(PoolPlan plan, Events events) {
      this.plan = plan;
      this.events = events;
    }

    void succeed() {
      Run run = new Run(runs.size() + 1);
      runs.add(run);
      result.complete(run);
    }

    @Override
    public CompletionStage<PoolRun> result() {
      return result;
    }

    @Override
    public void cancel() {
      log.add("cancel");
      result.cancel(false);
    }
  }

  final class Run implements PoolRun {
    final int number;
    final List<PoolPlan> updates = new ArrayList<>();
    final List<EndpointSources> reconciled = new ArrayList<>();
    final List<SourceFault> faults = new ArrayList<>();
    final List<CompletableFuture<FaultOutcome>> outcomes = new ArrayList<>();
    final CompletableFuture<Void> recovery = new CompletableFuture<>();
    final CompletableFuture<Void> actor = new CompletableFuture<>();
    final CompletableFuture<Void> collector = new CompletableFuture<>();

    Run(int number) {
      this.number = number;
    }

    private void note(String what) {
      log.add(what + " " + number);
    }

    private CompletionStage<Void> stage(CompletableFuture<Void> stage) {
      if (failTeardown) {
        stage.completeExceptionally(new IllegalStateException("teardown"));
      } else if (!holdTeardown) {
        stage.complete(null);
      }
      return stage;
    }

    @Override
    public boolean update(PoolPlan plan) {
      note("update");
      updates.add(plan);
      return !failUpdates;
    }

    @Override
    public void reconcile(EndpointSources sources) {
      note("reconcile");
      reconciled.add(sources);
    }

    @Override
    public CompletionStage<FaultOutcome> handle(SourceFault fault) {
      note("handle");
      faults.add(fault);
      CompletableFuture<FaultOutcome> outcome = new CompletableFuture<>();
      outcomes.add(outcome);
      return outcome;
    }

    @Override
    public void withdraw(boolean fenced, String reason) {
      note(fenced ? "fence" : "withdraw");
    }

    @Override
    public CompletionStage<?> stopRecovery() {
      note("stopRecovery");
      return stage(recovery);
    }

    @Override
    public CompletionStage<?> stopActor(boolean graceful) {
      note(graceful ? "finishActor" : "fenceActor");
      return stage(actor);
    }

    @Override
    public CompletionStage<?> stopCollector() {
      note("stopCollector");
      return stage(collector);
    }

    @Override
    public void remove() {
      note("remove");
    }
  }

  @Override
  public Start start(PoolPlan plan, Events events) {
    log.add("start");
    Attempt attempt = new Attempt(plan, events);
    attempts.add(attempt);
    if (throwOnStart) {
      throw new IllegalStateException("cannot start");
    }
    if (failStarts) {
      attempt.result.completeExceptionally(new IllegalStateException("no room"));
    } else if (!holdStarts) {
      attempt.succeed();
    }
    return attempt;
  }

  Attempt lastAttempt() {
    return attempts.get(attempts.size() - 1);
  }

  Run lastRun() {
    return runs.get(runs.size() - 1);
  }

  List<String> takeLog() {
    List<String> taken = List.copyOf(log);
    log.clear();
    return taken;
  }
}
