package io.kvrelay.engine.view;

import org.jspecify.annotations.Nullable;

/**
 * Snapshots of different lanes that are stored together. Alone, each word of a snapshot moves a
 * whole cache line from memory and back; together, the lanes share what their line costs.
 *
 * <p>Not thread safe; adding and storing allocate nothing.
 */
final class SnapshotBatch {
  private final TransposedTable table;
  private final int[] lanes;
  private final long[] @Nullable [] columns;
  private int size;

  SnapshotBatch(TransposedTable table) {
    this.table = table;
    this.lanes = new int[table.width()];
    this.columns = new long[table.width()][];
  }

  /**
   * Adds a lane's snapshot; the lane has none here yet.
   *
   * @param words one word for each bucket; read until {@link #store}
   */
  void add(int lane, long[] words) {
    lanes[size] = lane;
    columns[size] = words;
    size++;
  }

  /** Stores what was added. */
  void store() {
    table.storeColumns(lanes, columns, size);
  }

  /** Lets go of what was added. */
  void clear() {
    for (int i = 0; i < size; i++) {
      columns[i] = null;
    }
    size = 0;
  }
}
