package io.kvrelay.engine.load;

import io.kvrelay.api.Member;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.RuntimeConfig;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The load of one pool generation: declared capacity, the latest report of each rank in each
 * dimension, and the KV load that consumers get. Sums are kept up to date, so a report costs the
 * same however many ranks there are.
 *
 * <p>Thread safe: one lock. The sink is called under it, with a value that differs from the one
 * before; it must be quick and must not call back.
 */
public final class PoolLoadAccount {
  /**
   * Counters of an account; only grow.
   *
   * @param reports reports taken
   * @param unknownRanks reports for a rank that no worker declares, ignored
   * @param emptyReports reports without a value, taken without effect
   * @param lateReports reports after the end, ignored
   * @param refusedCapacities capacities refused; each one cleared the account
   */
  public record Statistics(
      long reports,
      long unknownRanks,
      long emptyReports,
      long lateReports,
      long refusedCapacities) {}

  private static final class Rank {
    private LoadCapacity.Rank capacity;
    private OptionalLong kvUsed = OptionalLong.empty();
    private OptionalLong decode = OptionalLong.empty();
    private OptionalLong prefill = OptionalLong.empty();

    private Rank(LoadCapacity.Rank capacity) {
      this.capacity = capacity;
    }
  }

  /** Ranks with a capacity, those of them that reported, and both sums. */
  private static final class Totals {
    private int expected;
    private int observed;
    private final SaturatingSum values = new SaturatingSum();
    private final SaturatingSum capacities = new SaturatingSum();

    private void count(boolean in, OptionalLong capacity, OptionalLong value) {
      if (capacity.isPresent()) {
        expected += in ? 1 : -1;
        move(in, capacities, capacity.getAsLong());
        if (value.isPresent()) {
          observed += in ? 1 : -1;
          move(in, values, value.getAsLong());
        }
      }
    }

    private static void move(boolean in, SaturatingSum sum, long value) {
      if (in) {
        sum.add(value);
      } else {
        sum.subtract(value);
      }
    }

    private LoadCoverage.Dimension dimension(boolean withCapacity) {
      return new LoadCoverage.Dimension(
          expected, observed, values.value(), withCapacity ? capacities.value() : 0);
    }
  }

  private final ProducerIdentity producer;
  private final Consumer<PoolLoad> sink;
  private final Map<Member, Rank> ranks = new HashMap<>();
  private final Totals kv = new Totals();
  private final Totals decode = new Totals();
  private final Totals prefill = new Totals();
  // Over all declared ranks, whether or not their capacity is known.
  private int usedRanks;
  private final SaturatingSum used = new SaturatingSum();
  private @Nullable PoolLoad published;
  private @Nullable String refusal;
  private boolean ended;
  private long reports;
  private long unknownRanks;
  private long emptyReports;
  private long lateReports;
  private long refusedCapacities;

  /**
   * An account without ranks.
   *
   * @param producer the generation
   * @param sink takes each load that differs from the one before
   */
  public PoolLoadAccount(ProducerIdentity producer, Consumer<PoolLoad> sink) {
    this.producer = producer;
    this.sink = sink;
  }

  /**
   * Replaces the declared capacity. Ranks that are gone lose their reports; a rank whose KV
   * capacity changed loses its KV report, which described another cache. A refused capacity clears
   * everything: the load becomes unknown, never stale.
   *
   * @param workers runtime configuration by worker id
   * @return false if the capacity was refused
   */
  public synchronized boolean capacity(Map<Long, RuntimeConfig> workers) {
    LoadCapacity next;
    try {
      next = LoadCapacity.of(workers);
      refusal = null;
    } catch (IllegalArgumentException refused) {
      next = LoadCapacity.NONE;
      refusal = refused.getMessage();
      refusedCapacities++;
    }
    replace(next);
    publish();
    return refusal == null;
  }

  private void replace(LoadCapacity next) {
    ranks
        .entrySet()
        .removeIf(
            entry -> {
              boolean gone = !next.ranks().containsKey(entry.getKey());
              if (gone) {
                count(false, entry.getValue());
              }
              return gone;
            });
    next.ranks()
        .forEach(
            (member, capacity) -> {
              Rank rank = ranks.get(member);
              if (rank == null) {
                rank = new Rank(capacity);
                ranks.put(member, rank);
                count(true, rank);
              } else if (!rank.capacity.equals(capacity)) {
                recapacitate(rank, capacity);
              }
            });
  }

  private void recapacitate(Rank rank, LoadCapacity.Rank capacity) {
    count(false, rank);
    if (!rank.capacity.totalKvBlocks().equals(capacity.totalKvBlocks())) {
      rank.kvUsed = OptionalLong.empty();
    }
    rank.capacity = capacity;
    count(true, rank);
  }

  /**
   * Takes a report. It overwrites only what it carries.
   *
   * @param report the report
   * @return false if it was ignored
   */
  public synchronized boolean observe(LoadReport report) {
    if (ended) {
      lateReports++;
      return false;
    }
    Rank rank = ranks.get(report.member());
    if (rank == null) {
      unknownRanks++;
      return false;
    }
    reports++;
    if (report.kvUsedBlocks().isEmpty()
        && report.activeDecodeBlocks().isEmpty()
        && report.activePrefillTokens().isEmpty()) {
      emptyReports++;
      return true;
    }
    count(false, rank);
    rank.kvUsed = latest(report.kvUsedBlocks(), rank.kvUsed);
    rank.decode = latest(report.activeDecodeBlocks(), rank.decode);
    rank.prefill = latest(report.activePrefillTokens(), rank.prefill);
    count(true, rank);
    publish();
    return true;
  }

  private static OptionalLong latest(OptionalLong next, OptionalLong known) {
    return next.isPresent() ? next : known;
  }

  /** Drops every report, because some may have been missed; the capacity stays. */
  public synchronized void forget() {
    for (Rank rank : ranks.values()) {
      count(false, rank);
      rank.kvUsed = OptionalLong.empty();
      rank.decode = OptionalLong.empty();
      rank.prefill = OptionalLong.empty();
      count(true, rank);
    }
    publish();
  }

  /** The generation is over: nothing is taken or published any more. */
  public synchronized void end() {
    ended = true;
  }

  private void count(boolean in, Rank rank) {
    kv.count(in, rank.capacity.totalKvBlocks(), rank.kvUsed);
    decode.count(in, rank.capacity.totalKvBlocks(), rank.decode);
    prefill.count(in, rank.capacity.maxNumBatchedTokens(), rank.prefill);
    if (rank.kvUsed.isPresent()) {
      usedRanks += in ? 1 : -1;
      Totals.move(in, used, rank.kvUsed.getAsLong());
    }
  }

  private void publish() {
    PoolLoad next = load();
    if (!ended && !next.equals(published)) {
      published = next;
      sink.accept(next);
    }
  }

  /**
   * The KV load over all declared ranks. Usage is known only if every one of them has reported, the
   * total only if every one of them has a known capacity.
   *
   * @return the load at this moment
   */
  public synchronized PoolLoad load() {
    int declared = ranks.size();
    return new PoolLoad(
        producer,
        declared > 0 && usedRanks == declared
            ? OptionalLong.of(used.value())
            : OptionalLong.empty(),
        declared > 0 && kv.expected == declared
            ? OptionalLong.of(kv.capacities.value())
            : OptionalLong.empty(),
        usedRanks,
        kv.expected,
        declared);
  }

  /**
   * The load in all three dimensions.
   *
   * @return the coverage at this moment
   */
  public synchronized LoadCoverage coverage() {
    return new LoadCoverage(kv.dimension(true), decode.dimension(false), prefill.dimension(true));
  }

  /**
   * Why the declared capacity was refused.
   *
   * @return the reason, or null if it was not
   */
  public synchronized @Nullable String refusal() {
    return refusal;
  }

  /**
   * The counters.
   *
   * @return the numbers of this moment
   */
  public synchronized Statistics statistics() {
    return new Statistics(reports, unknownRanks, emptyReports, lateReports, refusedCapacities);
  }
}
