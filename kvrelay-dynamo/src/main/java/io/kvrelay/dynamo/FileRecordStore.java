package io.kvrelay.dynamo;

import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialTask;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The file store, looked at when names appear or go, and twice a second anyway. Reads only: no
 * lock, no touch.
 *
 * <p>Every process that holds records touches them each few seconds. A file counts while it was
 * touched within {@link #LIFE}. At the first look its time of modification says when that was; from
 * then on what counts is that the time changes, measured by this process's own clock, so a clock
 * that differs from the folder's does not make a living worker disappear.
 */
final class FileRecordStore implements RecordStore {
  static final Duration LIFE = Duration.ofSeconds(15);
  static final Duration INTERVAL = Duration.ofMillis(500);
  private static final Duration GATHER = Duration.ofMillis(10);
  private static final int MAX_RECORD_BYTES = 8 << 20;
  private static final String HALF_MADE = ".tmp_";
  private static final System.Logger LOG = System.getLogger(FileRecordStore.class.getName());

  /** What one file was when it was looked at last. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Seen(
      byte[] content, FileTime touched, long size, @Nullable Object identity, long aliveAtNanos) {
    private boolean isOf(BasicFileAttributes file) {
      return touched.equals(file.lastModifiedTime())
          && size == file.size()
          && Objects.equals(identity, file.fileKey());
    }
  }

  private final RelayRuntime runtime;
  private final Path root;
  private final boolean hinting;
  private @Nullable Listener listener;
  private final SerialTask looking;
  private final AtomicBoolean hinted = new AtomicBoolean();
  private volatile @Nullable FolderWatch hints;
  private volatile boolean closed;
  // Both belong to the task.
  private Map<RecordKey, Seen> seen = Map.of();
  private @Nullable Map<RecordKey, byte[]> reported;

  /**
   * Creates a store that is not watched yet.
   *
   * @param runtime clock and timer
   * @param root the folder that holds {@code v1}
   * @param io where files are read; it may reject some of that
   * @param hinting whether to look as soon as names appear or go
   */
  FileRecordStore(RelayRuntime runtime, Path root, Executor io, boolean hinting) {
    this.runtime = runtime;
    this.root = root;
    this.looking = new SerialTask(io, this::look);
    this.hinting = hinting;
  }

  @Override
  public void start(Listener target) {
    listener = target;
    hints = hinting ? new FolderWatch(root, this::hint) : null;
    comeBack();
  }

  @Override
  public void close() {
    closed = true;
    FolderWatch open = hints;
    if (open != null) {
      open.close();
    }
  }

  /** Records come in bursts: a few milliseconds later there is one look for all of them. */
  private void hint() {
    if (hinted.compareAndSet(false, true)) {
      runtime.schedule(GATHER.toNanos(), this::lookAtHint);
    }
  }

  private void lookAtHint() {
    hinted.set(false);
    looking.wake();
  }

  /** A look that no thread could be had for is made up for by the next. */
  private void comeBack() {
    if (!closed) {
      runtime.schedule(INTERVAL.toNanos(), this::comeBack);
      looking.wake();
    }
  }

  private void look() {
    Listener target = listener;
    if (closed || target == null) {
      return;
    }
    try {
      Map<RecordKey, byte[]> now = scan();
      if (!now.equals(reported)) { // arrays are kept while a file stays as it is
        target.onRecords(now);
        reported = now;
      }
    } catch (IOException | DirectoryIteratorException e) {
      LOG.log(Level.DEBUG, "the store cannot be listed", e);
      reported = null;
      target.onLost(root + ": " + e);
    }
  }

  private Map<RecordKey, byte[]> scan() throws IOException {
    Map<RecordKey, Seen> next = new HashMap<>();
    for (RecordKey.Bucket bucket : RecordKey.Bucket.values()) {
      scan(bucket, root.resolve("v1").resolve(bucket.folder()), next);
    }
    seen = next;
    Map<RecordKey, byte[]> alive = new HashMap<>();
    long now = runtime.nanoTime();
    next.forEach(
        (key, file) -> {
          if (now - file.aliveAtNanos() <= LIFE.toNanos()) {
            alive.put(key, file.content());
          }
        });
    return alive;
  }

  private void scan(RecordKey.Bucket bucket, Path folder, Map<RecordKey, Seen> into)
      throws IOException {
    FolderWatch open = hints;
    if (open != null) {
      open.watch(folder); // before it is listed, so that nothing lies between the two
    }
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        String name = String.valueOf(file.getFileName());
        if (!name.startsWith(HALF_MADE)) {
          RecordKey key = new RecordKey(bucket, keyOf(name));
          Seen now = look(file, seen.get(key));
          if (now != null) {
            into.put(key, now);
          }
        }
      }
    } catch (NoSuchFileException | NotDirectoryException e) {
      // nobody has registered anything there yet
    }
  }

  /** A name that cannot be decoded is kept as it is: its record then contradicts it. */
  private static String keyOf(String name) {
    try {
      return Segments.decode(name);
    } catch (MalformedException e) {
      return name;
    }
  }

  /** Null if it is gone, or no file. */
  private @Nullable Seen look(Path path, @Nullable Seen before) throws IOException {
    long now = runtime.nanoTime();
    try {
      BasicFileAttributes file = Files.readAttributes(path, BasicFileAttributes.class);
      if (!file.isRegularFile()) {
        return null;
      }
      if (before != null && before.isOf(file)) {
        return before;
      }
      byte[] content = read(path, before);
      boolean same = before != null && java.util.Arrays.equals(before.content(), content);
      return new Seen(
          same ? Objects.requireNonNull(before).content() : content,
          file.lastModifiedTime(),
          file.size(),
          file.fileKey(),
          before == null ? now - ageNanos(file) : now);
    } catch (NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      // A link that leads nowhere, or where nobody may look: the other records are none the worse.
      LOG.log(Level.DEBUG, "a record cannot be looked at", e);
      return before == null ? new Seen(new byte[0], FileTime.fromMillis(0), -1, null, now) : before;
    }
  }

  /** How long ago it was touched, by the wall clocks; beyond a day all ages are alike. */
  private long ageNanos(BasicFileAttributes file) {
    long millis = runtime.currentTimeMillis() - file.lastModifiedTime().toMillis();
    return Duration.ofMillis(Math.max(0, Math.min(millis, 86_400_000))).toNanos();
  }

  /**
   * What is too long to be a record, or cannot be read, is nothing, and then refused as such; one
   * that could be read before stays as it was.
   */
  private static byte[] read(Path path, @Nullable Seen before) throws IOException {
    try (InputStream in = Files.newInputStream(path)) {
      byte[] content = in.readNBytes(MAX_RECORD_BYTES + 1);
      return content.length > MAX_RECORD_BYTES ? new byte[0] : content;
    } catch (NoSuchFileException e) {
      throw e;
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a record cannot be read", e);
      return before == null ? new byte[0] : before.content();
    }
  }
}
