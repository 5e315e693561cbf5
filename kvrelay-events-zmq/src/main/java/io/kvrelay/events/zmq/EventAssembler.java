package io.kvrelay.events.zmq;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.StorageTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Puts a source's relay events together and numbers them. Neighbours of one kind and tier become
 * one event: a store continues the one before it if it names its last block as its parent. Ids are
 * contiguous from 1, whatever the engine's own sequence does.
 */
final class EventAssembler {
  /** A longer event is split. */
  private static final int MAX_BLOCKS = 4096;

  private static final long[] NONE = {};

  private final Member member;
  private final SourceCounters counters;
  private final HistoryRing ring;
  private List<KvEvent> events = new ArrayList<>();
  private KvEvent.Kind pending = KvEvent.Kind.CLEARED;
  private StorageTier tier = StorageTier.DEVICE;
  private boolean hasParent;
  private long parent;
  private long[] hashes = new long[64];
  private long[] locals = new long[64];
  private int size;
  private long lastId;

  EventAssembler(Member member, SourceCounters counters, HistoryRing ring) {
    this.member = member;
    this.counters = counters;
    this.ring = ring;
  }

  /** Id of the newest event; 0 before the first. */
  long lastId() {
    return lastId;
  }

  void store(
      StorageTier blocksTier,
      boolean blocksHaveParent,
      long blocksParent,
      long[] engineHashes,
      long[] localHashes,
      int count) {
    if (count == 0) {
      return;
    }
    if (!continues(blocksTier, blocksHaveParent, blocksParent)) {
      flush();
      pending = KvEvent.Kind.STORED;
      tier = blocksTier;
      hasParent = blocksHaveParent;
      parent = blocksParent;
    }
    room(count);
    System.arraycopy(engineHashes, 0, hashes, size, count);
    System.arraycopy(localHashes, 0, locals, size, count);
    size += count;
  }

  private boolean continues(StorageTier other, boolean otherHasParent, long otherParent) {
    return size > 0
        && pending == KvEvent.Kind.STORED
        && tier == other
        && otherHasParent
        && hashes[size - 1] == otherParent
        && size < MAX_BLOCKS;
  }

  void remove(StorageTier other, long engineHash) {
    if (size == 0 || pending != KvEvent.Kind.REMOVED || tier != other || size == MAX_BLOCKS) {
      flush();
      pending = KvEvent.Kind.REMOVED;
      tier = other;
    }
    room(1);
    hashes[size++] = engineHash;
  }

  /** An event that changes nothing, in place of one that must not be taken at its word. */
  void nothing() {
    flush();
    add(KvEvent.removed(member, lastId + 1, NONE).build());
  }

  void cleared() {
    flush();
    add(KvEvent.cleared(member, lastId + 1).build());
  }

  private void room(int more) {
    if (hashes.length < size + more) {
      int length = Math.max(size + more, 2 * hashes.length);
      hashes = Arrays.copyOf(hashes, length);
      locals = Arrays.copyOf(locals, length);
    }
  }

  private void flush() {
    if (size == 0) {
      return;
    }
    long[] ofEngine = Arrays.copyOf(hashes, size);
    KvEvent.Builder event =
        pending == KvEvent.Kind.STORED
            ? KvEvent.stored(member, lastId + 1, ofEngine, Arrays.copyOf(locals, size))
            : KvEvent.removed(member, lastId + 1, ofEngine);
    if (pending == KvEvent.Kind.STORED && hasParent) {
      event.parent(parent);
    }
    counters.add(Counter.EMITTED_BLOCKS, size);
    size = 0;
    add(event.tier(tier).build());
  }

  private void add(KvEvent event) {
    lastId++;
    counters.increment(Counter.EMITTED_EVENTS);
    events.add(event);
    ring.add(event);
  }

  /** The events since the last call. */
  List<KvEvent> take() {
    flush();
    if (events.isEmpty()) {
      return List.of();
    }
    List<KvEvent> taken = events;
    events = new ArrayList<>(taken.size());
    return taken;
  }
}
