package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.runtime.RelayRuntime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One slot per endpoint in scope. A slot whose endpoint left drains in the background and delays no
 * other; if the endpoint comes back meanwhile, its new slot waits for the old one alone.
 *
 * <p>Thread safe; nothing blocks. Views are to be applied in order.
 */
public final class EndpointSlots {
  private final RelayRuntime runtime;
  private final PoolDriver driver;
  private final TopologyProjection topology;
  private final SlotCounters counters = new SlotCounters();
  // Guarded by this.
  private final TreeMap<EndpointId, EndpointSlot> slots = new TreeMap<>(TextOrder.ENDPOINTS);
  private final Map<EndpointId, CompletionStage<Void>> departed = new HashMap<>();
  private long lastIncarnation;
  private boolean stopped;

  /**
   * Creates it without slots.
   *
   * @param runtime clock, executor and timer
   * @param driver starts generations
   * @param topology gets membership and liveness, each slot's under its own incarnation
   */
  public EndpointSlots(RelayRuntime runtime, PoolDriver driver, TopologyProjection topology) {
    this(runtime, driver, topology, 0);
  }

  /** Creates it as if a number of slots had come and gone, for tests of their end. */
  EndpointSlots(
      RelayRuntime runtime, PoolDriver driver, TopologyProjection topology, long lastIncarnation) {
    this.lastIncarnation = lastIncarnation;
    this.runtime = runtime;
    this.driver = driver;
    this.topology = topology;
  }

  /**
   * Follows the latest facts. Ignored once stopped.
   *
   * @param view what they come to
   * @throws RelayException with {@code RESOURCE_LIMIT} if no slot incarnation is left; the relay
   *     must stop
   */
  public synchronized void apply(DeploymentView view) {
    if (stopped) {
      return;
    }
    topology.batch(() -> follow(view));
  }

  private void follow(DeploymentView view) {
    topology.membership(view.membership());
    for (EndpointId endpoint : List.copyOf(slots.keySet())) {
      if (!view.membership().endpoints().containsKey(endpoint)) {
        leave(endpoint);
      }
    }
    for (EndpointMembership member : view.membership().endpoints().values()) {
      EndpointId endpoint = member.endpoint();
      EndpointSlot slot = slots.get(endpoint);
      if (slot == null) {
        slot = enter(endpoint);
      }
      EndpointSources sources = view.sources().get(endpoint);
      slot.update(
          member, sources == null ? new EndpointSources(endpoint, null, new TreeMap<>()) : sources);
      topology.liveness(endpoint, slot.incarnation(), view.liveWorkers().get(endpoint));
    }
  }

  private EndpointSlot enter(EndpointId endpoint) {
    if (lastIncarnation == -1L) {
      throw new RelayException(RelayErrorReason.RESOURCE_LIMIT, "no slot incarnation is left");
    }
    CompletionStage<Void> before = departed.get(endpoint);
    EndpointSlot slot =
        new EndpointSlot(
            endpoint,
            ++lastIncarnation,
            runtime,
            driver,
            counters,
            before == null ? CompletableFuture.completedStage(null) : before);
    slots.put(endpoint, slot);
    topology.claim(endpoint, slot.incarnation());
    return slot;
  }

  private CompletionStage<Void> leave(EndpointId endpoint) {
    EndpointSlot slot = Objects.requireNonNull(slots.remove(endpoint));
    CompletionStage<Void> before = departed.get(endpoint);
    CompletionStage<Void> gone =
        before == null ? slot.leave() : slot.leave().runAfterBoth(before, () -> {});
    departed.put(endpoint, gone);
    gone.whenComplete((done, error) -> forget(endpoint, gone));
    return gone;
  }

  private synchronized void forget(EndpointId endpoint, CompletionStage<Void> gone) {
    departed.remove(endpoint, gone);
  }

  /**
   * Retires every slot gracefully. Idempotent.
   *
   * @return a stage that completes when no generation is left; never fails
   */
  public synchronized CompletionStage<Void> stop() {
    stopped = true;
    List.copyOf(slots.keySet()).forEach(this::leave);
    return CompletableFuture.allOf(
            departed.values().stream()
                .map(CompletionStage::toCompletableFuture)
                .toArray(CompletableFuture[]::new))
        .minimalCompletionStage();
  }

  /**
   * The state of one endpoint's slot.
   *
   * @param endpoint the endpoint
   * @return its state; {@code LIGHTWEIGHT} if there is no slot
   */
  public synchronized SlotState state(EndpointId endpoint) {
    EndpointSlot slot = slots.get(endpoint);
    return slot == null ? SlotState.LIGHTWEIGHT : slot.state();
  }

  /**
   * How many slots are in a state.
   *
   * @param state the state, or null for all slots
   * @return how many
   */
  public synchronized int count(@Nullable SlotState state) {
    return (int) slots.values().stream().filter(s -> state == null || s.state() == state).count();
  }

  /**
   * Slots of endpoints that left and are not joined yet.
   *
   * @return endpoints
   */
  public synchronized int departing() {
    return departed.size();
  }

  /**
   * What keeps endpoints from having a pool.
   *
   * @return by endpoint text
   */
  public synchronized List<RelayHealth.Problem> problems() {
    List<RelayHealth.Problem> problems = new ArrayList<>();
    for (EndpointSlot slot : slots.values()) {
      String problem = slot.problem();
      if (problem != null) {
        problems.add(new RelayHealth.Problem(slot.endpoint().toString(), problem));
      }
    }
    return problems;
  }

  /**
   * The counters.
   *
   * @return the counters of all slots
   */
  public SlotCounters counters() {
    return counters;
  }
}
