package io.kvrelay.events.zmq;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Lets the blocks of the main attention group pass. A hybrid model stores one hash once for each
 * group, and only those of full attention stand for a whole prefix. Removals name a group without
 * its kind, so kinds are learned from stores. Not thread safe.
 */
final class GroupFilter {
  private static final int MAX_GROUPS = 1024;

  private final Map<Long, AttentionKind> learned = new HashMap<>();

  /** The counter of the reason to pass a store over, or null to take it. */
  @Nullable Counter ofStore(WireEvent event) {
    if (event.hasGroup
        && learned.size() < MAX_GROUPS
        && event.attention != AttentionKind.ABSENT
        && learned.get(event.group) != event.attention) {
      learned.put(event.group, event.attention);
    }
    return switch (event.attention) {
      case ABSENT -> event.hasGroup && event.group != 0 ? Counter.FILTERED_GROUP : null;
      case UNKNOWN -> Counter.FILTERED_UNKNOWN_KIND;
      default -> event.attention.isMain() ? null : Counter.FILTERED_KIND;
    };
  }

  /**
   * The counter of the reason to pass a removal over, or null to take it. Without a kind, group 0
   * is the main one for stores, and so it is for removals.
   */
  @Nullable Counter ofRemoval(WireEvent event) {
    if (!event.hasGroup) {
      return null;
    }
    AttentionKind kind = learned.get(event.group);
    if (kind == null) {
      return event.group == 0 ? null : Counter.FILTERED_UNLEARNED;
    }
    return kind.isMain() ? null : Counter.FILTERED_GROUP;
  }

  void clear() {
    learned.clear();
  }
}
