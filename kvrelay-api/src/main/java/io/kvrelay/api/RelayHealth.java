package io.kvrelay.api;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a relay is.
 *
 * @param healthy not shutting down, no host error, no fenced endpoint, and the transport serving
 *     without an error unless it is disabled
 * @param shuttingDown the relay was stopped, by its owner or by a host error
 * @param hostLastError the first failure of the relay itself, or null; later ones do not replace it
 * @param endpointCount endpoints of the deployment
 * @param activeEndpointCount those with a running pool
 * @param fencedEndpointCount those kept from having one by a conflict or a fault
 * @param wanEnabled whether a transport was asked for
 * @param wanServing whether it serves
 * @param wanBoundAddress where, or null
 * @param wanLastError its last failure, or null
 * @param factsError why the deployment facts may be out of date, or null while they are current;
 *     without effect on {@code healthy}
 * @param problems what is wrong with single endpoints or inputs, each named; without effect on
 *     {@code healthy}
 */
public record RelayHealth(
    boolean healthy,
    boolean shuttingDown,
    @Nullable String hostLastError,
    int endpointCount,
    int activeEndpointCount,
    int fencedEndpointCount,
    boolean wanEnabled,
    boolean wanServing,
    @Nullable String wanBoundAddress,
    @Nullable String wanLastError,
    @Nullable String factsError,
    List<Problem> problems) {
  /**
   * Something an operator should look at.
   *
   * @param subject an endpoint, or the key of an input
   * @param detail what is wrong
   */
  public record Problem(String subject, String detail) {}

  /**
   * Copies the list.
   *
   * @param healthy the verdict
   * @param shuttingDown the relay was stopped, by its owner or by a host error
   * @param hostLastError the first failure of the relay itself, or null
   * @param endpointCount endpoints of the deployment
   * @param activeEndpointCount those with a running pool
   * @param fencedEndpointCount those kept from having one by a conflict or a fault
   * @param wanEnabled whether a transport was asked for
   * @param wanServing whether it serves
   * @param wanBoundAddress where, or null
   * @param wanLastError its last failure, or null
   * @param factsError why the deployment facts may be out of date, or null while they are current
   * @param problems what is wrong with single endpoints or inputs, each named
   */
  public RelayHealth {
    problems = List.copyOf(problems);
  }
}
