package io.kvrelay.engine.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.engine.testing.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Random deployments, step by step, against {@link NaiveTopology}. */
class RandomTopologyTest {
  private static final int STEPS = Integer.getInteger("kvrelay.topology.steps", 300);
  private static final List<EndpointId> ENDPOINTS =
      List.of(
          EndpointId.parse("ns.comp.a"),
          EndpointId.parse("ns.comp.b"),
          EndpointId.parse("ns.gpu.c"),
          EndpointId.parse("other.comp.a"));
  private static final List<String> NAMES = List.of("m", "m", "m", "m", "llama", "s", "", " x");
  private static final List<String> ADAPTERS = List.of("s", "s", "t", "u", "m", "");
  private static final List<String> ALIASES = List.of("chat", "s", "llama", "m", "a1", "", "zz");
  private static final WorkerRole[] TYPED = {
    WorkerRole.PREFILL, WorkerRole.DECODE, WorkerRole.ENCODE, WorkerRole.AGGREGATED
  };

  private final Random random = Seeds.random();
  private final List<ModelCard> cards = new ArrayList<>();
  private final Map<EndpointId, Set<Long>> live = new HashMap<>();
  private final MembershipTracker tracker = new MembershipTracker();
  private final List<TopologySnapshot> published = new ArrayList<>();
  private final TopologyProjection topology =
      new TopologyProjection(MembershipView.EMPTY, published::add);

  private <T> T pick(List<T> values) {
    return values.get(random.nextInt(values.size()));
  }

  private boolean rarely(int oneIn) {
    return random.nextInt(oneIn) == 0;
  }

  private WorkerRole role() {
    return TYPED[random.nextInt(TYPED.length)];
  }

  private ModelCard card() {
    boolean adapter = rarely(3);
    ModelCard.Builder card =
        ModelCard.builder(pick(ENDPOINTS), random.nextInt(4), pick(adapter ? ADAPTERS : NAMES))
            .sourcePath(rarely(12) ? "elsewhere" : "path")
            .kvBlockSize(rarely(20) ? 0 : 16)
            .role(rarely(8) ? null : role())
            .modelTypes(rarely(6) ? "prefill" : "chat");
    if (rarely(15)) {
      card.hashFormat(QueryHashFormat.DYNAMO_EAGLE_V1);
    }
    if (rarely(4)) {
      card.explicitScope(Map.of("shared", "scope"));
    }
    for (int i = random.nextInt(3); i > 0; i--) {
      card.need(rarely(2) ? new WorkerRole[] {role()} : new WorkerRole[] {role(), role()});
    }
    if (rarely(4)) {
      card.aliases(pick(ALIASES), pick(ALIASES));
    }
    if (adapter != rarely(20)) {
      card.suffix("suffix" + random.nextInt(3));
    }
    if (adapter) {
      OptionalInt capacity = rarely(5) ? OptionalInt.of(random.nextInt(2)) : OptionalInt.empty();
      card.lora(new ModelCard.Lora(rarely(12) ? "" : "r" + random.nextInt(2), capacity));
    }
    return card.build();
  }

  private void step() {
    int choice = random.nextInt(10);
    if (choice < 4 || cards.isEmpty()) {
      cards.add(card());
    } else if (choice < 7 || cards.size() > 14) {
      cards.remove(random.nextInt(cards.size()));
    } else if (choice == 7) {
      int index = random.nextInt(cards.size());
      ModelCard old = cards.get(index);
      RuntimeConfig tainted = old.runtime().withTaints(Set.of("t" + random.nextInt(2)));
      cards.set(index, old.toBuilder().runtime(tainted).build());
    } else {
      EndpointId endpoint = pick(ENDPOINTS);
      Set<Long> workers = new HashSet<>();
      for (long worker = 0; worker < 4; worker++) {
        if (!rarely(3)) {
          workers.add(worker);
        }
      }
      if (rarely(8)) {
        live.remove(endpoint);
      } else {
        live.put(endpoint, workers);
      }
    }
  }

  @Test
  void membershipAndReadinessAgreeWithTheRulesReadOneByOne() {
    MembershipView before = MembershipView.EMPTY;
    for (int i = 0; i < STEPS; i++) {
      step();
      MembershipView view = tracker.update(cards);
      NaiveTopology naive = new NaiveTopology(cards, live);
      checkMembership(view, naive);
      checkGenerations(before, view);
      before = view;
      project(view);
      checkReadiness(published.get(published.size() - 1), naive);
    }
  }

  private void project(MembershipView view) {
    int count = published.size();
    List<TopologyEntry> entries = published.get(count - 1).entries();
    topology.membership(view);
    for (EndpointId endpoint : view.endpoints().keySet()) {
      topology.claim(endpoint, 1);
      topology.liveness(endpoint, 1, live.get(endpoint));
    }
    for (TopologySnapshot snapshot : published.subList(count, published.size())) {
      assertThat(snapshot.entries()).isNotEqualTo(entries);
      entries = snapshot.entries();
    }
    for (int i = 0; i < published.size(); i++) {
      assertThat(published.get(i).revision()).isEqualTo(published.get(0).revision() + i);
    }
    published.subList(0, published.size() - 1).clear();
  }

  private static void checkMembership(MembershipView view, NaiveTopology naive) {
    Map<EndpointId, NaiveTopology.Endpoint> expected = naive.membership();
    assertThat(view.endpoints().keySet()).isEqualTo(new TreeSet<>(expected.keySet()));
    expected.forEach(
        (endpoint, want) -> {
          EndpointContent got = view.endpoints().get(endpoint).content();
          Set<String> registrations = new TreeSet<>();
          got.registrations()
              .forEach(
                  r -> registrations.add(r.canonicalModelId() + "->" + r.target() + r.aliases()));
          Map<String, Set<Long>> carriers = new TreeMap<>();
          got.adapters().forEach(a -> carriers.put(a.servedName(), a.carriers().keySet()));
          Set<ConflictScope> conflicts = new HashSet<>();
          got.conflicts().forEach(c -> conflicts.add(c.scope()));
          // With two base cards of one worker it is open which one speaks for it; it does not
          // serve.
          boolean comparable = !conflicts.contains(ConflictScope.SERVING_TOPOLOGY);
          assertThat(
                  new NaiveTopology.Endpoint(
                      got.basis() != null,
                      registrations,
                      comparable ? new TreeSet<>(got.roles()) : want.roles(),
                      conflicts,
                      carriers))
              .as("%s", endpoint)
              .isEqualTo(want);
        });
  }

  private static void checkGenerations(MembershipView before, MembershipView view) {
    long highest = 0;
    for (EndpointMembership old : before.endpoints().values()) {
      highest = Math.max(highest, old.generation());
    }
    for (EndpointMembership now : view.endpoints().values()) {
      EndpointMembership old = before.endpoints().get(now.endpoint());
      boolean same = old != null && old.content().equals(now.content());
      if (same) {
        assertThat(now.generation()).isEqualTo(old.generation());
      } else {
        assertThat(now.generation()).isGreaterThan(highest);
      }
    }
  }

  private static void checkReadiness(TopologySnapshot snapshot, NaiveTopology naive) {
    Map<String, NaiveTopology.Entry> got = new TreeMap<>();
    for (TopologyEntry entry : snapshot.entries()) {
      got.put(
          entry.namespace() + "/" + entry.canonicalModelId(),
          new NaiveTopology.Entry(
              entry.state(),
              entry.presentRoles(),
              entry.missingRoles(),
              entry.duplicateRoleEndpoints(),
              entry.legacyFallbackActive(),
              entry.adapters(),
              entry.members().stream().map(TopologyMember::endpoint).toList()));
    }
    assertThat(got).isEqualTo(naive.entries());
  }
}
