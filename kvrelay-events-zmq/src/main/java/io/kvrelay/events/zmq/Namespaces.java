package io.kvrelay.events.zmq;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongPredicate;

/**
 * Which blocks were stored under a cache namespace of their own: only a sequence's first block says
 * so, and those that follow inherit it through their parent. Not thread safe.
 */
final class Namespaces {
  private static final int MAX_NAMES = 65_536;

  /** Engine hash → index of its namespace. */
  private final HashTable blocks = new HashTable(true);

  private final List<String> names = new ArrayList<>();
  private final Map<String, Integer> indexes = new HashMap<>();

  /** Whether the namespace can be remembered. */
  boolean admits(String namespace) {
    return indexes.containsKey(namespace) || names.size() < MAX_NAMES;
  }

  void remember(long engineHash, String namespace) {
    if (blocks.contains(engineHash)) {
      return;
    }
    Integer index = indexes.get(namespace);
    if (index == null) {
      index = names.size();
      names.add(namespace);
      indexes.put(namespace, index);
    }
    blocks.insert(engineHash, index);
  }

  /** The namespace of a block; empty if it has none of its own. */
  String of(long engineHash) {
    int slot = blocks.size() == 0 ? HashTable.NONE : blocks.find(engineHash);
    return slot == HashTable.NONE ? "" : names.get((int) blocks.word(slot));
  }

  void forget(long engineHash) {
    int slot = blocks.size() == 0 ? HashTable.NONE : blocks.find(engineHash);
    if (slot != HashTable.NONE) {
      blocks.remove(slot);
    }
    if (blocks.size() == 0 && !names.isEmpty()) {
      names.clear();
      indexes.clear();
    }
  }

  boolean isEmpty() {
    return blocks.size() == 0;
  }

  /** Forgets all blocks but some. */
  void keepOnly(LongPredicate kept) {
    List<Long> gone = new ArrayList<>();
    for (int slot = 0; slot < blocks.slots(); slot++) {
      if (blocks.isUsed(slot) && !kept.test(blocks.key(slot))) {
        gone.add(blocks.key(slot));
      }
    }
    gone.forEach(this::forget);
  }
}
