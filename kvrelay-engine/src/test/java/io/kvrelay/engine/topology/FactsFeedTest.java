package io.kvrelay.engine.topology;

import static io.kvrelay.engine.topology.Cards.E1;
import static io.kvrelay.engine.topology.Cards.E2;
import static io.kvrelay.engine.topology.Cards.base;
import static io.kvrelay.engine.topology.Cards.source;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class FactsFeedTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final List<DeploymentView> views = new ArrayList<>();
  private final List<Flow.Subscriber<? super DeploymentFacts>> subscribers = new ArrayList<>();
  private final List<DiscoveryScope> scopes = new ArrayList<>();
  private final List<Throwable> defects = new ArrayList<>();
  private int cancelled;
  private boolean refuse;

  private final DeploymentFactsSource scripted =
      scope -> {
        scopes.add(scope);
        if (refuse) {
          subscribers.add(null);
          throw new IllegalStateException("no watch");
        }
        return subscriber -> {
          subscribers.add(subscriber);
          subscriber.onSubscribe(
              new Flow.Subscription() {
                @Override
                public void request(long n) {}

                @Override
                public void cancel() {
                  cancelled++;
                }
              });
        };
      };

  private FactsFeed start(DiscoveryScope scope) {
    FactsFeed feed = new FactsFeed(runtime, scripted, scope, views::add, defects::add);
    feed.start();
    runtime.runUntilIdle();
    return feed;
  }

  private static DeploymentFacts facts(long revision, ModelCard... cards) {
    Map<EndpointId, Set<Long>> live = Map.of(E1, Set.of(1L), E2, Set.of(2L));
    return new DeploymentFacts(
        revision, List.of(cards), live, List.of(source(E1, 1, 0, 5)), List.of());
  }

  private void deliver(DeploymentFacts facts) {
    subscribers.get(subscribers.size() - 1).onNext(facts);
    runtime.runUntilIdle();
  }

  private DeploymentView last() {
    return views.get(views.size() - 1);
  }

  @Test
  void aHostsFactsBecomeAView() {
    HostDeployment host = new HostDeployment(runtime.executor());
    FactsFeed feed = new FactsFeed(runtime, host, DiscoveryScope.ALL, views::add, defects::add);
    feed.start();
    runtime.runUntilIdle();
    host.edit(
        h -> {
          h.put(base(E1, 1, "m").build());
          h.live(E1, Set.of(1L));
          h.advertise(source(E1, 1, 0, 5));
        });
    runtime.runUntilIdle();

    assertThat(last().membership().endpoints().keySet()).containsExactly(E1);
    assertThat(last().sources().get(E1).hasActiveSource()).isTrue();
    assertThat(last().liveWorkers()).isEqualTo(Map.of(E1, Set.of(1L)));
    assertThat(feed.error()).isNull();
  }

  @Test
  void onlyWhatIsInScopeCounts() {
    DiscoveryScope scope = new DiscoveryScope(false, List.of("ns"), List.of("ns.comp.one"));
    start(scope);
    deliver(facts(1, base(E1, 1, "m").build(), base(E2, 2, "m").build()));

    assertThat(scopes).containsExactly(scope);
    assertThat(last().membership().endpoints().keySet()).containsExactly(E1);
    assertThat(last().liveWorkers().keySet()).containsExactly(E1);
  }

  @Test
  void factsThatComeToTheSamePublishNothing() {
    FactsFeed feed = start(DiscoveryScope.ALL);
    deliver(facts(1, base(E1, 1, "m").build()));
    deliver(facts(2, base(E1, 1, "m").build()));
    deliver(facts(1, base(E1, 1, "other").build()));

    assertThat(views).hasSize(1);
    assertThat(feed.statistics()).isEqualTo(new FactsFeed.Statistics(3, 1, 1, 0, 0));
  }

  @Test
  void aLostStreamKeepsMembershipAndSourcesButTakesNobodyForLive() {
    FactsFeed feed = start(DiscoveryScope.ALL);
    deliver(facts(1, base(E1, 1, "m").build()));
    DeploymentView before = last();

    subscribers.get(0).onComplete();
    runtime.runUntilIdle();
    assertThat(last().membership()).isEqualTo(before.membership());
    assertThat(last().sources()).isEqualTo(before.sources());
    assertThat(last().liveWorkers()).isEmpty();
    assertThat(feed.error()).contains("ended");

    runtime.advance(Duration.ofMillis(100));
    deliver(facts(1, base(E1, 1, "m").build()));
    assertThat(last().saysTheSameAs(before)).isTrue();
    assertThat(feed.error()).isNull();
  }

  @Test
  void aLostStreamIsOpenedAgainWithDoublingDelaysThatGoodFactsReset() {
    FactsFeed feed = start(DiscoveryScope.ALL);
    refuse = true;
    subscribers.get(0).onError(new IllegalStateException("gone"));
    runtime.runUntilIdle();
    for (int millis : new int[] {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
      int before = subscribers.size();
      runtime.advance(Duration.ofMillis(millis - 1));
      assertThat(subscribers).hasSize(before);
      runtime.advance(Duration.ofMillis(1));
      assertThat(subscribers).hasSize(before + 1);
    }
    refuse = false;
    runtime.advance(Duration.ofSeconds(5));
    deliver(facts(1, base(E1, 1, "m").build()));
    subscribers.get(subscribers.size() - 1).onComplete();
    runtime.advance(Duration.ofMillis(100));

    assertThat(subscribers).hasSize(11);
    assertThat(feed.statistics().lost()).isEqualTo(10);
  }

  @Test
  void signalsOfAStreamThatWasGivenUpAreIgnored() {
    FactsFeed feed = start(DiscoveryScope.ALL);
    subscribers.get(0).onError(new IllegalStateException("gone"));
    runtime.advance(Duration.ofMillis(100));
    subscribers.get(0).onNext(facts(9, base(E1, 1, "m").build()));
    subscribers.get(0).onComplete();
    runtime.runUntilIdle();

    assertThat(views).isEmpty();
    assertThat(feed.statistics().late()).isEqualTo(2);
    assertThat(subscribers).hasSize(2);
  }

  @Test
  void aStoppedFeedLeavesNoTimerAndNoSubscription() {
    FactsFeed feed = start(DiscoveryScope.ALL);
    subscribers.get(0).onComplete();
    runtime.runUntilIdle();
    assertThat(runtime.pendingTimers()).isEqualTo(1);
    feed.stop();
    runtime.runUntilIdle();
    assertThat(runtime.pendingTimers()).isZero();

    FactsFeed other = start(DiscoveryScope.ALL);
    int before = cancelled;
    other.stop();
    runtime.runUntilIdle();
    assertThat(cancelled).isEqualTo(before + 1);
  }

  @Test
  void whatTheProviderCouldNotReadIsNamed() {
    start(DiscoveryScope.ALL);
    QuarantinedEntry refused = new QuarantinedEntry(null, "v1/mdc/x", false, "kvBlockSize = -1");
    deliver(
        new DeploymentFacts(
            1, List.of(base(E1, 1, "m").build()), Map.of(), List.of(), List.of(refused)));

    assertThat(last().problems())
        .containsExactly(new RelayHealth.Problem("v1/mdc/x", "kvBlockSize = -1"));
  }

  @Test
  void factsThatCannotBeAppliedAreReportedAsADefect() {
    IllegalStateException broken = new IllegalStateException("no incarnation is left");
    feedInto(
        view -> {
          throw broken;
        });
    assertThat(defects).containsExactly(broken);
  }

  @Test
  void factsForWhichThereIsNoMemoryAreADefectToo() {
    OutOfMemoryError broken = new OutOfMemoryError("on purpose");
    feedInto(
        view -> {
          throw broken;
        });
    assertThat(defects).containsExactly(broken);
  }

  private void feedInto(Consumer<DeploymentView> sink) {
    FactsFeed feed = new FactsFeed(runtime, scripted, DiscoveryScope.ALL, sink, defects::add);
    feed.start();
    runtime.runUntilIdle();
    deliver(facts(1, base(E1, 1, "m").build()));
  }
}
