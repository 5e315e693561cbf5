package io.kvrelay.engine.publication;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.engine.pool.PoolProducer;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One attached generation, in the hand of whoever attached it. Calls on a generation that is no
 * longer active are ignored and counted: a late report about an old generation cannot touch a new
 * one. Thread safe; nothing blocks.
 */
public final class PoolHandle {
  /** Where a generation is in its life. */
  public enum State {
    /** Advertised and served. */
    ACTIVE,
    /** Withdrawn by its owner; waits for its removal. */
    WITHDRAWN,
    /** Ended by a fault, or by its owner after one; final. */
    FENCED
  }

  private final PoolRegistry registry;
  private final Generation generation;

  PoolHandle(PoolRegistry registry, Generation generation) {
    this.registry = registry;
    this.generation = generation;
  }

  /**
   * The generation.
   *
   * @return its identity
   */
  public ProducerIdentity identity() {
    return generation.identity();
  }

  /**
   * The pool behind it.
   *
   * @return what the factory made
   */
  public PoolProducer producer() {
    return generation.producer();
  }

  /**
   * What the catalog shows, or last showed.
   *
   * @return the descriptor
   */
  public PoolDescriptor descriptor() {
    return generation.descriptor();
  }

  /**
   * Where the generation is.
   *
   * @return its state
   */
  public State state() {
    return generation.state();
  }

  /**
   * Completes with the reason once the generation is fenced. Its owner then removes it and may
   * attach the pool again, as a new generation.
   *
   * @return a stage that never fails
   */
  public CompletionStage<String> fenced() {
    return generation.fenced().minimalCompletionStage();
  }

  /**
   * Replaces the names it serves. Identical ones do not raise the catalog's revision.
   *
   * @param registrations at least one
   * @return false if the generation is not active
   * @throws io.kvrelay.api.RelayException with {@code INVALID_REQUEST} if they contradict each
   *     other; the old ones stay
   */
  public boolean updateRegistrations(List<ModelRegistration> registrations) {
    CatalogRules.check(registrations);
    return registry.describe(generation, registrations, null);
  }

  /**
   * Replaces the declared roles. Identical ones do not raise the catalog's revision.
   *
   * @param roles at least one, distinct
   * @return false if the generation is not active
   * @throws io.kvrelay.api.RelayException with {@code INVALID_REQUEST} if they are empty or
   *     repeated; the old ones stay
   */
  public boolean updateRoles(List<WorkerRole> roles) {
    CatalogRules.checkRoles(roles);
    return registry.describe(generation, null, roles);
  }

  /**
   * Replaces names and roles in one step, and so with one revision of the catalog.
   *
   * @param registrations at least one
   * @param roles at least one, distinct
   * @return false if the generation is not active
   * @throws io.kvrelay.api.RelayException with {@code INVALID_REQUEST} if either is invalid; all
   *     old ones stay
   */
  public boolean update(List<ModelRegistration> registrations, List<WorkerRole> roles) {
    CatalogRules.check(registrations);
    CatalogRules.checkRoles(roles);
    return registry.describe(generation, registrations, roles);
  }

  /**
   * Replaces the pool's load. The list is published only if it changed.
   *
   * @param load the load of exactly this generation, or null while nothing is known of its serving
   * @return false if the generation is not active or the load is another generation's
   */
  public boolean updateLoad(@Nullable PoolLoad load) {
    return registry.updateLoad(generation, load);
  }

  /**
   * Stops advertising and serving the generation: its streams end as unavailable. The pool behind
   * it is left to its owner, and the pool id and the endpoint stay taken until {@link #remove()}.
   */
  public void withdraw() {
    registry.withdraw(generation);
  }

  /**
   * Like {@link #withdraw()} for a faulty generation; the pool behind it is fenced too.
   *
   * @param reason for people
   */
  public void fence(String reason) {
    registry.fence(generation, reason);
  }

  /** Withdraws the generation if it is active, and gives the pool id and the endpoint free. */
  public void remove() {
    registry.remove(generation);
  }
}
