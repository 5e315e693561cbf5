package io.kvrelay.engine.topology;

import java.util.concurrent.CompletionStage;

/**
 * What a slot needs of the world to have a pool: how to start a generation. The slot decides when.
 */
public interface PoolDriver {
  /**
   * Starts a generation: attaches it to the registry and starts its recovery with the plan's
   * sources. Called on the slot's mailbox; does not block.
   *
   * @param plan what the pool should be
   * @param events takes what happens to the generation, from its attachment on
   * @return the start
   */
  Start start(PoolPlan plan, Events events);

  /** A start under way. */
  interface Start {
    /**
     * The running generation. A stage that fails has left nothing behind.
     *
     * @return a stage
     */
    CompletionStage<PoolRun> result();

    /** Asks to give up. The result completes all the same, one way or the other. Idempotent. */
    void cancel();
  }

  /** What happens to a generation. Thread safe; never blocks. Ignored once it is retired. */
  interface Events {
    /**
     * A source's fault.
     *
     * @param fault the fault
     */
    void sourceFault(SourceFault fault);

    /**
     * The generation cannot go on: its actor died, it was cancelled, its load collector ended by
     * itself, or its producer must be fenced.
     *
     * @param reason for people
     */
    void fence(String reason);
  }

  /** What came of handling a source's fault. */
  enum FaultOutcome {
    /** The rank was dealt with. */
    HANDLED,
    /** The generation must be fenced. */
    FENCE_POOL
  }
}
