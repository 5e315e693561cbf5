package io.kvrelay.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Seeded random router events in their JSON form, made to meet one another: few members, few
 * chains, few engine hashes. All tiers, owners and positions, unknown parents, conflicting and
 * repeated hashes, duplicate stores, removals of nothing, clears.
 */
final class RandomEvents {
  private static final String[] TIERS = {"device", "device", "host_pinned", "disk", "external"};
  private static final String[] DOMAINS = {
    "\"worker\"", "\"cache_owner\"", "\"future_owner\"", "null", "7", "true", "[1]", "{\"a\":1}"
  };

  private final SplittableRandom random;
  private final int workers;
  private final int chains;

  RandomEvents(long seed) {
    this.random = new SplittableRandom(seed);
    this.workers = 1 + random.nextInt(6);
    this.chains = 1 + random.nextInt(300);
  }

  List<String> lines(int count) {
    List<String> lines = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      lines.add(event(i));
    }
    return lines;
  }

  private boolean oneIn(int n) {
    return random.nextInt(n) == 0;
  }

  private String event(int id) {
    long worker = oneIn(30) ? -1 : 1 + random.nextInt(workers);
    int rank = random.nextInt(2);
    StringBuilder out = new StringBuilder("{\"worker_id\":").append(Long.toUnsignedString(worker));
    if (!oneIn(3)) {
      String tier = oneIn(10) ? TIERS[random.nextInt(TIERS.length)] : "device";
      out.append(",\"storage_tier\":\"").append(tier).append('"');
    }
    if (oneIn(3)) {
      String domain = oneIn(6) ? DOMAINS[random.nextInt(DOMAINS.length)] : "\"worker\"";
      out.append(",\"residency_domain\":").append(domain);
    }
    out.append(",\"event\":{\"event_id\":").append(id).append(",\"data\":");
    int kind = random.nextInt(200);
    if (kind < 125) {
      store(out, worker, rank);
    } else if (kind < 199) {
      removal(out, worker, rank);
    } else {
      out.append("\"cleared\"");
    }
    if (rank != 0 || oneIn(2)) {
      out.append(",\"dp_rank\":").append(rank);
    }
    return out.append(oneIn(20) ? "},\"session_id\":\"x\"}" : "}}").toString();
  }

  private void store(StringBuilder out, long worker, int rank) {
    int chain = random.nextInt(chains);
    int from = oneIn(3) ? 0 : random.nextInt(10);
    int length = oneIn(15) ? 0 : 1 + random.nextInt(oneIn(20) ? 80 : 8);
    out.append("{\"stored\":{");
    if (from > 0) {
      long parent = oneIn(60) ? random.nextLong() : engineHash(worker, rank, chain, from - 1);
      out.append("\"parent_hash\":").append(Long.toUnsignedString(parent)).append(',');
    } else if (oneIn(4)) {
      out.append("\"parent_hash\":null,");
    }
    if (oneIn(8)) {
      out.append("\"start_position\":").append(oneIn(4) ? 7 : 0).append(',');
    }
    out.append("\"blocks\":[");
    for (int i = 0; i < length; i++) {
      int place = from + i;
      long engine = oneIn(300) ? random.nextInt(40) : engineHash(worker, rank, chain, place);
      out.append(i == 0 ? "" : ",")
          .append("{\"block_hash\":")
          .append(Long.toUnsignedString(engine))
          .append(",\"tokens_hash\":")
          .append(Long.toUnsignedString(localHash(chain, place)))
          .append('}');
    }
    out.append("]}}");
  }

  private void removal(StringBuilder out, long worker, int rank) {
    out.append("{\"removed\":{\"block_hashes\":[");
    int length = random.nextInt(12);
    int chain = random.nextInt(chains);
    int from = random.nextInt(12);
    for (int i = 0; i < length; i++) {
      long engine = oneIn(40) ? random.nextInt(40) : engineHash(worker, rank, chain, from + i % 9);
      out.append(i == 0 ? "" : ",").append(Long.toUnsignedString(engine));
    }
    out.append("]}}");
  }

  /** The first blocks of all chains are one prompt. */
  private static long localHash(int chain, int place) {
    return place < 3 ? place + 1 : spread(chain * 1000L + place);
  }

  /** Engines of rank 0 name a block by its content, and share names; those of rank 1 number it. */
  private static long engineHash(long worker, int rank, int chain, int place) {
    long block = place < 3 ? place : chain * 1000L + place;
    return rank == 0 ? spread(block) : (worker << 40) + block;
  }

  private static long spread(long value) {
    long h = (value + 1) * 0x9E3779B97F4A7C15L;
    return h ^ (h >>> 29);
  }
}
