package io.kvrelay.engine.topology;

import io.kvrelay.api.Member;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Faults of one generation that wait to be handled: at most one per rank, in the order in which the
 * ranks first had one. A producer fence stands above all of them. Not thread safe.
 */
final class FaultQueue {
  /** More ranks than this at a time, and the whole generation is in doubt. */
  static final int MAX_MEMBERS = 16;

  private final Map<Member, SourceFault> pending = new LinkedHashMap<>();
  private @Nullable String fence;

  /** Returns false if the fault adds nothing to what is pending. */
  boolean offer(SourceFault fault) {
    if (fence != null) {
      return false;
    }
    SourceFault known = pending.get(fault.member());
    if (known == null && pending.size() == MAX_MEMBERS) {
      fence("more than " + MAX_MEMBERS + " ranks with a pending fault, the last: " + fault);
      return true;
    }
    boolean counts =
        known == null
            || known.publisherId() != fault.publisherId()
            || known.action().compareTo(fault.action()) < 0;
    if (counts) {
      pending.put(fault.member(), fault); // a rank keeps its place
    }
    return counts;
  }

  /** The first reason stays. */
  void fence(String reason) {
    pending.clear();
    fence = fence == null ? reason : fence;
  }

  @Nullable String fence() {
    return fence;
  }

  @Nullable SourceFault poll() {
    Iterator<SourceFault> faults = pending.values().iterator();
    if (!faults.hasNext()) {
      return null;
    }
    SourceFault first = faults.next();
    faults.remove();
    return first;
  }

  int size() {
    return pending.size();
  }
}
