package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.engine.ckf.CkfConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One replacement of ranks: a whole new state from the retained ranks' lineage and the
 * replacements, with a fresh filter and generator, and as its window the difference to what was
 * last published. The old state is only read.
 *
 * <p>Retained lineage tables are shared, not copied: installing reads them only, and one of the two
 * states is dropped.
 */
final class Rebuild {
  private static final int CHUNK = 256;

  private final Memory memory;
  private final Scratch scratch;
  private final CkfConfig config;
  private @Nullable ExactState target;
  private long omissions;

  Rebuild(CkfConfig config, Memory memory, Scratch scratch) {
    this.config = config;
    this.memory = memory;
    this.scratch = scratch;
  }

  /** Blocks that the new filter has no room for. */
  long omissions() {
    return omissions;
  }

  /** The new state, once {@link #build} has succeeded. */
  ExactState result() {
    ExactState result = target;
    if (result == null) {
      throw new IllegalStateException("nothing was built");
    }
    return result;
  }

  @Nullable KvEventErrorKind build(ExactState old, Map<Member, RankReplacement> replacements) {
    try {
      scratch.ensure(CHUNK);
      ExactState next = new ExactState(config, memory, old.owners.size());
      next.owners.limitCounts(old.owners.maxCount());
      boolean fits =
          installRetained(next, old, replacements) && installReplacements(next, replacements);
      if (!fits) {
        return KvEventErrorKind.OWNERSHIP_DEGREE_OVERFLOW;
      }
      compareWithPublished(old, next);
      next.window.addPhysicalTouches(old.window.physicalTouches());
      next.trimOwners();
      target = next;
      return null;
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    } finally {
      scratch.omitted.clear();
    }
  }

  private boolean installRetained(
      ExactState next, ExactState old, Map<Member, RankReplacement> replacements) {
    List<Member> retained = new ArrayList<>(old.members().keySet());
    retained.removeAll(replacements.keySet());
    retained.sort(null);
    for (Member member : retained) {
      LineageMap lineage = Objects.requireNonNull(old.members().get(member));
      if (!addOwners(next, lineage, true)) {
        return false;
      }
      next.putLineage(member, lineage);
    }
    return true;
  }

  private boolean installReplacements(ExactState next, Map<Member, RankReplacement> replacements) {
    List<Member> replaced = new ArrayList<>(replacements.keySet());
    replaced.sort(null);
    for (Member member : replaced) {
      RankReplacement replacement = Objects.requireNonNull(replacements.get(member));
      LineageMap lineage = replacement.trimmedLineage();
      if (!addOwners(next, lineage, false)) {
        return false;
      }
      admitInOrder(next, replacement);
      if (lineage.size() > 0) {
        next.putLineage(member, lineage);
      }
    }
    return true;
  }

  /**
   * Adds one member's mappings, and admits their blocks in table order if asked to. False if a
   * count overflows.
   */
  private boolean addOwners(ExactState next, LineageMap lineage, boolean admit) {
    scratch.omitted.clear();
    for (int from = 0; from < lineage.positions(); from += CHUNK) {
      int to = Math.min(from + CHUNK, lineage.positions());
      int count = nameOwners(next.owners, lineage, from, to);
      for (int i = 0; i < count; i++) {
        if (!addOwner(next.owners, i)) {
          return false;
        }
      }
      if (admit) {
        admitChunk(next, count);
      }
    }
    return true;
  }

  private int nameOwners(OwnerMap owners, LineageMap lineage, int from, int to) {
    int count = 0;
    long sum = 0;
    for (int position = from; position < to; position++) {
      if (lineage.isUsed(position)) {
        long hash = lineage.valueAt(position);
        long key = Chunks.mix(hash);
        scratch.hashes[count] = hash;
        scratch.ownerKeys[count++] = key;
        sum += owners.touch(key);
      }
    }
    scratch.touched += sum;
    return count;
  }

  private boolean addOwner(OwnerMap owners, int i) {
    int at = owners.add(scratch.ownerKeys[i]);
    scratch.ownerPositions[i] = at;
    return at >= 0;
  }

  private void admitInOrder(ExactState next, RankReplacement replacement) {
    scratch.omitted.clear();
    int index = 0;
    while (index < replacement.orderSize()) {
      int count = 0;
      for (; index < replacement.orderSize() && count < CHUNK; index++) {
        if (replacement.isCandidate(index)) {
          long hash = replacement.hashAt(index);
          scratch.hashes[count] = hash;
          scratch.ownerKeys[count] = Chunks.mix(hash);
          scratch.ownerPositions[count] = next.owners.find(scratch.ownerKeys[count]);
          count++;
        }
      }
      admitChunk(next, count);
    }
  }

  private void admitChunk(ExactState next, int count) {
    OwnerMap owners = next.owners;
    long sum = 0;
    for (int i = 0; i < count; i++) {
      int owner = owners.locate(scratch.ownerPositions[i], scratch.ownerKeys[i]);
      scratch.ownerPositions[i] = owner;
      if (!owners.isResident(owner)) {
        scratch.mixes[i] = next.addressing.mix(scratch.hashes[i]);
        sum += next.filter.word(next.addressing.bucketA(scratch.mixes[i]));
      }
    }
    scratch.touched += sum;
    for (int i = 0; i < count; i++) {
      int owner = scratch.ownerPositions[i];
      if (owners.isResident(owner)
          || (!scratch.omitted.isEmpty() && scratch.omitted.contains(scratch.ownerKeys[i]))) {
        continue;
      }
      next.window.reserve(next.filter.maxWritesPerInsert());
      if (next.filter.insert(scratch.mixes[i], next.window)) {
        owners.setResident(owner);
      } else {
        omissions++;
        scratch.omitted.add(scratch.ownerKeys[i]);
      }
    }
  }

  /**
   * Makes the window what differs from the published image: first the old window's buckets, then
   * the others in order.
   */
  private static void compareWithPublished(ExactState old, ExactState next) {
    DirtyWindow before = old.window;
    DirtyWindow window = next.window;
    window.clear();
    for (int i = 0; i < before.size(); i++) {
      if (next.filter.word(before.bucket(i)) != before.before(i)) {
        window.reserve(1);
        window.mark(before.bucket(i), before.before(i));
      }
    }
    for (int bucket = 0; bucket < next.filter.bucketCount(); bucket++) {
      long published = old.filter.word(bucket);
      if (published != next.filter.word(bucket) && !before.contains(bucket)) {
        window.reserve(1);
        window.mark(bucket, published);
      }
    }
  }
}
