package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.flow.StateWatch;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * Facts for any number of subscribers. Who comes before the first complete facts, or after they
 * were lost, waits for the next ones. Thread safe.
 */
final class FactsWatch {
  private record Waiting(
      DiscoveryScope scope, Flow.Subscriber<? super DeploymentFacts> subscriber) {}

  private final Executor executor;
  private final List<Waiting> waiting = new ArrayList<>();
  private @Nullable StateWatch<DeploymentFacts> current;
  private @Nullable RelayException end;

  FactsWatch(Executor executor) {
    this.executor = executor;
  }

  Flow.Publisher<DeploymentFacts> in(DiscoveryScope scope) {
    return subscriber ->
        subscribe(new Waiting(scope, Objects.requireNonNull(subscriber, "subscriber")));
  }

  private synchronized void subscribe(Waiting one) {
    StateWatch<DeploymentFacts> watch = current;
    if (watch != null) {
      watch.subscribe(new Scoped(one));
    } else if (end != null) {
      StateWatch<DeploymentFacts> closed = new StateWatch<>(executor, DeploymentFacts.EMPTY);
      closed.fail(end);
      closed.subscribe(new Scoped(one));
    } else {
      waiting.add(one);
    }
  }

  synchronized void publish(DeploymentFacts facts) {
    StateWatch<DeploymentFacts> watch = current;
    if (watch != null) {
      watch.publish(facts);
    } else if (end == null) {
      StateWatch<DeploymentFacts> opened = new StateWatch<>(executor, facts);
      current = opened;
      waiting.forEach(one -> opened.subscribe(new Scoped(one)));
      waiting.clear();
    }
  }

  /** The facts cannot be had at present: those who watch are told, and may come again. */
  synchronized void lose(RelayException why) {
    StateWatch<DeploymentFacts> watch = current;
    current = null;
    if (watch != null) {
      watch.fail(why);
    }
  }

  /** Nothing comes any more. */
  synchronized void close(RelayException why) {
    end = why;
    lose(why);
    List<Waiting> left = List.copyOf(waiting);
    waiting.clear();
    left.forEach(this::subscribe);
  }

  /** Passes on what lies in a scope, each time that it changed. */
  private static final class Scoped implements Flow.Subscriber<DeploymentFacts> {
    private final DiscoveryScope scope;
    private final Flow.Subscriber<? super DeploymentFacts> subscriber;
    private Flow.@Nullable Subscription subscription;
    private @Nullable DeploymentFacts last;

    private Scoped(Waiting one) {
      this.scope = one.scope();
      this.subscriber = one.subscriber();
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      subscriber.onSubscribe(given);
    }

    @Override
    public void onNext(DeploymentFacts facts) {
      DeploymentFacts scoped = within(scope, facts);
      DeploymentFacts before = last;
      if (before != null && saysTheSame(before, scoped)) {
        Objects.requireNonNull(subscription).request(1); // it asked for one, and got none
        return;
      }
      last = scoped;
      subscriber.onNext(scoped);
    }

    @Override
    public void onError(Throwable failure) {
      subscriber.onError(failure);
    }

    @Override
    public void onComplete() {
      subscriber.onComplete();
    }
  }

  static boolean saysTheSame(DeploymentFacts a, DeploymentFacts b) {
    return a.cards().equals(b.cards())
        && a.liveWorkers().equals(b.liveWorkers())
        && a.eventSources().equals(b.eventSources())
        && a.refused().equals(b.refused());
  }

  /** Sources stay: they may be advertised under another endpoint than the one they serve. */
  private static DeploymentFacts within(DiscoveryScope scope, DeploymentFacts facts) {
    Map<EndpointId, Set<Long>> live = new HashMap<>(facts.liveWorkers());
    live.keySet().removeIf(endpoint -> !scope.matches(endpoint));
    return new DeploymentFacts(
        facts.revision(),
        facts.cards().stream().filter(card -> scope.matches(card.endpoint())).toList(),
        live,
        facts.eventSources(),
        facts.refused().stream().filter(one -> concerns(scope, one.key())).toList());
  }

  /** A record whose key names another namespace is somebody else's trouble. */
  private static boolean concerns(DiscoveryScope scope, String path) {
    RecordKey key = RecordKey.parse(path);
    String namespace = key == null ? null : key.namespace();
    return scope.watchAll() || namespace == null || scope.namespaces().contains(namespace);
  }
}
