package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Exactly what one rank's cache holds, as its own events say: the worker's side of a dump. Blocks
 * of the primary index know their parents; blocks of other tiers and owners are kept as they were
 * announced. Not thread safe.
 *
 * <p>A block may outlive its parent. Its name still hangs on the parent's content, so a dump tells
 * the missing ancestors under fresh engine hashes first and removes them again at its end.
 */
final class RankCache {
  private record Place(StorageTier tier, ResidencyDomain domain) {
    static Place of(KvEvent event) {
      return new Place(event.tier(), event.domain());
    }

    boolean isPrimary() {
      return tier == StorageTier.DEVICE && domain == ResidencyDomain.WORKER;
    }
  }

  /** One block and what it follows; a parent stays reachable here after it was removed. */
  private static final class Block {
    final long engineHash;
    final long localHash;
    final long sequenceHash;
    final boolean hasParent;
    final long parentEngineHash;
    final @Nullable Block parent;

    Block(KvEvent event, int index, @Nullable Block parent) {
      this.engineHash = event.engineHash(index);
      this.localHash = event.localHash(index);
      this.sequenceHash =
          parent == null
              ? SequenceHashes.root(localHash)
              : SequenceHashes.child(parent.sequenceHash, localHash);
      this.hasParent = index > 0 || event.hasParent();
      this.parentEngineHash = index > 0 ? event.engineHash(index - 1) : event.parentHash();
      this.parent = parent;
    }
  }

  private final Member member;
  private final Map<Place, LinkedHashMap<Long, Block>> places = new LinkedHashMap<>();

  RankCache(Member member) {
    this.member = member;
  }

  /**
   * Applies an event, or refuses it wholly.
   *
   * @throws IllegalArgumentException naming what is wrong
   */
  void apply(KvEvent event) {
    if (!event.member().equals(member)) {
      throw new IllegalArgumentException(
          "event.member = " + event.member() + ": must be " + member);
    }
    if (event.domain() != ResidencyDomain.WORKER && event.domain() != ResidencyDomain.CACHE_OWNER) {
      if (event.kind() != KvEvent.Kind.CLEARED || event.domain() != ResidencyDomain.MISSING) {
        throw new IllegalArgumentException(
            "event.domain = " + event.domain() + ": must be WORKER or CACHE_OWNER");
      }
    }
    switch (event.kind()) {
      case STORED -> store(event);
      case REMOVED -> remove(event);
      case CLEARED -> clear(event.domain());
    }
  }

  private void store(KvEvent event) {
    Place place = Place.of(event);
    if (place.domain() == ResidencyDomain.CACHE_OWNER && place.tier() == StorageTier.DEVICE) {
      throw new IllegalArgumentException("event.domain = CACHE_OWNER: not on tier DEVICE");
    }
    LinkedHashMap<Long, Block> blocks =
        places.computeIfAbsent(place, fresh -> new LinkedHashMap<>());
    Block parent = event.hasParent() ? blocks.get(event.parentHash()) : null;
    if (place.isPrimary()) {
      if (event.hasParent() && parent == null && event.length() > 0) {
        throw new IllegalArgumentException("event = " + event + ": its parent is not in the cache");
      }
      if (!event.hasParent() && event.startPosition() > 0) {
        throw new IllegalArgumentException(
            "event.startPosition = " + event.startPosition() + ": a root starts at 0");
      }
    }
    Map<Long, Block> added = new LinkedHashMap<>();
    for (int i = 0; i < event.length(); i++) {
      Block block = new Block(event, i, parent);
      Block known = added.getOrDefault(block.engineHash, blocks.get(block.engineHash));
      if (known != null && known.sequenceHash != block.sequenceHash && place.isPrimary()) {
        throw new IllegalArgumentException(
            "event.engineHash = "
                + Long.toUnsignedString(block.engineHash)
                + ": names another block already");
      }
      added.putIfAbsent(block.engineHash, block);
      parent = block;
    }
    added.forEach(blocks::putIfAbsent);
  }

  private void remove(KvEvent event) {
    Map<Long, Block> blocks = places.get(Place.of(event));
    for (int i = 0; blocks != null && i < event.length(); i++) {
      blocks.remove(event.engineHash(i));
    }
  }

  /** A clear of the worker's is for its device blocks; a clear of all is for everything. */
  private void clear(ResidencyDomain domain) {
    if (domain == ResidencyDomain.MISSING) {
      places.clear();
    } else if (domain == ResidencyDomain.WORKER) {
      places.remove(new Place(StorageTier.DEVICE, ResidencyDomain.WORKER));
    } else {
      places.keySet().removeIf(place -> place.domain() == ResidencyDomain.CACHE_OWNER);
    }
  }

  /** Names of the blocks in the primary index, one for each engine hash. */
  Map<Long, Long> primary() {
    Map<Long, Long> names = new HashMap<>();
    places.forEach(
        (place, blocks) -> {
          if (place.isPrimary()) {
            blocks.forEach((engine, block) -> names.put(engine, block.sequenceHash));
          }
        });
    return names;
  }

  /** Everything, parents before children, with ids from 0. */
  List<KvEvent> dump() {
    Dump dump = new Dump();
    places.forEach(
        (place, blocks) -> {
          if (place.isPrimary()) {
            dump.primary(blocks);
          } else {
            dump.other(place, blocks);
          }
        });
    return dump.events;
  }

  /** A dump in the making. */
  private final class Dump {
    private final List<KvEvent> events = new ArrayList<>();
    private final Set<Long> told = new HashSet<>();
    private final IdentityHashMap<Block, Long> ghosts = new IdentityHashMap<>();

    private void primary(Map<Long, Block> blocks) {
      for (Block block : blocks.values()) {
        tell(block, blocks);
      }
      if (!ghosts.isEmpty()) {
        long[] gone = ghosts.values().stream().mapToLong(Long::longValue).toArray();
        events.add(KvEvent.removed(member, events.size(), gone).build());
      }
    }

    /** Tells a block after all that it hangs on; without recursion, chains are long. */
    private void tell(Block block, Map<Long, Block> blocks) {
      List<Block> untold = new ArrayList<>();
      for (Block at = block; at != null && nameOf(at, blocks) == null; at = at.parent) {
        untold.add(at);
      }
      for (int i = untold.size() - 1; i >= 0; i--) {
        Block next = untold.get(i);
        boolean resident = isResident(next, blocks);
        long name = resident ? next.engineHash : freshName(blocks);
        if (resident) {
          told.add(name);
        } else {
          ghosts.put(next, name);
        }
        KvEvent.Builder event =
            KvEvent.stored(member, events.size(), new long[] {name}, new long[] {next.localHash});
        Block parent = next.parent;
        Long parentName = parent == null ? null : nameOf(parent, blocks);
        events.add((parentName == null ? event : event.parent(parentName)).build());
      }
    }

    /** The engine hash under which a block was told, or null. */
    private @Nullable Long nameOf(Block block, Map<Long, Block> blocks) {
      return isResident(block, blocks)
          ? (told.contains(block.engineHash) ? (Long) block.engineHash : null)
          : ghosts.get(block);
    }

    private boolean isResident(Block block, Map<Long, Block> blocks) {
      Block there = blocks.get(block.engineHash);
      return there != null && there.sequenceHash == block.sequenceHash;
    }

    private long freshName(Map<Long, Block> blocks) {
      long name = 0x6768_6F73_7400_0000L + ghosts.size();
      while (blocks.containsKey(name) || ghosts.containsValue(name)) {
        name++;
      }
      return name;
    }

    private void other(Place place, Map<Long, Block> blocks) {
      for (Block block : blocks.values()) {
        KvEvent.Builder event =
            KvEvent.stored(
                    member,
                    events.size(),
                    new long[] {block.engineHash},
                    new long[] {block.localHash})
                .tier(place.tier())
                .domain(place.domain());
        events.add((block.hasParent ? event.parent(block.parentEngineHash) : event).build());
      }
    }
  }
}
