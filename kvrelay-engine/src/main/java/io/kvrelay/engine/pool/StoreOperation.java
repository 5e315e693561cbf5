package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.engine.ckf.CkfFilter;
import io.kvrelay.engine.hash.SequenceHashes;
import org.jspecify.annotations.Nullable;

/**
 * One {@code stored} event: plan, then commit.
 *
 * <p>The plan chains the hashes of the whole event and loads every line it will need before it
 * looks at any, so that the cache misses of a hundred blocks overlap instead of following each
 * other; then it looks every block up, reserves all memory, and adds the new mappings, which a
 * conflict inside the event takes back. Nothing can fail after that except admission to the filter.
 *
 * <p>The commit adds owners, then offers to the filter what is not in it: <em>candidates</em> (new
 * mappings) with relocation, in block order; then <em>reoffers</em> (mappings that existed)
 * without.
 *
 * <p>Cache lines per block: one of lineage, one of owners, one or two of the filter.
 */
final class StoreOperation {
  // In `positions`, a mapping that existed before has its position, and one that this event adds
  // the complement of its position (NONE before it is inserted). A repetition, inside the event, of
  // one that it adds has this.
  private static final int REPEATED = Integer.MIN_VALUE;

  private final Scratch scratch;

  // Blocks for which this event found no room. Such a block is not tried a second time in one
  // event.
  private final HashSet64 omitted = new HashSet64();

  // What the plan found: blocks without a mapping, blocks whose next owner needs the second owner
  // table, and whether a mapping has no owner.
  private int fresh;
  private int becomingLarge;
  private boolean ownerMissing;

  private int omissions;

  StoreOperation(Scratch scratch) {
    this.scratch = scratch;
  }

  /** Blocks of the latest event that the filter had no room for. */
  int omissions() {
    return omissions;
  }

  /**
   * Applies the event. Null is success; after CAPACITY_EXHAUSTED everything but the omissions is
   * done.
   */
  @Nullable KvEventErrorKind apply(ExactState state, KvEvent event) {
    omissions = 0;
    if (event.length() == 0) {
      return null;
    }
    LineageMap known = state.lineage(event.member());
    if (known == null) {
      return applyToNewMember(state, event);
    }
    int size = known.size();
    long bytes = known.bytes();
    KvEventErrorKind error = apply(state, known, event);
    state.account(known, size, bytes);
    return error;
  }

  private @Nullable KvEventErrorKind applyToNewMember(ExactState state, KvEvent event) {
    if (event.hasParent()) {
      return KvEventErrorKind.PARENT_BLOCK_NOT_FOUND;
    }
    try {
      return apply(state, new LineageMap(state.memory), event);
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    }
  }

  private @Nullable KvEventErrorKind apply(ExactState state, LineageMap lineage, KvEvent event) {
    try {
      scratch.ensure(event.length());
      KvEventErrorKind refused = plan(state, lineage, event);
      return refused != null ? refused : commit(state, lineage, event);
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    }
  }

  /** Ends with the new mappings in the lineage, or with an error and nothing changed. */
  private @Nullable KvEventErrorKind plan(ExactState state, LineageMap lineage, KvEvent event) {
    int n = event.length();
    touchLineage(lineage, event);
    KvEventErrorKind refused = chain(lineage, event);
    if (refused == null) {
      touchOwners(state.owners, n);
      refused = findMappings(lineage, n);
    }
    if (refused != null) {
      return refused;
    }
    reserve(state, lineage, n);
    if (ownerMissing) {
      return KvEventErrorKind.INDEXER_INVARIANT_VIOLATION;
    }
    return fresh == 0 ? null : addMappings(state, lineage, n);
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
    scratch.touched += sum;
  }

  /** Names every block by its sequence hash. */
  private @Nullable KvEventErrorKind chain(LineageMap lineage, KvEvent event) {
    long[] locals = event.localHashes();
    int from = event.offset();
    int to = from + event.length();
    if (event.hasParent()) {
      int parent = lineage.find(Chunks.mix(event.parentHash()));
      if (parent < 0) {
        return KvEventErrorKind.PARENT_BLOCK_NOT_FOUND;
      }
      SequenceHashes.chainAfter(lineage.valueAt(parent), locals, from, to, scratch.hashes, 0);
    } else if (event.startPosition() > 0) {
      return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    } else {
      SequenceHashes.chain(locals, from, to, scratch.hashes, 0);
    }
    return null;
  }

  private void touchOwners(OwnerMap owners, int n) {
    long[] hashes = scratch.hashes;
    long[] ownerKeys = scratch.ownerKeys;
    long sum = 0;
    for (int i = 0; i < n; i++) {
      long key = Chunks.mix(hashes[i]);
      ownerKeys[i] = key;
      sum += owners.touch(key);
    }
    for (int i = 0; i < n; i++) {
      sum += owners.touchNext(ownerKeys[i]);
    }
    scratch.touched += sum;
  }

  private @Nullable KvEventErrorKind findMappings(LineageMap lineage, int n) {
    long[] keys = scratch.keys;
    long[] hashes = scratch.hashes;
    int[] positions = scratch.positions;
    int unmapped = 0;
    for (int i = 0; i < n; i++) {
      int position = lineage.find(keys[i]);
      positions[i] = position;
      if (position < 0) {
        unmapped++;
      } else if (lineage.valueAt(position) != hashes[i]) {
        return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
      }
    }
    fresh = unmapped;
    return null;
  }

  /**
   * Finds every owner and reserves all memory. Throws {@link OutOfMemoryError} with nothing
   * changed.
   */
  private void reserve(ExactState state, LineageMap lineage, int n) {
    int missing = findOwners(state.owners, n);
    if (lineage.reserve(fresh)) {
      findMappings(lineage, n);
    }
    if (state.owners.reserve(missing, becomingLarge)) {
      findOwners(state.owners, n);
    }
    // One write a block is what a filter below its load needs. Relocations reserve for themselves.
    state.window.reserve(n + (long) state.filter.maxWritesPerInsert());
  }

  private int findOwners(OwnerMap owners, int n) {
    long[] ownerKeys = scratch.ownerKeys;
    int[] positions = scratch.positions;
    int[] ownerPositions = scratch.ownerPositions;
    int large = 0;
    int missing = 0;
    boolean broken = false;
    for (int i = 0; i < n; i++) {
      int position = owners.find(ownerKeys[i]);
      ownerPositions[i] = position;
      if (position >= 0) {
        large += owners.isNearlyLarge(position) ? 1 : 0;
      } else if (positions[i] < 0) {
        missing++;
      } else {
        broken = true;
      }
    }
    becomingLarge = large;
    ownerMissing = broken;
    return missing;
  }

  private @Nullable KvEventErrorKind addMappings(ExactState state, LineageMap lineage, int n) {
    int inserted = insertMappings(lineage, n);
    if (inserted < n) {
      undoMappings(lineage, inserted);
      return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    }
    if (becomingLarge > 0 && countOverflows(state.owners, n)) {
      undoMappings(lineage, n);
      return KvEventErrorKind.OWNERSHIP_DEGREE_OVERFLOW;
    }
    return null;
  }

  /**
   * Number of blocks dealt with: all, or the index of the one whose engine hash this event maps to
   * another block already.
   */
  private int insertMappings(LineageMap lineage, int n) {
    long[] keys = scratch.keys;
    long[] hashes = scratch.hashes;
    int[] positions = scratch.positions;
    for (int i = 0; i < n; i++) {
      if (positions[i] < 0) {
        int position = lineage.insert(keys[i], hashes[i]);
        if (position >= 0) {
          positions[i] = ~position;
        } else if (lineage.valueAt(~position) == hashes[i]) {
          positions[i] = REPEATED;
        } else {
          return i;
        }
      }
    }
    return n;
  }

  private void undoMappings(LineageMap lineage, int end) {
    for (int i = 0; i < end; i++) {
      if (isNew(i)) {
        lineage.removeAt(~scratch.positions[i]);
      }
    }
  }

  private boolean isNew(int index) {
    int position = scratch.positions[index];
    return position < 0 && position != REPEATED;
  }

  private boolean countOverflows(OwnerMap owners, int n) {
    for (int i = 0; i < n; i++) {
      int owner = scratch.ownerPositions[i];
      if (isNew(i) && owner >= 0 && owners.isLarge(owner)) {
        long count = owners.countAt(owner, scratch.ownerKeys[i]);
        if (count > OwnerMap.MAX_COUNT - n && count + repetitions(i, n) > OwnerMap.MAX_COUNT) {
          return true;
        }
      }
    }
    return false;
  }

  /** New mappings of this event onto one block. */
  private int repetitions(int index, int n) {
    int repetitions = 0;
    for (int i = 0; i < n; i++) {
      repetitions += isNew(i) && scratch.ownerKeys[i] == scratch.ownerKeys[index] ? 1 : 0;
    }
    return repetitions;
  }

  private @Nullable KvEventErrorKind commit(ExactState state, LineageMap lineage, KvEvent event) {
    int n = event.length();
    omitted.clear();
    if (fresh > 0) {
      if (state.lineage(event.member()) == null) {
        state.putLineage(event.member(), lineage);
      }
      addOwners(state.owners, n);
      admitCandidates(state, n);
    }
    if (fresh < n) {
      admitReoffers(state, n);
    }
    return omissions > 0 ? KvEventErrorKind.CAPACITY_EXHAUSTED : null;
  }

  private void addOwners(OwnerMap owners, int n) {
    long[] ownerKeys = scratch.ownerKeys;
    int[] ownerPositions = scratch.ownerPositions;
    for (int i = 0; i < n; i++) {
      if (isNew(i)) {
        int at = ownerPositions[i];
        if (at >= 0) {
          owners.incrementAt(at, ownerKeys[i]);
        } else {
          at = owners.addMissing(ownerKeys[i]);
        }
        ownerPositions[i] = at;
      }
    }
  }

  /**
   * Collects what is to be admitted, and hashes it for the filter: blocks that are there already
   * are never hashed.
   */
  private int collect(ExactState state, int n, boolean candidates) {
    int[] admissions = scratch.admissions;
    int count = 0;
    long sum = 0;
    for (int i = 0; i < n; i++) {
      if ((candidates ? isNew(i) : scratch.positions[i] >= 0)
          && !state.owners.isResident(scratch.ownerPositions[i])) {
        long mix = state.addressing.mix(scratch.hashes[i]);
        admissions[count] = i;
        scratch.mixes[count++] = mix;
        sum += state.filter.word(state.addressing.bucketA(mix));
      }
    }
    scratch.touched += sum;
    return count;
  }

  private void admitCandidates(ExactState state, int n) {
    CkfFilter filter = state.filter;
    OwnerMap owners = state.owners;
    int count = collect(state, n, true);
    for (int k = 0; k < count; k++) {
      int i = scratch.admissions[k];
      int owner = scratch.ownerPositions[i];
      // Two engine hashes of one event may name one block.
      if (owners.isResident(owner) || isOmitted(i)) {
        continue;
      }
      state.window.reserve(filter.maxWritesPerInsert());
      if (filter.insert(scratch.mixes[k], state.window)) {
        owners.setResident(owner);
      } else {
        omissions++;
        omitted.add(scratch.ownerKeys[i]);
      }
    }
  }

  private void admitReoffers(ExactState state, int n) {
    int count = collect(state, n, false);
    for (int k = 0; k < count; k++) {
      int i = scratch.admissions[k];
      int owner = scratch.ownerPositions[i];
      if (state.owners.isResident(owner) || isOmitted(i)) {
        continue;
      }
      state.window.reserve(1);
      if (state.filter.insertWithoutRelocation(scratch.mixes[k], state.window)) {
        state.owners.setResident(owner);
      } else {
        omitted.add(scratch.ownerKeys[i]);
      }
    }
  }

  private boolean isOmitted(int index) {
    return !omitted.isEmpty() && omitted.contains(scratch.ownerKeys[index]);
  }
}
