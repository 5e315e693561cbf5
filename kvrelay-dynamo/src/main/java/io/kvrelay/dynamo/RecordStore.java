package io.kvrelay.dynamo;

import java.util.Map;

/** Where a deployment keeps its records. Thread safe. */
interface RecordStore extends AutoCloseable {
  /** Takes what a store holds. Calls come one at a time, from any thread. */
  interface Listener {
    /** The complete content, for the first time, after a change, or after a failure. */
    void onRecords(Map<RecordKey, byte[]> records);

    /** The store cannot be read at present; it is tried again. */
    void onLost(String reason);
  }

  /** Begins to watch. Called once; does not block. */
  void start(Listener listener);

  /** Gives up watching; a call that is under way may still end. Idempotent. */
  @Override
  void close();
}
