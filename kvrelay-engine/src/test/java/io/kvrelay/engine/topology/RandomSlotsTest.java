package io.kvrelay.engine.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.Seeds;
import io.kvrelay.engine.topology.SourceFault.Action;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Slots in a world where every step takes a random time and may fail, tasks run in random order,
 * and facts change all the while. After each calm, every endpoint has exactly the pool that the
 * facts call for; at no time has one two.
 */
class RandomSlotsTest {
  private static final List<EndpointId> ENDPOINTS = List.of(Cards.E1, Cards.E2, Cards.E3);
  private static final int ROUNDS = Integer.getInteger("kvrelay.topology.steps", 300) / 10;

  private final Random random = Seeds.random();
  private final VirtualRuntime runtime = VirtualRuntime.shuffling(random.nextLong());
  private final Map<EndpointId, Generation> present = new HashMap<>();
  private final List<PoolDriver.Events> events = new ArrayList<>();
  private final HostDeployment host = new HostDeployment(runtime.executor());
  private final TopologyProjection topology =
      new TopologyProjection(MembershipView.EMPTY, snapshot -> {});
  private final EndpointSlots slots = new EndpointSlots(runtime, new World(), topology);
  private final List<String> violations = new ArrayList<>();
  private final DeploymentTracker tracker = new DeploymentTracker(DiscoveryScope.ALL);
  private DeploymentView latest;
  private boolean calm;

  @BeforeAll
  static void quiet() {
    Quiet.topology();
  }

  private boolean mishap(int oneIn) {
    return !calm && random.nextInt(oneIn) == 0;
  }

  /** Mailboxes log what their tasks throw, so what is wrong in there is noted. */
  private void check(boolean condition, String violation) {
    if (!condition) {
      violations.add(violation);
    }
  }

  private void later(Runnable task) {
    runtime.schedule(random.nextInt(50) * 1_000_000L, task);
  }

  private final class World implements PoolDriver {
    @Override
    public Start start(PoolPlan plan, Events sink) {
      check(!present.containsKey(plan.endpoint()), "two generations at a time");
      if (mishap(10)) {
        throw new IllegalStateException("refused");
      }
      Generation generation = new Generation(plan);
      present.put(plan.endpoint(), generation);
      events.add(sink);
      CompletableFuture<PoolRun> result = new CompletableFuture<>();
      later(
          () -> {
            if (generation.cancelled || mishap(5)) {
              present.remove(plan.endpoint());
              result.completeExceptionally(new IllegalStateException("no start"));
            } else {
              result.complete(generation);
            }
          });
      return new Start() {
        @Override
        public CompletionStage<PoolRun> result() {
          return result;
        }

        @Override
        public void cancel() {
          generation.cancelled = random.nextBoolean(); // it may be too late
        }
      };
    }
  }

  private final class Generation implements PoolRun {
    private final EndpointId endpoint;
    private final List<String> calls = new ArrayList<>();
    private PoolPlan applied;
    private EndpointSources sources;
    private boolean cancelled;
    private boolean recoveryEnded;
    private boolean fenced;

    private Generation(PoolPlan plan) {
      this.endpoint = plan.endpoint();
      this.applied = plan;
      this.sources = plan.sources();
    }

    private CompletionStage<Void> soon(Runnable effect) {
      CompletableFuture<Void> stage = new CompletableFuture<>();
      later(
          () -> {
            effect.run();
            if (mishap(10)) {
              stage.completeExceptionally(new IllegalStateException("teardown"));
            } else {
              stage.complete(null);
            }
          });
      return stage;
    }

    @Override
    public boolean update(PoolPlan plan) {
      check(calls.isEmpty(), "an update of a retired generation");
      check(plan.binding().equals(applied.binding()), "an update to another binding");
      if (mishap(4)) {
        return false;
      }
      applied = plan;
      return true;
    }

    @Override
    public void reconcile(EndpointSources next) {
      check(calls.isEmpty(), "a reconcile of a retired generation");
      sources = next;
    }

    @Override
    public CompletionStage<PoolDriver.FaultOutcome> handle(SourceFault fault) {
      CompletableFuture<PoolDriver.FaultOutcome> outcome = new CompletableFuture<>();
      boolean bad = mishap(4);
      later(
          () ->
              outcome.complete(
                  bad ? PoolDriver.FaultOutcome.FENCE_POOL : PoolDriver.FaultOutcome.HANDLED));
      return outcome;
    }

    @Override
    public void withdraw(boolean nowFenced, String reason) {
      calls.add("withdraw");
      fenced |= nowFenced;
    }

    @Override
    public CompletionStage<?> stopRecovery() {
      check(calls.equals(List.of("withdraw")), "teardown before withdrawal");
      calls.add("stopRecovery");
      return soon(() -> recoveryEnded = true);
    }

    @Override
    public CompletionStage<?> stopActor(boolean graceful) {
      calls.add("stopActor");
      check(graceful != fenced, "graceful " + graceful + ", fenced " + fenced);
      check(recoveryEnded || !graceful, "the actor ended before recovery");
      return soon(() -> {});
    }

    @Override
    public CompletionStage<?> stopCollector() {
      calls.add("stopCollector");
      return soon(() -> {});
    }

    @Override
    public void remove() {
      check(
          calls.containsAll(List.of("withdraw", "stopRecovery", "stopActor", "stopCollector")),
          "removed after " + calls);
      check(present.remove(endpoint) == this, "removed twice");
    }
  }

  private void change() {
    EndpointId endpoint = ENDPOINTS.get(random.nextInt(ENDPOINTS.size()));
    long worker = random.nextInt(2);
    switch (random.nextInt(8)) {
      case 0, 1, 2 -> host.put(card(endpoint, worker));
      case 3 -> host.removeWorker(endpoint, worker);
      case 4, 5 -> host.advertise(Cards.source(endpoint, worker, 0, worker));
      case 6 -> host.withdraw(endpoint, new Member(worker, 0), worker);
      default -> misbehave(worker);
    }
    latest = tracker.update(host.current());
    slots.apply(latest);
  }

  private ModelCard card(EndpointId endpoint, long worker) {
    ModelCard.Builder card =
        Cards.base(endpoint, worker, "m")
            .sourcePath(random.nextInt(6) == 0 ? "elsewhere" : "path")
            .aliases("alias" + random.nextInt(3));
    if (random.nextInt(4) == 0) {
      card.explicitScope(Map.of("shared", "scope"));
    }
    return card.build();
  }

  private void misbehave(long worker) {
    if (events.isEmpty()) {
      return;
    }
    PoolDriver.Events sink = events.get(Math.max(0, events.size() - 1 - random.nextInt(4)));
    if (random.nextInt(3) == 0) {
      sink.fence("a random fault");
    } else {
      Action action = random.nextBoolean() ? Action.RECOVER : Action.REJECT;
      sink.sourceFault(
          new SourceFault(
              new Member(worker, 0),
              worker,
              action,
              OptionalLong.empty(),
              KvEventErrorKind.BLOCK_NOT_FOUND));
    }
  }

  private void checkCalm() {
    assertThat(violations).isEmpty();
    for (EndpointId endpoint : ENDPOINTS) {
      EndpointMembership member = latest.membership().endpoints().get(endpoint);
      PoolPlan plan = member == null ? null : PoolPlan.of(member, latest.sources().get(endpoint));
      Generation generation = present.get(endpoint);
      if (plan == null) {
        assertThat(generation).isNull();
        boolean blocked = member != null && member.content().isBlocked();
        assertThat(slots.state(endpoint))
            .isEqualTo(
                member == null
                    ? SlotState.LIGHTWEIGHT
                    : blocked ? SlotState.FENCED : SlotState.DISCOVERED);
      } else {
        assertThat(slots.state(endpoint)).isEqualTo(SlotState.ACTIVE);
        assertThat(generation.calls).isEmpty();
        assertThat(generation.applied.membership()).isEqualTo(member);
        assertThat(generation.sources).isEqualTo(plan.sources());
      }
    }
    assertThat(slots.departing()).isZero();
    assertThat(runtime.pendingTimers()).isZero();
  }

  @Test
  void everyEndpointEndsUpWithThePoolThatItsFactsCallFor() {
    for (int round = 0; round < ROUNDS; round++) {
      calm = false;
      for (int i = 0; i < 20; i++) {
        change();
        runtime.advance(Duration.ofMillis(random.nextInt(120)));
      }
      calm = true;
      slots.apply(latest);
      runtime.advance(Duration.ofSeconds(30));
      slots.apply(latest); // updates that failed are tried again with the next facts
      runtime.advance(Duration.ofSeconds(1));
      checkCalm();
    }
    CompletableFuture<Void> stopped = slots.stop().toCompletableFuture();
    runtime.advance(Duration.ofSeconds(30));
    assertThat(stopped).isCompleted();
    assertThat(violations).isEmpty();
    assertThat(present).isEmpty();
    assertThat(runtime.pendingTimers()).isZero();
  }
}
