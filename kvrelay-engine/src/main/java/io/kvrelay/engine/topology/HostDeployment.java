package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.flow.StateWatch;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Deployment facts that the host program states itself. Every call that changes something publishes
 * one new revision; {@link #edit} makes several calls one. Thread safe; nothing blocks.
 */
public final class HostDeployment implements DeploymentFactsSource {
  private record CardKey(EndpointId endpoint, long workerId, @Nullable String suffix) {}

  private record SourceKey(EndpointId kvStateEndpoint, Member member, long publisherId) {}

  private final StateWatch<DeploymentFacts> watch;
  // Guarded by this.
  private final Map<CardKey, ModelCard> cards = new LinkedHashMap<>();
  private final Map<EndpointId, Set<Long>> live = new HashMap<>();
  private final Map<SourceKey, EventSourceAdvertisement> sources = new LinkedHashMap<>();
  private boolean editing;

  /**
   * An empty deployment at revision 0.
   *
   * @param executor where subscribers are called
   */
  public HostDeployment(Executor executor) {
    watch = new StateWatch<>(executor, DeploymentFacts.EMPTY);
  }

  @Override
  public Flow.Publisher<DeploymentFacts> facts(DiscoveryScope scope) {
    return watch;
  }

  /**
   * The facts as they stand.
   *
   * @return the latest snapshot
   */
  public DeploymentFacts current() {
    return watch.value();
  }

  /**
   * Makes several changes one revision.
   *
   * @param changes calls other methods of this object
   * @return false if nothing changed in the end
   */
  public synchronized boolean edit(Consumer<HostDeployment> changes) {
    if (editing) {
      changes.accept(this);
      return false;
    }
    editing = true;
    try {
      changes.accept(this);
    } finally {
      editing = false;
    }
    return publish();
  }

  private boolean publish() {
    if (editing) {
      return true;
    }
    DeploymentFacts old = watch.value();
    DeploymentFacts next =
        new DeploymentFacts(
            old.revision(),
            List.copyOf(cards.values()),
            live,
            List.copyOf(sources.values()),
            List.of());
    if (next.equals(old)) {
      return false;
    }
    watch.publish(
        new DeploymentFacts(
            old.revision() + 1,
            next.cards(),
            next.liveWorkers(),
            next.eventSources(),
            next.refused()));
    return true;
  }

  private synchronized boolean change(BooleanSupplier change) {
    return change.getAsBoolean() && publish();
  }

  /**
   * States a card, in place of the one of the same endpoint, worker and suffix.
   *
   * @param card the card
   * @return false if it was stated already
   */
  public boolean put(ModelCard card) {
    CardKey key = new CardKey(card.endpoint(), card.workerId(), card.suffix());
    return change(() -> !card.equals(cards.put(key, card)));
  }

  /**
   * Takes a card back.
   *
   * @param endpoint its endpoint
   * @param workerId its worker
   * @param suffix its suffix, or null
   * @return false if there is none
   */
  public boolean remove(EndpointId endpoint, long workerId, @Nullable String suffix) {
    return change(() -> cards.remove(new CardKey(endpoint, workerId, suffix)) != null);
  }

  /**
   * Takes back all that concerns one worker: its cards at the endpoint, its being live there, and
   * its event sources.
   *
   * @param endpoint the serving endpoint
   * @param workerId the worker
   * @return false if there was nothing
   */
  public boolean removeWorker(EndpointId endpoint, long workerId) {
    return change(
        () -> {
          int before = cards.size() + sources.size();
          cards.keySet().removeIf(k -> k.endpoint().equals(endpoint) && k.workerId() == workerId);
          sources.keySet().removeIf(key -> key.member().workerId() == workerId);
          Set<Long> workers = live.get(endpoint);
          boolean wasLive = workers != null && workers.remove(workerId);
          return wasLive || cards.size() + sources.size() != before;
        });
  }

  /**
   * Replaces the taints of a stated card.
   *
   * @param endpoint its endpoint
   * @param workerId its worker
   * @param suffix its suffix, or null
   * @param taints the taints
   * @return false if the card is unknown or has these taints already
   */
  public boolean updateTaints(
      EndpointId endpoint, long workerId, @Nullable String suffix, Set<String> taints) {
    return change(
        () -> {
          CardKey key = new CardKey(endpoint, workerId, suffix);
          ModelCard card = cards.get(key);
          if (card == null || card.runtime().taints().equals(taints)) {
            return false;
          }
          cards.put(key, card.toBuilder().runtime(card.runtime().withTaints(taints)).build());
          return true;
        });
  }

  /**
   * States which workers of an endpoint are live: discovered and routable. An empty set is a
   * statement, too.
   *
   * @param endpoint the serving endpoint
   * @param workers the live workers, all of them
   * @return false if that was known
   */
  public boolean live(EndpointId endpoint, Set<Long> workers) {
    return change(() -> !workers.equals(live.put(endpoint, new TreeSet<>(workers))));
  }

  /**
   * States that it is not known which workers of an endpoint are live.
   *
   * @param endpoint the serving endpoint
   * @return false if that was so already
   */
  public boolean livenessUnknown(EndpointId endpoint) {
    return change(() -> live.remove(endpoint) != null);
  }

  /**
   * Advertises an event source, in place of the one of the same KV-state endpoint, rank and
   * publisher.
   *
   * @param source the source
   * @return false if it was advertised already
   */
  public boolean advertise(EventSourceAdvertisement source) {
    SourceKey key = new SourceKey(source.kvStateEndpoint(), source.member(), source.publisherId());
    return change(() -> !source.equals(sources.put(key, source)));
  }

  /**
   * Withdraws exactly one publisher's source; another publisher of the rank stays.
   *
   * @param kvStateEndpoint where it is advertised
   * @param member the rank
   * @param publisherId the publisher
   * @return false if there is none
   */
  public boolean withdraw(EndpointId kvStateEndpoint, Member member, long publisherId) {
    return change(
        () -> sources.remove(new SourceKey(kvStateEndpoint, member, publisherId)) != null);
  }

  /**
   * Replaces everything at once.
   *
   * @param nextCards all cards
   * @param nextLive live workers per endpoint
   * @param nextSources all event sources
   * @return false if nothing changed
   */
  public boolean replace(
      List<ModelCard> nextCards,
      Map<EndpointId, Set<Long>> nextLive,
      List<EventSourceAdvertisement> nextSources) {
    return edit(
        self -> {
          cards.clear();
          live.clear();
          sources.clear();
          new ArrayList<>(nextCards).forEach(self::put);
          nextLive.forEach(self::live);
          nextSources.forEach(self::advertise);
        });
  }

  /** Ends the deployment: its subscribers' streams complete. */
  public void close() {
    watch.complete();
  }
}
