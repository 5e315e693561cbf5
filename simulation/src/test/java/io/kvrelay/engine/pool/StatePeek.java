package io.kvrelay.engine.pool;

import io.kvrelay.api.Member;
import java.util.Set;
import java.util.TreeSet;

/** Lets simulations look at a pool's exact state between its turns. */
public final class StatePeek {
  private StatePeek() {}

  /** Members that hold anything. */
  public static Set<Member> members(PoolActor actor) {
    return new TreeSet<>(actor.state().members());
  }

  /** Blocks of one member. */
  public static int size(PoolActor actor, Member member) {
    return actor.state().mappingCount(member);
  }

  /** Whether a member maps an engine hash to this sequence hash. */
  public static boolean maps(PoolActor actor, Member member, long engineHash, long sequenceHash) {
    return actor.state().isMapped(member, engineHash)
        && actor.state().sequenceHash(member, engineHash) == sequenceHash;
  }

  /** The filter's words as they are. */
  public static long[] words(PoolActor actor) {
    return actor.state().copyWords();
  }

  /** Memory of lineage and owners. */
  public static long stateBytes(PoolActor actor) {
    actor.state().readSizes();
    return actor.state().statistics().stateBytes();
  }
}
