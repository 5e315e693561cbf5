package io.kvrelay.dynamo;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

/** Cuts a stream of bytes into documents, one a line, none longer than a limit. Not thread safe. */
final class Documents {
  private final int maxBytes;
  private final ByteArrayOutputStream pending = new ByteArrayOutputStream();

  Documents(int maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** The documents that end within these bytes. */
  List<byte[]> take(byte[] bytes) throws MalformedException {
    List<byte[]> ended = new ArrayList<>();
    int from = 0;
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == '\n') {
        append(bytes, from, i);
        if (pending.size() > 0) {
          ended.add(end());
        }
        from = i + 1;
      }
    }
    append(bytes, from, bytes.length);
    return ended;
  }

  /** What came after the last line's end. */
  byte[] end() {
    byte[] document = pending.toByteArray();
    pending.reset();
    return document;
  }

  private void append(byte[] bytes, int from, int to) throws MalformedException {
    if (pending.size() + (to - from) > maxBytes) {
      throw new MalformedException("an answer of more than " + maxBytes + " bytes");
    }
    pending.write(bytes, from, to - from);
  }
}
