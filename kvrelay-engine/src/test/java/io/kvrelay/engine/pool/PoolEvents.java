package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import java.util.Random;

/**
 * Random events that meet: few members, few engine hashes, few token blocks. An engine hash is
 * mostly a function of its block's place, as with a real engine, and sometimes anything at all.
 */
final class PoolEvents {
  private static final StorageTier[] TIERS = StorageTier.values();
  private static final ResidencyDomain[] DOMAINS = ResidencyDomain.values();

  private final Random random;
  private final int members;
  private final int chains;
  private long nextId;

  PoolEvents(Random random, int members, int chains) {
    this.random = random;
    this.members = members;
    this.chains = chains;
  }

  Member member() {
    return new Member(1 + random.nextInt(members), random.nextInt(2));
  }

  KvEvent next() {
    Member member = member();
    int kind = random.nextInt(200);
    KvEvent.Builder event =
        kind < 120 ? store(member) : kind < 199 ? removal(member) : KvEvent.cleared(member, nextId);
    nextId++;
    if (random.nextInt(20) == 0) {
      event.tier(TIERS[random.nextInt(TIERS.length)]);
    }
    if (random.nextInt(20) == 0) {
      event.domain(DOMAINS[random.nextInt(DOMAINS.length)]);
    }
    return event.build();
  }

  private KvEvent.Builder store(Member member) {
    int chain = random.nextInt(chains);
    int from = random.nextInt(3) == 0 ? 0 : random.nextInt(6);
    int length = random.nextInt(7);
    long[] engine = new long[length];
    long[] local = new long[length];
    for (int i = 0; i < length; i++) {
      // The first two blocks of all chains are one shared prompt.
      int place = from + i;
      local[i] = place < 2 ? place : chain * 100L + place;
      engine[i] = random.nextInt(100) == 0 ? random.nextInt(50) : engineHash(member, chain, place);
    }
    KvEvent.Builder event = KvEvent.stored(member, nextId, engine, local);
    if (from > 0) {
      event.parent(
          random.nextInt(50) == 0 ? random.nextLong() : engineHash(member, chain, from - 1));
    } else if (random.nextInt(10) == 0) {
      event.startPosition(random.nextInt(2));
    }
    return event;
  }

  /**
   * Some engines derive their hash from the content and share it; others count, so that one block
   * has many names.
   */
  private static long engineHash(Member member, int chain, int place) {
    long block = place < 2 ? place : chain * 1000L + place;
    return member.dpRank() == 0 ? block * 0x9E3779B97F4A7C15L : (block << 8) + member.workerId();
  }

  private KvEvent.Builder removal(Member member) {
    long[] hashes = new long[random.nextInt(6)];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] =
          random.nextInt(50) == 0
              ? random.nextInt(50)
              : engineHash(member, random.nextInt(chains), random.nextInt(12));
    }
    return KvEvent.removed(member, nextId, hashes);
  }
}
