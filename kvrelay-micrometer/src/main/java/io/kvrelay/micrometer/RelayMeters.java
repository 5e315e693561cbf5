package io.kvrelay.micrometer;

import static io.kvrelay.micrometer.MeterSpec.byEnum;
import static io.kvrelay.micrometer.MeterSpec.counter;
import static io.kvrelay.micrometer.MeterSpec.gauge;

import io.kvrelay.api.RelayHealth;
import io.kvrelay.engine.publication.PublicationStatistics;
import io.kvrelay.engine.relay.KvDeploymentStatistics;
import io.kvrelay.engine.relay.KvRelayStatistics;
import io.kvrelay.engine.topology.SlotCounters;
import io.kvrelay.engine.topology.SlotState;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** The meters of a relay as a whole. */
final class RelayMeters {
  /** What is sampled. */
  record Sample(KvRelayStatistics statistics, RelayHealth health) {}

  static final List<MeterSpec<Sample>> RELAY = relay();

  private RelayMeters() {}

  private static List<MeterSpec<Sample>> relay() {
    List<MeterSpec<Sample>> specs = new ArrayList<>();
    health().forEach(spec -> specs.add(spec.of(Sample::health)));
    publication().forEach(spec -> specs.add(spec.of(s -> s.statistics().publication())));
    deployment().forEach(spec -> specs.add(spec.of(s -> s.statistics().deployment())));
    return List.copyOf(specs);
  }

  private static List<MeterSpec<RelayHealth>> health() {
    return List.of(
        gauge("kvrelay.healthy", null, "1 while the relay is healthy", h -> flag(h.healthy())),
        gauge(
            "kvrelay.shutting.down",
            null,
            "1 once the relay was told to stop",
            h -> flag(h.shuttingDown())),
        gauge(
            "kvrelay.host.failed",
            null,
            "1 once the relay stopped because of a failure of its own",
            h -> flag(h.hostLastError() != null)),
        gauge(
            "kvrelay.wan.serving", null, "1 while every export serves", h -> flag(h.wanServing())),
        gauge(
            "kvrelay.facts.current",
            null,
            "1 while the deployment's facts are current",
            h -> flag(h.factsError() == null)),
        gauge(
            "kvrelay.problems",
            "problems",
            "Endpoints, ranks and inputs that an operator should look at",
            h -> h.problems().size()));
  }

  private static double flag(boolean set) {
    return set ? 1 : 0;
  }

  private static List<MeterSpec<PublicationStatistics>> publication() {
    List<MeterSpec<PublicationStatistics>> specs = new ArrayList<>();
    Map<String, ToDoubleFunction<PublicationStatistics>> subscribers = new LinkedHashMap<>();
    subscribers.put("catalog", PublicationStatistics::catalogSubscribers);
    subscribers.put("pool", PublicationStatistics::poolSubscribers);
    subscribers.put("readiness", PublicationStatistics::readinessSubscribers);
    subscribers.put("load", PublicationStatistics::loadSubscribers);
    specs.add(
        byName(
            false,
            "kvrelay.publication.subscribers",
            "subscribers",
            "stream",
            "Open streams and watches",
            subscribers));
    specs.add(
        gauge(
            "kvrelay.publication.pools",
            "pools",
            "Pools in the catalog",
            PublicationStatistics::catalogPools));
    Map<String, ToDoubleFunction<PublicationStatistics>> hubs = new LinkedHashMap<>();
    hubs.put("requested", PublicationStatistics::requestedHubs);
    hubs.put("initialized", PublicationStatistics::initializedHubs);
    hubs.put("ready", PublicationStatistics::readyHubs);
    hubs.put("idle", PublicationStatistics::idleHubs);
    specs.add(
        byName(
            false, "kvrelay.publication.hubs", "hubs", "state", "Hubs by how far they are", hubs));
    Map<String, ToDoubleFunction<PublicationStatistics>> entries = new LinkedHashMap<>();
    entries.put("ready", PublicationStatistics::topologyReady);
    entries.put("unavailable", PublicationStatistics::topologyUnavailable);
    entries.put("unknown", PublicationStatistics::topologyUnknown);
    specs.add(
        byName(
            false,
            "kvrelay.topology.entries",
            "entries",
            "state",
            "Models of the topology by readiness",
            entries));
    specs.add(
        gauge(
            "kvrelay.load.degraded",
            "pools",
            "Pools whose load is not known completely",
            PublicationStatistics::degradedLoadPools));
    totals().forEach(spec -> specs.add(spec.of(PublicationStatistics::totals)));
    return specs;
  }

  private static List<MeterSpec<PublicationStatistics.Totals>> totals() {
    Map<String, ToDoubleFunction<PublicationStatistics.Totals>> refused = new LinkedHashMap<>();
    refused.put("total", PublicationStatistics.Totals::rejectedTotal);
    refused.put("pool", PublicationStatistics.Totals::rejectedPerPool);
    refused.put("hub", PublicationStatistics.Totals::rejectedInitializedHub);
    return List.of(
        byName(
            true,
            "kvrelay.publication.refused",
            "streams",
            "limit",
            "Pool streams refused because a limit was reached",
            refused),
        counter(
            "kvrelay.publication.lagged",
            "streams",
            "Pool streams ended because their subscriber was too slow",
            PublicationStatistics.Totals::lagged),
        counter(
            "kvrelay.publication.stalled",
            "snapshots",
            "Snapshots that were not taken in time",
            PublicationStatistics.Totals::stalledSnapshots),
        counter(
            "kvrelay.publication.fenced",
            "generations",
            "Generations fenced",
            PublicationStatistics.Totals::terminalFailures),
        counter(
            "kvrelay.publication.recoveries",
            "snapshots",
            "Snapshots taken by a hub after a gap or an oversized delta",
            PublicationStatistics.Totals::recoveries),
        counter(
            "kvrelay.publication.evictions",
            "hubs",
            "Idle hubs evicted",
            PublicationStatistics.Totals::evictions),
        counter(
            "kvrelay.publication.deltas",
            "deltas",
            "Deltas encoded",
            PublicationStatistics.Totals::encodedDeltas),
        counter(
            "kvrelay.publication.delta",
            "bytes",
            "Payload of encoded deltas",
            PublicationStatistics.Totals::encodedDeltaBytes),
        counter(
            "kvrelay.publication.chunks",
            "chunks",
            "Snapshot chunks encoded",
            PublicationStatistics.Totals::encodedChunks),
        counter(
            "kvrelay.publication.chunk",
            "bytes",
            "Payload of encoded snapshot chunks",
            PublicationStatistics.Totals::encodedChunkBytes),
        counter(
            "kvrelay.publication.queued",
            "deltas",
            "Deltas queued, each once for each subscriber",
            PublicationStatistics.Totals::queuedDeltas),
        counter(
            "kvrelay.publication.subscriber.faults",
            "faults",
            "Subscribers that threw or asked for a number that is not positive",
            PublicationStatistics.Totals::subscriberFaults),
        counter(
            "kvrelay.publication.ignored",
            "updates",
            "Updates of a generation that is no longer current",
            PublicationStatistics.Totals::ignoredUpdates));
  }

  private static List<MeterSpec<KvDeploymentStatistics>> deployment() {
    Map<String, ToDoubleFunction<KvDeploymentStatistics>> facts = new LinkedHashMap<>();
    facts.put("received", s -> s.facts().snapshots());
    facts.put("unchanged", s -> s.facts().unchanged());
    facts.put("stale", s -> s.facts().stale());
    facts.put("late", s -> s.facts().late());
    Map<String, ToDoubleFunction<KvDeploymentStatistics>> ignored = new LinkedHashMap<>();
    ignored.put("claim", s -> s.topology().ignoredClaims());
    ignored.put("write", s -> s.topology().ignoredWrites());
    ignored.put("late", s -> s.topology().ignoredLate());
    return List.of(
        byName(
            true,
            "kvrelay.facts.snapshots",
            "snapshots",
            "outcome",
            "Deployment facts received, and those of them without effect",
            facts),
        counter(
            "kvrelay.facts.lost",
            "streams",
            "Streams of deployment facts that failed or ended",
            s -> s.facts().lost()),
        byEnum(
            false,
            "kvrelay.endpoints",
            "endpoints",
            "state",
            SlotState.values(),
            "Endpoints by state",
            state -> s -> s.slots().getOrDefault(state, 0)),
        gauge(
            "kvrelay.departing",
            "endpoints",
            "Endpoints that left and are not joined yet",
            KvDeploymentStatistics::departingSlots),
        byEnum(
            true,
            "kvrelay.endpoint.events",
            "events",
            "event",
            SlotCounters.Event.values(),
            "What happened to endpoints' pools",
            event -> s -> s.slotEvents().getOrDefault(event, 0L)),
        byName(
            true,
            "kvrelay.topology.ignored",
            "inputs",
            "input",
            "Inputs of readiness without effect",
            ignored),
        gauge(
            "kvrelay.recoveries.inflight",
            "requests",
            "Requests for history under way",
            KvDeploymentStatistics::recoveriesInFlight));
  }

  /** A meter with a series for each name. */
  static <S> MeterSpec<S> byName(
      boolean counter,
      String name,
      String unit,
      String tag,
      String description,
      Map<String, ToDoubleFunction<S>> values) {
    List<MeterSpec.Series<S>> series = new ArrayList<>();
    values.forEach((each, value) -> series.add(new MeterSpec.Series<>(Tags.of(tag, each), value)));
    return new MeterSpec<>(name, counter, unit, description, series);
  }
}
