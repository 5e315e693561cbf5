package io.kvrelay.micrometer;

import static io.kvrelay.micrometer.MeterSpec.byEnum;
import static io.kvrelay.micrometer.MeterSpec.counter;
import static io.kvrelay.micrometer.MeterSpec.gauge;
import static io.kvrelay.micrometer.RelayMeters.byName;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.ingest.IngestCount;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.load.LoadCoverage;
import io.kvrelay.engine.load.PoolLoadAccount;
import io.kvrelay.engine.pool.IgnoreReason;
import io.kvrelay.engine.pool.PoolActorStatistics;
import io.kvrelay.engine.pool.PoolStatistics;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The meters of one pool. */
final class PoolMeters {
  /** What is sampled; nothing while the pool changes its generation. */
  record Sample(@Nullable KvPoolStatistics pool) {
    private @Nullable PoolActorStatistics actor() {
      return pool == null ? null : pool.actor();
    }

    private @Nullable PoolStatistics state() {
      return pool == null ? null : pool.actor().pool();
    }

    private KvPoolStatistics.@Nullable Following following() {
      return pool == null ? null : pool.following();
    }
  }

  private static final double TWO_TO_63 = 0x1p63;

  static final List<MeterSpec<Sample>> ALL = all();

  private PoolMeters() {}

  private static List<MeterSpec<Sample>> all() {
    List<MeterSpec<Sample>> specs = new ArrayList<>();
    events().forEach(spec -> specs.add(spec.of(Sample::state)));
    sizes().forEach(spec -> specs.add(spec.of(Sample::state)));
    publication().forEach(spec -> specs.add(spec.of(Sample::state)));
    actor().forEach(spec -> specs.add(spec.of(Sample::actor)));
    opened().forEach(spec -> specs.add(spec.of(Sample::pool)));
    following().forEach(spec -> specs.add(spec.of(Sample::following)));
    return List.copyOf(specs);
  }

  private static List<MeterSpec<PoolStatistics>> events() {
    List<MeterSpec.Series<PoolStatistics>> byKind = new ArrayList<>();
    for (KvEvent.Kind kind : KvEvent.Kind.values()) {
      for (StorageTier tier : StorageTier.values()) {
        byKind.add(
            new MeterSpec.Series<>(
                Tags.of("kind", MeterSpec.lower(kind), "tier", tier.wireName()),
                s -> s.events().of(kind, tier)));
      }
    }
    return List.of(
        new MeterSpec<>(
            "kvrelay.pool.events",
            true,
            "events",
            "Events that reached the pool, whatever became of them",
            byKind),
        byEnum(
            true,
            "kvrelay.pool.ignored",
            "events",
            "reason",
            IgnoreReason.values(),
            "Events that do not concern the index of device memory",
            reason -> s -> s.ignored(reason)),
        byEnum(
            true,
            "kvrelay.pool.refused",
            "events",
            "error",
            KvEventErrorKind.values(),
            "Events with an error, by the first one",
            kind -> s -> s.errors(kind)),
        byEnum(
            true,
            "kvrelay.pool.ranks.failed",
            "attempts",
            "error",
            KvEventErrorKind.values(),
            "Failed attempts to empty or to replace ranks",
            kind -> s -> s.rankErrors(kind)),
        counter(
            "kvrelay.pool.parents.missing",
            "blocks",
            "Blocks not stored because their parent is not known",
            PoolStatistics::parentNotFoundBlocks),
        counter(
            "kvrelay.pool.removals.unknown",
            "blocks",
            "Removals of blocks that were not there",
            PoolStatistics::unknownRemovals),
        counter(
            "kvrelay.pool.omissions",
            "attempts",
            "Attempts to place a block for which the filter had no room",
            PoolStatistics::capacityFailures));
  }

  private static List<MeterSpec<PoolStatistics>> sizes() {
    Map<String, ToDoubleFunction<PoolStatistics>> memory = new LinkedHashMap<>();
    memory.put("lineage", PoolStatistics::lineageBytes);
    memory.put("owners", PoolStatistics::ownerBytes);
    memory.put("window", PoolStatistics::windowBytes);
    memory.put("scratch", PoolStatistics::scratchBytes);
    memory.put("filter", PoolStatistics::filterBytes);
    return List.of(
        gauge(
            "kvrelay.pool.members",
            "ranks",
            "Ranks that own at least one block",
            PoolStatistics::members),
        gauge(
            "kvrelay.pool.contributions",
            "mappings",
            "Pairs of rank and block",
            PoolStatistics::contributions),
        gauge(
            "kvrelay.pool.blocks",
            "blocks",
            "Different blocks with at least one owner",
            PoolStatistics::uniqueBlocks),
        gauge(
            "kvrelay.pool.filter.blocks",
            "blocks",
            "Blocks that have their place in the filter",
            PoolStatistics::occupiedSlots),
        gauge("kvrelay.pool.filter.slots", "slots", "Places of the filter", s -> 4.0 * s.buckets()),
        byName(false, "kvrelay.pool.memory", "bytes", "part", "Memory of the exact side", memory));
  }

  private static List<MeterSpec<PoolStatistics>> publication() {
    return List.of(
        counter(
            "kvrelay.pool.images",
            "images",
            "Bucket images published",
            PoolStatistics::emittedImages),
        counter(
            "kvrelay.pool.images.reverted",
            "buckets",
            "Changed buckets that were as before when they were to be published",
            PoolStatistics::netRevertedBuckets),
        counter(
            "kvrelay.pool.deferred",
            "drains",
            "Publications put off because there was no memory for them",
            PoolStatistics::deferredDrains));
  }

  private static List<MeterSpec<PoolActorStatistics>> actor() {
    Map<String, ToDoubleFunction<PoolActorStatistics>> batches = new LinkedHashMap<>();
    batches.put("published", PoolActorStatistics::publishedBatches);
    batches.put("no_subscriber", PoolActorStatistics::batchesWithoutLease);
    batches.put("refused", PoolActorStatistics::refusedBatches);
    batches.put("undelivered", PoolActorStatistics::undeliveredBatches);
    Map<String, ToDoubleFunction<PoolActorStatistics>> mailbox = new LinkedHashMap<>();
    mailbox.put("queued", PoolActorStatistics::queuedCommands);
    mailbox.put("waiting", PoolActorStatistics::waitingCommands);
    return List.of(
        counter(
            "kvrelay.pool.faults",
            "events",
            "Events that made a rank or the pool recover",
            PoolActorStatistics::faults),
        counter(
            "kvrelay.pool.dropped",
            "events",
            "Events that were not applied because the pool was fenced or had ended",
            PoolActorStatistics::droppedEvents),
        byName(
            true,
            "kvrelay.pool.batches",
            "batches",
            "outcome",
            "Publications by what became of them",
            batches),
        byName(
            false,
            "kvrelay.pool.mailbox",
            "commands",
            "state",
            "Commands in the mailbox, and those that wait for room in it",
            mailbox),
        gauge(
            "kvrelay.pool.mailbox.blocks",
            "blocks",
            "Blocks named by the commands in the mailbox",
            PoolActorStatistics::usedPermits));
  }

  private static List<MeterSpec<KvPoolStatistics>> opened() {
    return List.of(
        counter(
            "kvrelay.pool.rejected.events",
            "events",
            "Events refused because their publisher has drifted apart (host-fed pools)",
            KvPoolStatistics::rejectedEvents),
        counter(
            "kvrelay.pool.rejected.sources",
            "sources",
            "Publishers that drifted apart (host-fed pools)",
            KvPoolStatistics::rejectedSources),
        counter(
            "kvrelay.pool.recovered.ranks",
            "ranks",
            "Ranks emptied for want of memory (host-fed pools)",
            KvPoolStatistics::recoveredRanks));
  }

  private static List<MeterSpec<KvPoolStatistics.Following>> following() {
    List<MeterSpec<KvPoolStatistics.Following>> specs = new ArrayList<>();
    specs.add(
        byEnum(
            true,
            "kvrelay.ingest",
            null,
            "what",
            IngestCount.values(),
            "What became of the events of the pool's ranks, and of their recoveries",
            what -> s -> s.ingest().of(what)));
    specs.add(
        byEnum(
            false,
            "kvrelay.pool.ranks",
            "ranks",
            "trust",
            SourceTrust.values(),
            "Expected ranks by what the picture of them is worth",
            trust -> s -> count(s.ranks(), trust)));
    specs.add(
        gauge(
            "kvrelay.pool.recovering",
            "ranks",
            "Ranks with a recovery under way",
            s -> s.ranks().stream().filter(RankStatus::recovering).count()));
    specs.add(
        gauge(
            "kvrelay.pool.barred",
            "ranks",
            "Ranks whose source is barred",
            s -> s.ranks().stream().filter(RankStatus::rejected).count()));
    specs.add(
        gauge(
            "kvrelay.pool.buffered",
            "events",
            "Events that wait for a recovery",
            s -> s.ranks().stream().mapToLong(RankStatus::buffered).sum()));
    load().forEach(spec -> specs.add(spec.of(KvPoolStatistics.Following::load)));
    prefill().forEach(spec -> specs.add(spec.of(KvPoolStatistics.Following::coverage)));
    reports().forEach(spec -> specs.add(spec.of(KvPoolStatistics.Following::reports)));
    specs.add(
        counter(
            "kvrelay.load.lost",
            "streams",
            "Streams of load reports that failed or ended",
            s -> s.collector().lost()));
    specs.add(
        counter(
            "kvrelay.load.late",
            "signals",
            "Load reports of a stream that had been given up",
            s -> s.collector().late()));
    return specs;
  }

  private static double count(List<RankStatus> ranks, SourceTrust trust) {
    return ranks.stream().filter(rank -> rank.trust() == trust).count();
  }

  private static List<MeterSpec<PoolLoad>> load() {
    Map<String, ToDoubleFunction<PoolLoad>> ranks = new LinkedHashMap<>();
    ranks.put("expected", PoolLoad::kvExpectedRanks);
    ranks.put("observed", PoolLoad::kvObservedRanks);
    return List.of(
        gauge(
            "kvrelay.load.used",
            "blocks",
            "KV blocks in use; not a number while a rank has not reported",
            load -> known(load.kvUsedBlocks())),
        gauge(
            "kvrelay.load.capacity",
            "blocks",
            "KV blocks of all ranks; not a number while a rank's are not known",
            load -> known(load.totalKvBlocks())),
        byName(
            false,
            "kvrelay.load.ranks",
            "ranks",
            "state",
            "Ranks that should report, and those that did",
            ranks));
  }

  private static List<MeterSpec<LoadCoverage>> prefill() {
    return List.of(
        gauge(
            "kvrelay.load.decode",
            "blocks",
            "KV blocks of sequences being decoded, as far as reported",
            coverage -> unsigned(coverage.decode().value())),
        gauge(
            "kvrelay.load.prefill",
            "tokens",
            "Tokens being prefilled, as far as reported",
            coverage -> unsigned(coverage.prefill().value())));
  }

  private static List<MeterSpec<PoolLoadAccount.Statistics>> reports() {
    Map<String, ToDoubleFunction<PoolLoadAccount.Statistics>> reports = new LinkedHashMap<>();
    reports.put("taken", PoolLoadAccount.Statistics::reports);
    reports.put("unknown_rank", PoolLoadAccount.Statistics::unknownRanks);
    reports.put("empty", PoolLoadAccount.Statistics::emptyReports);
    reports.put("late", PoolLoadAccount.Statistics::lateReports);
    return List.of(
        byName(
            true,
            "kvrelay.load.reports",
            "reports",
            "outcome",
            "Load reports, those taken without a value among them",
            reports),
        counter(
            "kvrelay.load.capacity.refused",
            null,
            "Declared capacities that were refused",
            PoolLoadAccount.Statistics::refusedCapacities));
  }

  private static double known(OptionalLong value) {
    return value.isPresent() ? unsigned(value.getAsLong()) : Double.NaN;
  }

  private static double unsigned(long value) {
    return value >= 0 ? value : (value & Long.MAX_VALUE) + TWO_TO_63;
  }
}
