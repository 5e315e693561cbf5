package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import java.util.ArrayList;
import java.util.List;

/**
 * What leads from one membership view to the next, each list in the order of endpoint texts.
 *
 * @param added endpoints that are new
 * @param changed endpoints whose generation differs
 * @param removed endpoints that are gone
 */
public record MembershipDiff(
    List<EndpointMembership> added, List<EndpointMembership> changed, List<EndpointId> removed) {
  /**
   * Compares two views.
   *
   * @param before the earlier view
   * @param after the later view
   * @return the difference
   */
  public static MembershipDiff between(MembershipView before, MembershipView after) {
    List<EndpointMembership> added = new ArrayList<>();
    List<EndpointMembership> changed = new ArrayList<>();
    for (EndpointMembership now : after.endpoints().values()) {
      EndpointMembership then = before.endpoints().get(now.endpoint());
      if (then == null) {
        added.add(now);
      } else if (then.generation() != now.generation()) {
        changed.add(now);
      }
    }
    List<EndpointId> removed = new ArrayList<>(before.endpoints().keySet());
    removed.removeAll(after.endpoints().keySet());
    return new MembershipDiff(added, changed, removed);
  }

  /**
   * Whether the views are the same.
   *
   * @return true if nothing differs
   */
  public boolean isEmpty() {
    return added.isEmpty() && changed.isEmpty() && removed.isEmpty();
  }
}
