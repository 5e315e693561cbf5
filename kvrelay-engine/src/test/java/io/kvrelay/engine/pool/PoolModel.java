package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The exact state of a pool as plain maps, written straight from the rules and without any thought
 * of speed.
 */
final class PoolModel {
  final TreeMap<Member, Map<Long, Long>> lineage = new TreeMap<>();
  long unknownRemovals;
  long parentNotFound;
  long ignored;

  /** The error that the rules give, capacity aside; null for none. */
  KvEventErrorKind apply(KvEvent event) {
    if (!isPrimary(event)) {
      return event.domain().isUnsupported()
              || (event.domain() == ResidencyDomain.CACHE_OWNER
                  && event.tier() == StorageTier.DEVICE
                  && event.kind() != KvEvent.Kind.CLEARED)
          ? KvEventErrorKind.UNSUPPORTED_RESIDENCY_DOMAIN
          : ignore();
    }
    Map<Long, Long> known = lineage.computeIfAbsent(event.member(), m -> new LinkedHashMap<>());
    KvEventErrorKind error =
        switch (event.kind()) {
          case STORED -> store(known, event);
          case REMOVED -> remove(known, event);
          case CLEARED -> {
            known.clear();
            yield null;
          }
        };
    if (known.isEmpty()) {
      lineage.remove(event.member());
    }
    return error;
  }

  private KvEventErrorKind ignore() {
    ignored++;
    return null;
  }

  private static boolean isPrimary(KvEvent event) {
    boolean worker =
        event.domain() == ResidencyDomain.MISSING || event.domain() == ResidencyDomain.WORKER;
    return worker && (event.kind() == KvEvent.Kind.CLEARED || event.tier() == StorageTier.DEVICE);
  }

  private KvEventErrorKind store(Map<Long, Long> known, KvEvent event) {
    if (event.length() == 0) {
      return null;
    }
    if (event.hasParent() && !known.containsKey(event.parentHash())) {
      parentNotFound++;
      return KvEventErrorKind.PARENT_BLOCK_NOT_FOUND;
    }
    if (!event.hasParent() && event.startPosition() > 0) {
      return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    }
    Map<Long, Long> fresh = new LinkedHashMap<>();
    long previous = event.hasParent() ? known.get(event.parentHash()) : 0;
    for (int i = 0; i < event.length(); i++) {
      previous =
          i == 0 && !event.hasParent()
              ? event.localHash(i)
              : SequenceHashes.child(previous, event.localHash(i));
      long engine = event.engineHash(i);
      Long mapped = known.containsKey(engine) ? known.get(engine) : fresh.get(engine);
      if (mapped != null && mapped != previous) {
        return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
      }
      if (mapped == null) {
        fresh.put(engine, previous);
      }
    }
    known.putAll(fresh);
    return null;
  }

  private KvEventErrorKind remove(Map<Long, Long> known, KvEvent event) {
    for (int i = 0; i < event.length(); i++) {
      if (known.remove(event.engineHash(i)) == null) {
        unknownRemovals++;
      }
    }
    return null;
  }

  void removeWorker(long workerId) {
    lineage.keySet().removeIf(member -> member.workerId() == workerId);
  }

  long contributions() {
    return lineage.values().stream().mapToLong(Map::size).sum();
  }

  /** Sequence hash to number of mappings. */
  Map<Long, Long> owners() {
    Map<Long, Long> owners = new HashMap<>();
    lineage.values().forEach(known -> known.values().forEach(h -> owners.merge(h, 1L, Long::sum)));
    return owners;
  }
}
