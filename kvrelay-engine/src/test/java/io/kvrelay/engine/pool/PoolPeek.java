package io.kvrelay.engine.pool;

/** Lets tests of other rooms look at a pool's exact state between its turns. */
public final class PoolPeek {
  private PoolPeek() {}

  public static PoolState state(PoolActor actor) {
    return actor.state();
  }
}
