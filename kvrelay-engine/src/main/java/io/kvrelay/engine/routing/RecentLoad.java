package io.kvrelay.engine.routing;

import io.kvrelay.api.DcId;
import java.util.OptionalDouble;

/**
 * The host's own figure for how much work a data center got lately, such as blocks computed in the
 * last minute. Thread safe; must not block.
 */
@FunctionalInterface
public interface RecentLoad {
  /**
   * One data center's figure.
   *
   * @param dcId the data center
   * @return a finite value of at least 0 in any one unit, or nothing if unknown; anything else is
   *     taken for unknown and counted
   */
  OptionalDouble of(DcId dcId);
}
