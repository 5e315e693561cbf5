package io.kvrelay.cli.replay;

import io.kvrelay.api.KvEvent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Reads a recording of KV events: {@code .jsonl}, or {@code .bin}. */
public final class EventFile {
  private EventFile() {}

  /**
   * Reads and decodes a whole file.
   *
   * @param path a file whose name ends in {@code .jsonl} (one router event in its JSON form a line)
   *     or {@code .bin} (little-endian records)
   * @return the events in order
   * @throws EventFileException naming the file and the first line or record that is broken
   */
  public static List<KvEvent> read(Path path) {
    String name = path.toString();
    try {
      if (name.endsWith(".jsonl")) {
        return JsonEvents.read(path);
      }
      if (name.endsWith(".bin")) {
        return BinaryEvents.read(path);
      }
    } catch (NoSuchFileException e) {
      throw new EventFileException(path + ": there is no such file", e);
    } catch (IOException e) {
      throw new EventFileException(path + ": cannot be read: " + e.getMessage(), e);
    }
    String what = Files.exists(path) ? "is neither .jsonl nor .bin" : "there is no such file";
    throw new EventFileException(path + ": " + what);
  }
}
