package io.kvrelay.engine.topology;

import io.kvrelay.api.deployment.EndpointSources;
import java.util.concurrent.CompletionStage;

/**
 * A running generation, as its slot sees it. Called on the slot's mailbox; nothing blocks. A stage
 * that fails counts as complete: the slot goes on.
 */
public interface PoolRun {
  /**
   * Takes registrations, roles and load capacity over into the running generation.
   *
   * @param plan the plan, of the same binding
   * @return false if it was not applied; the old values stay
   */
  boolean update(PoolPlan plan);

  /**
   * Takes the latest sources over.
   *
   * @param sources the sources of all expected ranks
   */
  void reconcile(EndpointSources sources);

  /**
   * Handles a source's fault; one at a time.
   *
   * @param fault the fault
   * @return a stage with the outcome; its failure fences the generation
   */
  CompletionStage<PoolDriver.FaultOutcome> handle(SourceFault fault);

  /**
   * Takes the generation out of the catalog and the load list, at once.
   *
   * @param fenced whether it is fenced; sticky
   * @param reason for people
   */
  void withdraw(boolean fenced, String reason);

  /**
   * Stops recovery and joins it.
   *
   * @return a stage that completes when nothing of it runs any more
   */
  CompletionStage<?> stopRecovery();

  /**
   * Stops the pool's actor, while its faults are still drained. May be called again with {@code
   * graceful} false, which overrides.
   *
   * @param graceful true: finish what was admitted and publish the tail; false: drop the tail
   * @return a stage that completes when the actor has ended
   */
  CompletionStage<?> stopActor(boolean graceful);

  /**
   * Stops the load collector and joins it.
   *
   * @return a stage that completes when it has ended
   */
  CompletionStage<?> stopCollector();

  /** Removes the registry's entry: pool id and endpoint are free again. The last call. */
  void remove();
}
