package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a relay makes of one rank's events, by the book and without mercy: what would have a source
 * rejected fails the test.
 */
final class RelayModel {
  private final Map<Long, Long> lineage = new HashMap<>();
  private final List<KvEvent> seen = new ArrayList<>();
  private long lastId;
  private long clears;
  private long unknownRemovals;

  void apply(List<KvEvent> events) {
    for (KvEvent event : events) {
      assertThat(event.eventId()).as("ids follow each other").isEqualTo(lastId + 1);
      lastId = event.eventId();
      seen.add(event);
      apply(event);
    }
  }

  /** Starts from a dump, as a relay does that lost its place. */
  void replace(List<KvEvent> dump, long last) {
    lineage.clear();
    dump.forEach(this::apply);
    lastId = last;
  }

  private void apply(KvEvent event) {
    switch (event.kind()) {
      case CLEARED -> {
        lineage.clear();
        clears++;
      }
      case REMOVED -> {
        for (int i = 0; event.tier() == StorageTier.DEVICE && i < event.length(); i++) {
          unknownRemovals += lineage.remove(event.engineHash(i)) == null ? 1 : 0;
        }
      }
      case STORED -> {
        if (event.tier() == StorageTier.DEVICE) {
          store(event);
        }
      }
    }
  }

  private void store(KvEvent event) {
    boolean hasPrevious = event.hasParent();
    long previous = 0;
    if (hasPrevious) {
      assertThat(lineage).as("parent of " + event).containsKey(event.parentHash());
      previous = lineage.get(event.parentHash());
    }
    for (int i = 0; i < event.length(); i++) {
      long name =
          hasPrevious
              ? SequenceHashes.child(previous, event.localHash(i))
              : SequenceHashes.root(event.localHash(i));
      Long known = lineage.put(event.engineHash(i), name);
      assertThat(known == null || known == name).as("one hash, one content").isTrue();
      previous = name;
      hasPrevious = true;
    }
  }

  Set<Long> sequenceHashes() {
    return new HashSet<>(lineage.values());
  }

  Set<Long> engineHashes() {
    return lineage.keySet();
  }

  List<KvEvent> seen() {
    return seen;
  }

  long clears() {
    return clears;
  }

  long unknownRemovals() {
    return unknownRemovals;
  }

  long lastId() {
    return lastId;
  }
}
