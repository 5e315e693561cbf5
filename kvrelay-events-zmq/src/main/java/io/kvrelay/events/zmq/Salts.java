package io.kvrelay.events.zmq;

import io.kvrelay.engine.hash.BlockSalt;
import java.util.HashMap;
import java.util.Map;

/** The salts in use at one source, by adapter and namespace. Bounded; not thread safe. */
final class Salts {
  private static final int MAX = 4096;

  private record Key(String adapter, String namespace) {}

  private final Map<Key, BlockSalt> salts = new HashMap<>();

  BlockSalt of(String adapter, String namespace) {
    if (adapter.isEmpty() && namespace.isEmpty()) {
      return BlockSalt.NONE;
    }
    Key key = new Key(adapter, namespace);
    BlockSalt known = salts.get(key);
    if (known != null) {
      return known;
    }
    if (salts.size() == MAX) {
      salts.clear();
    }
    BlockSalt salt = BlockSalt.of(adapter, namespace);
    salts.put(key, salt);
    return salt;
  }
}
