package io.kvrelay.micrometer;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * A relay's statistics and health as meters; {@code docs/operations.md} lists them. Meters of a
 * pool carry its endpoint as a tag; they appear when the catalog shows the pool and are removed
 * when it does not, so a registry never holds more than the pools that are open. A pool that comes
 * back, or whose generation is replaced, counts from zero again.
 *
 * <p>Reading a meter takes the relay's statistics, at most ten times a second of its clock. Thread
 * safe; nothing blocks. The registry keeps the relay reachable until this is closed.
 */
public final class KvRelayMetrics implements MeterBinder, AutoCloseable {
  private final KvDcRelay relay;
  private final Tags tags;
  private final Sampler<RelayMeters.Sample> sampler;
  private final CatalogFollower catalog = new CatalogFollower();
  // Guarded by this.
  private final List<Bound> bound = new ArrayList<>();
  private Set<EndpointId> endpoints = Set.of();
  private boolean following;
  private boolean closed;

  /**
   * Meters of a relay.
   *
   * @param relay the relay
   * @param tags tags of every meter, such as the relay's name where there are several
   */
  public KvRelayMetrics(KvDcRelay relay, Iterable<Tag> tags) {
    this.relay = relay;
    this.tags = Tags.of(tags);
    this.sampler =
        new Sampler<>(
            () -> new RelayMeters.Sample(relay.statistics(), relay.health()),
            relay.runtime()::nanoTime);
  }

  /**
   * Registers the meters, and those of each pool as long as it is open.
   *
   * @param registry where
   */
  @Override
  public void bindTo(MeterRegistry registry) {
    boolean start;
    synchronized (this) {
      if (closed) {
        return;
      }
      Bound next = new Bound(registry);
      next.show(endpoints);
      bound.add(next);
      start = !following;
      following = true;
    }
    if (start) {
      relay.source().catalog().subscribe(catalog);
    }
  }

  private synchronized void show(Set<EndpointId> open) {
    if (closed || open.equals(endpoints)) {
      return;
    }
    endpoints = open;
    sampler.expire();
    bound.forEach(each -> each.show(open));
  }

  /** Removes every meter. Idempotent. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      bound.forEach(Bound::remove);
      bound.clear();
    }
    catalog.cancel();
  }

  private @Nullable KvPoolStatistics pool(EndpointId endpoint) {
    for (KvPoolStatistics pool : sampler.get().statistics().pools()) {
      if (pool.endpoint().equals(endpoint)) {
        return pool;
      }
    }
    return null;
  }

  /** The meters in one registry. */
  private final class Bound {
    private final MeterRegistry registry;
    private final MeterSet relayMeters;
    private final Map<EndpointId, MeterSet> pools = new HashMap<>();

    private Bound(MeterRegistry registry) {
      this.registry = registry;
      this.relayMeters = new MeterSet(registry, tags);
      relayMeters.add(RelayMeters.RELAY, sampler::get);
    }

    private void show(Set<EndpointId> open) {
      pools
          .entrySet()
          .removeIf(
              entry -> {
                boolean gone = !open.contains(entry.getKey());
                if (gone) {
                  entry.getValue().remove();
                }
                return gone;
              });
      for (EndpointId endpoint : open) {
        pools.computeIfAbsent(endpoint, this::register);
      }
    }

    private MeterSet register(EndpointId endpoint) {
      MeterSet meters = new MeterSet(registry, tags.and("endpoint", endpoint.toString()));
      meters.add(PoolMeters.ALL, () -> new PoolMeters.Sample(pool(endpoint)));
      return meters;
    }

    private void remove() {
      relayMeters.remove();
      pools.values().forEach(MeterSet::remove);
      pools.clear();
    }
  }

  private final class CatalogFollower implements Flow.Subscriber<PoolCatalog> {
    private Flow.@Nullable Subscription subscription;
    private boolean cancelled;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      boolean late;
      synchronized (this) {
        subscription = given;
        late = cancelled;
      }
      if (late) {
        given.cancel();
      } else {
        given.request(Long.MAX_VALUE);
      }
    }

    private void cancel() {
      Flow.Subscription open;
      synchronized (this) {
        cancelled = true;
        open = subscription;
      }
      if (open != null) {
        open.cancel();
      }
    }

    @Override
    public void onNext(PoolCatalog latest) {
      Set<EndpointId> open = new HashSet<>();
      latest.pools().forEach(pool -> open.add(pool.servingEndpoint()));
      show(open);
    }

    @Override
    public void onError(Throwable failure) {
      show(Set.of());
    }

    @Override
    public void onComplete() {
      show(Set.of());
    }
  }
}
