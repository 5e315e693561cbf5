package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.engine.ckf.CkfFilter;
import io.kvrelay.engine.hash.SequenceHashes;
import org.jspecify.annotations.Nullable;

/**
 * One {@code stored} event: plan, then commit.
 *
 * <p>The plan names every block, adds the new mappings and their owners, and takes all of it back
 * if the event turns out to be refused or memory ends; the filter has seen nothing of it by then.
 * The commit offers to the filter what is not in it: <em>candidates</em> (new mappings) with
 * relocation, in block order; then <em>reoffers</em> (mappings that existed) without. Nothing can
 * fail there except admission.
 *
 * <p>The plan reserves the dirty window: one write a block, and a relocation for each new block if
 * the filter is loaded above its design load, else for one, since more than that is rare there. If
 * a relocation needs more after all and there is no memory for it, its block is omitted and counted
 * like any other that finds no room.
 *
 * <p>Each pass goes over the whole event and loads the lines that the next one needs, so that the
 * cache misses of a hundred blocks overlap instead of following each other. A key is looked up
 * once.
 *
 * <p>Cache lines per block, besides tags: for a new block one of lineage and one of owners, which
 * are only written; one of the filter, or two.
 */
final class StoreOperation {
  // What `mappings` says of a block's mapping: it was there before; the event repeats one that it
  // adds; it is not there; it is added, its owner is not; its owner is counted; it is its block's
  // first owner.
  private static final int KNOWN = 0;
  private static final int REPEATED = 1;
  private static final int ABSENT = 2;
  private static final int NEW = 3;
  private static final int OWNED = 4;
  private static final int FIRST = 5;

  // Of four slots a bucket, the load of 0.8 for which a filter is laid out: 16 slots in 5 buckets.
  private static final long DESIGN_LOAD_NUMERATOR = 16;
  private static final long DESIGN_LOAD_DENOMINATOR = 5;

  private final Scratch scratch;

  // What the plan found: blocks without a mapping, blocks without an owner.
  private int fresh;
  private int missing;

  // Blocks whose mapping or owner is not simple to add.
  private int deferred;

  // Admissions: candidates, and after them the reoffers.
  private int candidates;
  private int reoffers;

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
    LineageMap lineage;
    try {
      lineage = state.openLineage(event.member());
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    }
    long bytes = lineage.bytes();
    try {
      return apply(state, lineage, event);
    } finally {
      state.account(lineage, 0, bytes);
      if (lineage.size() == 0) {
        state.dropMember(event.member(), lineage);
      }
    }
  }

  private @Nullable KvEventErrorKind apply(ExactState state, LineageMap lineage, KvEvent event) {
    int n = event.length();
    KvEventErrorKind refused;
    try {
      scratch.ensure(n);
      refused = plan(state, lineage, event);
    } catch (OutOfMemoryError e) {
      return KvEventErrorKind.ALLOCATION_FAILED;
    }
    return refused != null ? refused : commit(state, n);
  }

  /** Ends with an error and nothing changed, or with everything but the filter changed. */
  private @Nullable KvEventErrorKind plan(ExactState state, LineageMap lineage, KvEvent event) {
    int n = event.length();
    KvEventErrorKind refused = name(state.owners, lineage, event);
    if (refused != null) {
      return refused;
    }
    touchEntries(state.owners, lineage, n);
    if (!findMappings(lineage, n)) {
      return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    }
    if (!findOwners(state.owners, n)) {
      return KvEventErrorKind.INDEXER_INVARIANT_VIOLATION;
    }
    state.window.reserve(writes(state, n));
    return fresh == 0 ? null : add(state, lineage, n);
  }

  /** What to reserve for an event of n blocks; see the class. */
  private long writes(ExactState state, int n) {
    long relocation = state.filter.maxWritesPerInsert();
    long designLoad = state.filter.bucketCount() * DESIGN_LOAD_NUMERATOR / DESIGN_LOAD_DENOMINATOR;
    boolean loaded = state.owners.residents() + (long) fresh > designLoad;
    return n + (loaded ? fresh * relocation : relocation);
  }

  private @Nullable KvEventErrorKind add(ExactState state, LineageMap lineage, int n) {
    KvEventErrorKind refused = KvEventErrorKind.ALLOCATION_FAILED;
    try {
      lineage.reserve(fresh);
      if (state.owners.reserve(missing)) {
        state.owners.guess(scratch.ownerKeys, scratch.ownerPositions, n);
        findOwners(state.owners, n);
      }
      refused =
          !addMappings(lineage, n)
              ? KvEventErrorKind.INVALID_BLOCK_SEQUENCE
              : !addOwners(state.owners, n) ? KvEventErrorKind.OWNERSHIP_DEGREE_OVERFLOW : null;
    } finally {
      if (refused != null) {
        takeBack(state.owners, lineage, n);
      }
    }
    return refused;
  }

  /** Names every block by its sequence hash, and loads the tags of both its keys. */
  private @Nullable KvEventErrorKind name(OwnerMap owners, LineageMap lineage, KvEvent event) {
    long parent = 0;
    if (event.hasParent()) {
      int position = lineage.find(Chunks.mix(event.parentHash()));
      if (position < 0) {
        return KvEventErrorKind.PARENT_BLOCK_NOT_FOUND;
      }
      parent = lineage.valueAt(position);
    } else if (event.startPosition() > 0) {
      return KvEventErrorKind.INVALID_BLOCK_SEQUENCE;
    }
    long[] locals = event.localHashes();
    int from = event.offset();
    int n = event.length();
    long[] hashes = scratch.hashes;
    if (event.hasParent()) {
      SequenceHashes.chainAfter(parent, locals, from, from + n, hashes, 0);
    } else {
      SequenceHashes.chain(locals, from, from + n, hashes, 0);
    }
    long[] engine = event.engineHashes();
    long[] keys = scratch.keys;
    long[] ownerKeys = scratch.ownerKeys;
    long sum = 0;
    for (int i = 0; i < n; i++) {
      long key = Chunks.mix(engine[from + i]);
      long ownerKey = Chunks.mix(hashes[i]);
      keys[i] = key;
      ownerKeys[i] = ownerKey;
      sum += lineage.touch(key) + owners.touch(ownerKey);
    }
    scratch.touched += sum;
    return null;
  }

  /** Loads the entries where mappings and owners are, if they are. */
  private void touchEntries(OwnerMap owners, LineageMap lineage, int n) {
    lineage.guess(scratch.keys, scratch.positions, n);
    owners.guess(scratch.ownerKeys, scratch.ownerPositions, n);
    scratch.touched +=
        lineage.touchEntries(scratch.positions, n) + owners.touchEntries(scratch.ownerPositions, n);
  }

  /** False if an engine hash is mapped to another block. */
  private boolean findMappings(LineageMap lineage, int n) {
    long[] keys = scratch.keys;
    long[] hashes = scratch.hashes;
    int[] mappings = scratch.mappings;
    int[] positions = scratch.positions;
    int absent = 0;
    for (int i = 0; i < n; i++) {
      int position = lineage.find(keys[i], positions[i]);
      if (position < 0) {
        mappings[i] = ABSENT;
        absent++;
      } else if (lineage.valueAt(position) == hashes[i]) {
        mappings[i] = KNOWN;
      } else {
        return false;
      }
    }
    fresh = absent;
    return true;
  }

  /** False if an engine hash is mapped to another block by this event. */
  private boolean addMappings(LineageMap lineage, int n) {
    claimMappings(lineage, n);
    scratch.touched += lineage.touchHomes(scratch.keys, scratch.deferred, deferred);
    for (int k = 0; k < deferred; k++) {
      int i = scratch.deferred[k];
      int result = lineage.put(scratch.keys[i], scratch.hashes[i]);
      if (result == LineageMap.CONFLICT) {
        return false;
      }
      scratch.mappings[i] = result == LineageMap.ADDED ? NEW : REPEATED;
    }
    return true;
  }

  /**
   * Adds the simple ones, first slots, then what is in them: stores that wait for their line hold
   * up only what comes after them, and here that is other such stores.
   */
  private void claimMappings(LineageMap lineage, int n) {
    long[] keys = scratch.keys;
    int[] mappings = scratch.mappings;
    int[] positions = scratch.positions;
    int later = 0;
    for (int i = 0; i < n; i++) {
      if (mappings[i] == ABSENT) {
        int position = lineage.claimSimple(keys[i]);
        positions[i] = position;
        if (position < 0) {
          scratch.deferred[later++] = i;
        } else {
          mappings[i] = NEW;
        }
      }
    }
    for (int i = 0; i < n; i++) {
      if (mappings[i] == NEW) {
        lineage.write(positions[i], keys[i], scratch.hashes[i]);
      }
    }
    deferred = later;
  }

  /** Finds the owners that are there; false if a mapping has none. */
  private boolean findOwners(OwnerMap owners, int n) {
    long[] ownerKeys = scratch.ownerKeys;
    int[] ownerPositions = scratch.ownerPositions;
    int[] mappings = scratch.mappings;
    boolean complete = true;
    int absent = 0;
    for (int i = 0; i < n; i++) {
      int owner = owners.find(ownerKeys[i], ownerPositions[i]);
      ownerPositions[i] = owner;
      if (owner < 0) {
        absent++;
        complete &= mappings[i] != KNOWN;
      }
    }
    missing = absent;
    return complete;
  }

  /** Counts the owners of new mappings; false if a count is at its maximum. */
  private boolean addOwners(OwnerMap owners, int n) {
    countOwners(owners, n);
    for (int k = 0; k < deferred; k++) {
      int i = scratch.deferred[k];
      int owner = owners.add(scratch.ownerKeys[i]);
      if (owner < 0) {
        return false;
      }
      scratch.ownerPositions[i] = owner;
      scratch.mappings[i] = OWNED;
    }
    return true;
  }

  /** The simple ones, as in {@link #claimMappings}. */
  private void countOwners(OwnerMap owners, int n) {
    long[] ownerKeys = scratch.ownerKeys;
    int[] mappings = scratch.mappings;
    int[] ownerPositions = scratch.ownerPositions;
    int later = 0;
    for (int i = 0; i < n; i++) {
      if (mappings[i] == NEW) {
        int owner = ownerPositions[i];
        if (owner >= 0 && owners.incrementSimple(owner)) {
          mappings[i] = OWNED;
        } else if (owner < 0 && (owner = owners.claimSimple(ownerKeys[i])) >= 0) {
          ownerPositions[i] = owner;
          mappings[i] = FIRST;
        } else {
          scratch.deferred[later++] = i;
        }
      }
    }
    for (int i = 0; i < n; i++) {
      if (mappings[i] == FIRST) {
        owners.write(ownerPositions[i], ownerKeys[i]);
      }
    }
    deferred = later;
  }

  /** Collects what the filter does not hold, in block order. */
  private void collect(ExactState state, int n) {
    OwnerMap owners = state.owners;
    int[] mappings = scratch.mappings;
    candidates = 0;
    reoffers = 0;
    for (int i = 0; i < n; i++) {
      int mapping = mappings[i];
      if (mapping != REPEATED && (mapping == FIRST || !owners.isResident(locateOwner(owners, i)))) {
        long mix = state.addressing.mix(scratch.hashes[i]);
        scratch.mixes[i] = mix;
        scratch.positions[candidates + reoffers] = state.addressing.bucketA(mix);
        if (mapping == KNOWN) {
          scratch.reoffers[reoffers++] = i;
        } else {
          scratch.admissions[candidates++] = i;
        }
      }
    }
    scratch.touched += state.filter.touch(scratch.positions, candidates + reoffers);
  }

  private int locateOwner(OwnerMap owners, int i) {
    return owners.locate(scratch.ownerPositions[i], scratch.ownerKeys[i]);
  }

  private void takeBack(OwnerMap owners, LineageMap lineage, int n) {
    for (int i = 0; i < n; i++) {
      int mapping = scratch.mappings[i];
      if (mapping >= OWNED) {
        long key = scratch.ownerKeys[i];
        owners.releaseAt(owners.find(key), key);
      }
      if (mapping >= NEW) {
        lineage.removeAt(lineage.find(scratch.keys[i]));
      }
    }
  }

  private @Nullable KvEventErrorKind commit(ExactState state, int n) {
    collect(state, n);
    admitCandidates(state);
    if (reoffers > 0) {
      admitReoffers(state);
    }
    scratch.omitted.clear();
    return omissions > 0 ? KvEventErrorKind.CAPACITY_EXHAUSTED : null;
  }

  private void admitCandidates(ExactState state) {
    OwnerMap owners = state.owners;
    for (int k = 0; k < candidates; k++) {
      int i = scratch.admissions[k];
      int owner = locateOwner(owners, i);
      // Two engine hashes of one event may name one block.
      if (owners.isResident(owner) || isOmitted(i)) {
        continue;
      }
      if (admit(state, scratch.mixes[i])) {
        owners.setResident(owner);
      } else {
        omissions++;
        scratch.omitted.add(scratch.ownerKeys[i]);
      }
    }
  }

  private static boolean admit(ExactState state, long mix) {
    CkfFilter filter = state.filter;
    DirtyWindow window = state.window;
    return window.tryReserve(filter.maxWritesPerInsert())
        ? filter.insert(mix, window)
        : admitSimple(state, mix);
  }

  /** Needs one write, for which there is room unless relocations of this event took it. */
  private static boolean admitSimple(ExactState state, long mix) {
    return state.window.tryReserve(1) && state.filter.insertWithoutRelocation(mix, state.window);
  }

  private void admitReoffers(ExactState state) {
    OwnerMap owners = state.owners;
    for (int k = 0; k < reoffers; k++) {
      int i = scratch.reoffers[k];
      int owner = locateOwner(owners, i);
      if (owners.isResident(owner) || isOmitted(i)) {
        continue;
      }
      if (admitSimple(state, scratch.mixes[i])) {
        owners.setResident(owner);
      } else {
        scratch.omitted.add(scratch.ownerKeys[i]);
      }
    }
  }

  private boolean isOmitted(int index) {
    return !scratch.omitted.isEmpty() && scratch.omitted.contains(scratch.ownerKeys[index]);
  }
}
