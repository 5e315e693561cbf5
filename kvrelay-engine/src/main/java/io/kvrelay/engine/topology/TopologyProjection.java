package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologySnapshot;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Serving readiness of everything a relay knows: membership, liveness and catalog in, numbered
 * snapshots out. Revision 1 is the initial one; the revision grows only when the entries differ.
 *
 * <p>Thread safe: one lock guards the state and orders the snapshots. The sink is called under it;
 * it must be quick and must not call back.
 */
public final class TopologyProjection {
  /**
   * Counters of a projection; only grow.
   *
   * @param ignoredClaims claims of an endpoint outside the membership, or of an older slot
   * @param ignoredWrites liveness from a slot that does not own the endpoint
   * @param ignoredLate inputs after the end
   */
  public record Statistics(long ignoredClaims, long ignoredWrites, long ignoredLate) {}

  private record Key(String namespace, String model) implements Comparable<Key> {
    private static final Comparator<Key> ORDER =
        Comparator.comparing(Key::namespace, TextOrder.UTF8)
            .thenComparing(Key::model, TextOrder.UTF8);

    @Override
    public int compareTo(Key other) {
      return ORDER.compare(this, other);
    }
  }

  private record LinkKey(EndpointId endpoint, String baseModel) {}

  /** Who may write an endpoint's liveness, and what it wrote. */
  private static final class Owner {
    private final long incarnation;
    private @Nullable Set<Long> live;

    private Owner(long incarnation) {
      this.incarnation = incarnation;
    }
  }

  private final Consumer<TopologySnapshot> sink;
  private final Map<EndpointId, Owner> owners = new HashMap<>();
  private final TreeMap<Key, TopologyEntry> entries = new TreeMap<>();
  private final TreeMap<Key, List<EndpointContent>> members = new TreeMap<>();
  private Map<LinkKey, List<PoolDescriptor>> links = Map.of();
  private MembershipView membership;
  private long revision = 1;
  private boolean ended;
  // While a batch runs: what must be evaluated at its end.
  private final TreeSet<Key> dirty = new TreeSet<>();
  private boolean dirtyAll;
  private boolean deferring;
  private long ignoredClaims;
  private long ignoredWrites;
  private long ignoredLate;

  /**
   * Publishes revision 1.
   *
   * @param initial the membership to start with
   * @param sink takes each snapshot
   */
  public TopologyProjection(MembershipView initial, Consumer<TopologySnapshot> sink) {
    this.sink = sink;
    this.membership = initial;
    regroup();
    evaluateAll();
    publish();
  }

  /**
   * Replaces the membership. An endpoint that left loses its owner and what that wrote.
   *
   * @param next the complete membership
   */
  public synchronized void membership(MembershipView next) {
    if (refuseLate()) {
      return;
    }
    membership = next;
    owners.keySet().retainAll(next.endpoints().keySet());
    regroup();
    reevaluateAll();
  }

  /**
   * Makes several inputs one step: entries are evaluated, and a snapshot published, at most once.
   *
   * @param inputs calls other methods of this object
   */
  public synchronized void batch(Runnable inputs) {
    deferring = true;
    try {
      inputs.run();
    } finally {
      deferring = false;
      boolean changed = dirtyAll && !ended && evaluateAll();
      for (Key key : dirty) {
        changed |= !ended && evaluate(key);
      }
      dirtyAll = false;
      dirty.clear();
      publishIfChanged(changed);
    }
  }

  /**
   * Makes a slot the owner of its endpoint. A new owner starts without knowledge; a repeated claim
   * changes nothing.
   *
   * @param endpoint the endpoint
   * @param incarnation the slot's incarnation (unsigned); an older one than the owner's is ignored
   */
  public synchronized void claim(EndpointId endpoint, long incarnation) {
    if (refuseLate()) {
      return;
    }
    Owner owner = owners.get(endpoint);
    if (!membership.endpoints().containsKey(endpoint)
        || (owner != null && Long.compareUnsigned(incarnation, owner.incarnation) < 0)) {
      ignoredClaims++;
    } else if (owner == null || owner.incarnation != incarnation) {
      owners.put(endpoint, new Owner(incarnation));
      reevaluate(keyOf(endpoint));
    }
  }

  /**
   * Writes which workers of an endpoint are live.
   *
   * @param endpoint the endpoint
   * @param incarnation the slot that writes; ignored unless it owns the endpoint
   * @param live the live workers, or null if that is not known
   */
  public synchronized void liveness(
      EndpointId endpoint, long incarnation, @Nullable Set<Long> live) {
    if (refuseLate()) {
      return;
    }
    Owner owner = owners.get(endpoint);
    if (owner == null || owner.incarnation != incarnation) {
      ignoredWrites++;
      return;
    }
    if (!Objects.equals(live, owner.live)) {
      owner.live = live == null ? null : Set.copyOf(live);
      reevaluate(keyOf(endpoint));
    }
  }

  /**
   * Replaces the catalog.
   *
   * @param catalog the complete catalog
   */
  public synchronized void catalog(PoolCatalog catalog) {
    if (refuseLate()) {
      return;
    }
    Map<LinkKey, List<PoolDescriptor>> next = new HashMap<>();
    for (PoolDescriptor pool : catalog.pools()) {
      for (ModelRegistration registration : pool.registrations()) {
        if (registration.target() instanceof ModelTarget.Base base) {
          next.computeIfAbsent(
                  new LinkKey(pool.servingEndpoint(), base.baseModel()), k -> new ArrayList<>())
              .add(pool);
        }
      }
    }
    links = next;
    reevaluateAll();
  }

  /** Publishes an empty topology, so that nobody acts on the last live one. Final. */
  public synchronized void end() {
    if (!ended) {
      ended = true;
      boolean any = !entries.isEmpty();
      entries.clear();
      publishIfChanged(any);
    }
  }

  /**
   * The counters.
   *
   * @return the numbers of this moment
   */
  public synchronized Statistics statistics() {
    return new Statistics(ignoredClaims, ignoredWrites, ignoredLate);
  }

  private boolean refuseLate() {
    ignoredLate += ended ? 1 : 0;
    return ended;
  }

  private void regroup() {
    members.clear();
    for (EndpointMembership member : membership.endpoints().values()) {
      Key key = keyOf(member.endpoint());
      if (key != null) {
        members.computeIfAbsent(key, k -> new ArrayList<>()).add(member.content());
      }
    }
  }

  /** Null if the endpoint takes no part in serving. */
  private @Nullable Key keyOf(EndpointId endpoint) {
    EndpointMembership member = membership.endpoints().get(endpoint);
    String model = member == null ? null : member.content().servedBaseModel();
    return model == null ? null : new Key(endpoint.namespace(), model);
  }

  private void reevaluateAll() {
    if (deferring) {
      dirtyAll = true;
    } else {
      publishIfChanged(evaluateAll());
    }
  }

  private void reevaluate(@Nullable Key key) {
    if (!deferring) {
      publishIfChanged(evaluate(key));
    } else if (key != null && !dirtyAll) {
      dirty.add(key);
    }
  }

  private boolean evaluateAll() {
    boolean changed = entries.keySet().retainAll(members.keySet());
    for (Key key : members.keySet()) {
      changed |= evaluate(key);
    }
    return changed;
  }

  private boolean evaluate(@Nullable Key key) {
    List<EndpointContent> contents = key == null ? null : members.get(key);
    if (key == null || contents == null) {
      return false;
    }
    List<EntryRules.Input> inputs = new ArrayList<>();
    for (EndpointContent content : contents) {
      Owner owner = owners.get(content.endpoint());
      inputs.add(
          new EntryRules.Input(
              content, owner == null ? null : owner.live, link(content, key.model())));
    }
    TopologyEntry entry = EntryRules.evaluate(key.namespace(), key.model(), inputs);
    return !entry.equals(entries.put(key, entry));
  }

  /**
   * The pool, once the catalog shows exactly what the membership asks for; null while the two
   * disagree in anything.
   */
  private @Nullable PoolId link(EndpointContent content, String model) {
    PoolBasis basis = content.basis();
    List<PoolDescriptor> pools = links.get(new LinkKey(content.endpoint(), model));
    if (basis == null || !content.allowsPool() || pools == null || pools.size() != 1) {
      return null;
    }
    PoolDescriptor pool = pools.get(0);
    boolean same =
        pool.poolId().indexerDomain().equals(basis.domain())
            && pool.querySemantics().equals(basis.semantics())
            && Set.copyOf(pool.roles()).equals(Set.copyOf(content.roles()))
            && asSet(pool.registrations()).equals(asSet(content.registrations()));
    return same ? pool.poolId() : null;
  }

  private static Set<Object> asSet(Collection<ModelRegistration> registrations) {
    Set<Object> set = new HashSet<>();
    for (ModelRegistration registration : registrations) {
      set.add(
          List.of(
              registration.canonicalModelId(),
              registration.target(),
              new TreeSet<>(registration.aliases())));
    }
    return set;
  }

  private void publishIfChanged(boolean changed) {
    if (changed) {
      revision = revision == -1L ? revision : revision + 1;
      publish();
    }
  }

  private void publish() {
    sink.accept(new TopologySnapshot(revision, List.copyOf(entries.values())));
  }
}
