package io.kvrelay.events.zmq;

/**
 * What device blocks are, kept to complete stores of a lower tier that name blocks and say nothing
 * of their tokens. Bounded; kept only for a source that has published a lower-tier store.
 */
final class LineageMemo {
  static final int CAPACITY = 65_536;

  /** Engine hash → local hash. */
  private final HashTable locals = new HashTable(true);

  /** Engine hash → parent's engine hash; roots are not in it. */
  private final HashTable parents = new HashTable(true);

  /** Whether the block is known now. */
  boolean remember(long engineHash, long localHash, boolean hasParent, long parent) {
    if (locals.contains(engineHash)) {
      return true;
    }
    if (locals.size() == CAPACITY) {
      return false;
    }
    locals.insert(engineHash, localHash);
    if (hasParent) {
      parents.insert(engineHash, parent);
    }
    return true;
  }

  void forget(long engineHash) {
    drop(locals, engineHash);
    drop(parents, engineHash);
  }

  private static void drop(HashTable table, long key) {
    int slot = table.find(key);
    if (slot != HashTable.NONE) {
      table.remove(slot);
    }
  }

  void clear() {
    locals.clear();
    parents.clear();
  }

  int size() {
    return locals.size();
  }

  boolean hasParent(long engineHash) {
    return parents.contains(engineHash);
  }

  long parent(long engineHash) {
    return parents.word(parents.find(engineHash));
  }

  /**
   * How many leading blocks are known and follow each other; their local hashes.
   *
   * @param hashes engine hashes
   * @param count how many
   * @param out receives the local hashes
   */
  int complete(long[] hashes, int count, long[] out) {
    for (int i = 0; i < count; i++) {
      int slot = locals.find(hashes[i]);
      if (slot == HashTable.NONE || (i > 0 && !follows(hashes[i], hashes[i - 1]))) {
        return i;
      }
      out[i] = locals.word(slot);
    }
    return count;
  }

  private boolean follows(long child, long parent) {
    int slot = parents.find(child);
    return slot != HashTable.NONE && parents.word(slot) == parent;
  }
}
