package io.kvrelay.cli.replay;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Little-endian records: kind u8 (1 stored, 2 removed), worker u64, rank u32, event id u64,
 * has-parent u8, parent u64, n u32, then n × (engine hash u64, local hash u64) of a store or n ×
 * engine hash u64 of a removal.
 */
final class BinaryEvents {
  private static final int HEADER_BYTES = 34;
  private static final int STORED = 1;
  private static final int REMOVED = 2;

  private BinaryEvents() {}

  static List<KvEvent> read(Path path) throws IOException {
    List<KvEvent> events = new ArrayList<>();
    try (InputStream file = Files.newInputStream(path);
        DataInputStream in = new DataInputStream(new BufferedInputStream(file, 1 << 16))) {
      for (long left = Files.size(path); left > 0; ) {
        String record = path + ": record " + (events.size() + 1) + ": ";
        ByteBuffer header = next(in, HEADER_BYTES, left, record);
        left -= HEADER_BYTES;
        int kind = header.get(0);
        if (kind != STORED && kind != REMOVED) {
          throw new EventFileException(record + "kind = " + (kind & 0xFF) + ", must be 1 or 2");
        }
        long bytes = (header.getInt(30) & 0xFFFF_FFFFL) * (kind == STORED ? 16 : 8);
        ByteBuffer body = next(in, bytes, left, record);
        left -= bytes;
        events.add(event(header, body, record));
      }
    }
    return events;
  }

  private static ByteBuffer next(DataInputStream in, long bytes, long left, String record)
      throws IOException {
    if (bytes > left || bytes > Integer.MAX_VALUE - 8) {
      throw new EventFileException(
          record + "needs " + bytes + " bytes, but the file has " + left + " more");
    }
    byte[] buffer = new byte[(int) bytes];
    try {
      in.readFully(buffer);
    } catch (EOFException e) {
      throw new EventFileException(record + "the file became shorter while it was read", e);
    }
    return ByteBuffer.wrap(buffer).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static KvEvent event(ByteBuffer header, ByteBuffer body, String record) {
    Member member = new Member(header.getLong(1), header.getInt(9));
    long eventId = header.getLong(13);
    int hasParent = header.get(21);
    if (hasParent != 0 && hasParent != 1) {
      throw new EventFileException(
          record + "has-parent = " + (hasParent & 0xFF) + ", must be 0 or 1");
    }
    int n = header.getInt(30);
    long[] engineHashes = new long[n];
    if (header.get(0) == REMOVED) {
      body.asLongBuffer().get(engineHashes);
      return KvEvent.removed(member, eventId, engineHashes).build();
    }
    long[] localHashes = new long[n];
    for (int i = 0; i < n; i++) {
      engineHashes[i] = body.getLong();
      localHashes[i] = body.getLong();
    }
    KvEvent.Builder store = KvEvent.stored(member, eventId, engineHashes, localHashes);
    return hasParent == 1 ? store.parent(header.getLong(22)).build() : store.build();
  }
}
