package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import org.jspecify.annotations.Nullable;

/**
 * Removals: of listed engine hashes, or of all that a member holds.
 *
 * <p>As in {@link StoreOperation}, passes over the whole event load the lines of lineage, owners
 * and filter before the last pass changes anything. What they find are hints: the last pass checks
 * every position again, since a list may name a hash twice.
 *
 * <p>Cache lines per block: one of lineage, one of owners, and one or two of the filter for a last
 * owner.
 */
final class RemoveOperation {
  private static final int CHUNK = 256;

  private final Scratch scratch;
  private int unknown;
  private @Nullable KvEventErrorKind firstError;

  RemoveOperation(Scratch scratch) {
    this.scratch = scratch;
  }

  /** Engine hashes of the latest event without a mapping. */
  int unknown() {
    return unknown;
  }

  /**
   * Applies a {@code removed} event. One bad hash does not stop the others; the first error is
   * returned. If there is no memory for the event, nothing changes.
   */
  @Nullable KvEventErrorKind apply(ExactState state, KvEvent event) {
    unknown = 0;
    firstError = null;
    int n = event.length();
    LineageMap lineage = state.lineage(event.member());
    if (lineage == null) {
      unknown = n;
      return null;
    }
    try {
      scratch.ensure(n);
      state.window.reserve(n);
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    }
    touchLineage(lineage, event);
    touchOwners(state.owners, lineage, n);
    touchFilter(state, n);
    int size = lineage.size();
    long bytes = lineage.bytes();
    for (int i = 0; i < n; i++) {
      removeOne(state, lineage, i);
    }
    trim(lineage);
    state.account(lineage, size, bytes);
    if (lineage.size() == 0) {
      state.dropMember(event.member(), lineage);
    }
    return firstError;
  }

  private void touchLineage(LineageMap lineage, KvEvent event) {
    long[] engine = event.engineHashes();
    long[] keys = scratch.keys;
    int from = event.offset();
    int n = event.length();
    long sum = 0;
    for (int i = 0; i < n; i++) {
      long key = Chunks.mix(engine[from + i]);
      keys[i] = key;
      sum += lineage.touch(key);
    }
    lineage.guess(keys, scratch.positions, n);
    scratch.touched += sum + lineage.touchEntries(scratch.positions, n);
  }

  private void touchOwners(OwnerMap owners, LineageMap lineage, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++) {
      int position = lineage.find(scratch.keys[i], scratch.positions[i]);
      scratch.positions[i] = position;
      if (position >= 0) {
        sum += nameOwner(owners, i, lineage.valueAt(position));
      }
    }
    owners.guess(scratch.ownerKeys, scratch.ownerPositions, n);
    scratch.touched += sum + owners.touchEntries(scratch.ownerPositions, n);
  }

  private long nameOwner(OwnerMap owners, int i, long hash) {
    long key = Chunks.mix(hash);
    scratch.hashes[i] = hash;
    scratch.ownerKeys[i] = key;
    return owners.touch(key);
  }

  private void touchFilter(ExactState state, int n) {
    OwnerMap owners = state.owners;
    int leaving = 0;
    for (int i = 0; i < n; i++) {
      if (scratch.positions[i] >= 0) {
        int owner = owners.find(scratch.ownerKeys[i], scratch.ownerPositions[i]);
        long mix = 0;
        if (owner >= 0 && owners.isLastResident(owner)) {
          mix = state.addressing.mix(scratch.hashes[i]);
          scratch.admissions[leaving++] = state.addressing.bucketA(mix);
        }
        scratch.ownerPositions[i] = owner;
        scratch.mixes[i] = mix;
      }
    }
    scratch.touched += state.filter.touch(scratch.admissions, leaving);
  }

  private void removeOne(ExactState state, LineageMap lineage, int i) {
    long key = scratch.keys[i];
    int position = scratch.positions[i];
    if (position >= 0 && !lineage.isAt(position, key)) {
      position = lineage.find(key);
    }
    if (position < 0) {
      unknown++;
      return;
    }
    KvEventErrorKind error = release(state, i);
    if (error == null) {
      lineage.removeAt(position);
    } else if (firstError == null) {
      firstError = error;
    }
  }

  /** Takes one owner from a block; an error leaves it as it was. */
  private @Nullable KvEventErrorKind release(ExactState state, int i) {
    OwnerMap owners = state.owners;
    long key = scratch.ownerKeys[i];
    int owner = scratch.ownerPositions[i];
    if (owner < 0 || !owners.isAt(owner, key)) {
      owner = owners.find(key);
      if (owner < 0) {
        return KvEventErrorKind.INDEXER_INVARIANT_VIOLATION;
      }
    }
    if (owners.isLastResident(owner)) {
      KvEventErrorKind error = removeFromFilter(state, i);
      if (error != null) {
        return error;
      }
    }
    owners.releaseAt(owner, key);
    return null;
  }

  private @Nullable KvEventErrorKind removeFromFilter(ExactState state, int i) {
    // 0: the block had other owners when the event began. A mix that really is 0 is only computed
    // again.
    long mix = scratch.mixes[i] != 0 ? scratch.mixes[i] : state.addressing.mix(scratch.hashes[i]);
    return state.filter.remove(mix, state.window)
        ? null
        : KvEventErrorKind.INDEXER_INVARIANT_VIOLATION;
  }

  /**
   * Removes every mapping of a member. An error keeps exact state for what is left; clearing again
   * goes on there.
   */
  @Nullable KvEventErrorKind clear(ExactState state, Member member) {
    LineageMap lineage = state.lineage(member);
    if (lineage == null) {
      return null;
    }
    try {
      scratch.ensure(CHUNK);
      state.window.reserve(lineage.size());
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    }
    int size = lineage.size();
    KvEventErrorKind error = null;
    for (int from = 0; from < lineage.positions() && error == null; from += CHUNK) {
      error = clearChunk(state, lineage, from, Math.min(from + CHUNK, lineage.positions()));
    }
    state.account(lineage, size, lineage.bytes());
    if (error != null) {
      return error;
    }
    state.dropMember(member, lineage);
    return null;
  }

  private @Nullable KvEventErrorKind clearChunk(
      ExactState state, LineageMap lineage, int from, int to) {
    OwnerMap owners = state.owners;
    int count = 0;
    long sum = 0;
    for (int position = from; position < to; position++) {
      if (lineage.isUsed(position)) {
        scratch.positions[count] = position;
        sum += nameOwner(owners, count++, lineage.valueAt(position));
      }
    }
    owners.guess(scratch.ownerKeys, scratch.ownerPositions, count);
    scratch.touched += sum + owners.touchEntries(scratch.ownerPositions, count);
    touchFilter(state, count);
    for (int i = 0; i < count; i++) {
      KvEventErrorKind error = release(state, i);
      if (error != null) {
        return error;
      }
      lineage.removeAt(scratch.positions[i]);
    }
    return null;
  }

  private static void trim(LineageMap lineage) {
    try {
      lineage.trim();
    } catch (OutOfMemoryError e) {
      // The larger table stays in use.
      return;
    }
  }
}
