package io.kvrelay.engine.topology;

import io.kvrelay.api.RelayHealth;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a relay's health is made of. Thread safe. */
public final class HealthTracker {
  private boolean shuttingDown;
  private @Nullable String hostError;
  private boolean wanEnabled;
  private boolean wanServing;
  private @Nullable String wanAddress;
  private @Nullable String wanError;

  /** A running relay without a transport. */
  public HealthTracker() {}

  /** The relay was told to stop. Not an error. */
  public synchronized void shuttingDown() {
    shuttingDown = true;
  }

  /**
   * The relay failed by itself: its host ended or threw, or its membership or catalog watch closed
   * unasked. The first reason stays.
   *
   * @param reason for people
   * @return true for the first error, on which the relay must stop
   */
  public synchronized boolean hostFailed(String reason) {
    if (hostError != null) {
      return false;
    }
    hostError = reason;
    shuttingDown = true;
    return true;
  }

  /** A transport is wanted and does not serve yet. */
  public synchronized void wanEnabled() {
    wanEnabled = true;
  }

  /**
   * The transport serves.
   *
   * @param address where
   */
  public synchronized void wanServing(String address) {
    wanEnabled = true;
    wanServing = true;
    wanAddress = address;
    wanError = null;
  }

  /**
   * The transport does not serve any more, or never did.
   *
   * @param error why, or null if it was told to stop
   */
  public synchronized void wanStopped(@Nullable String error) {
    wanServing = false;
    wanError = error;
  }

  /**
   * The verdict over slots and what it rests on.
   *
   * @param slots the endpoints
   * @param factsError why the facts may be out of date, or null
   * @param inputs inputs without effect
   * @return health at this moment
   */
  public RelayHealth health(
      EndpointSlots slots, @Nullable String factsError, List<RelayHealth.Problem> inputs) {
    List<RelayHealth.Problem> problems = new ArrayList<>(slots.problems());
    problems.addAll(inputs);
    return health(
        slots.count(null),
        slots.count(SlotState.ACTIVE),
        slots.count(SlotState.FENCED),
        factsError,
        problems);
  }

  /**
   * The verdict and what it rests on.
   *
   * @param endpoints endpoints known
   * @param active those with a running pool
   * @param fenced those kept from having one
   * @param factsError why the facts may be out of date, or null
   * @param problems what is wrong with single endpoints and inputs
   * @return health at this moment
   */
  public synchronized RelayHealth health(
      int endpoints,
      int active,
      int fenced,
      @Nullable String factsError,
      List<RelayHealth.Problem> problems) {
    boolean wanHealthy = !wanEnabled || (wanServing && wanError == null);
    return new RelayHealth(
        !shuttingDown && hostError == null && fenced == 0 && wanHealthy,
        shuttingDown,
        hostError,
        endpoints,
        active,
        fenced,
        wanEnabled,
        wanServing,
        wanAddress,
        wanError,
        factsError,
        problems);
  }
}
