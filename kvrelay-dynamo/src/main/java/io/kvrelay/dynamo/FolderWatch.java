package io.kvrelay.dynamo;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Tells at once that names appeared in folders or went. Only a hint: whoever gets it looks, and
 * looks now and then anyway, since not every system and file system gives hints. Thread safe.
 */
final class FolderWatch implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(FolderWatch.class.getName());

  private final Runnable hint;
  private final Set<Path> watched = ConcurrentHashMap.newKeySet();
  private final @Nullable WatchService service;

  FolderWatch(Path any, Runnable hint) {
    this.hint = hint;
    WatchService opened = null;
    try {
      opened = any.getFileSystem().newWatchService();
      WatchService taken = opened;
      Thread thread = new Thread(() -> run(taken), "kvrelay-dynamo-files");
      thread.setDaemon(true);
      thread.start();
    } catch (IOException | UnsupportedOperationException e) {
      LOG.log(Level.DEBUG, "folders give no hints here", e);
    }
    this.service = opened;
  }

  /** Watches a folder, if it exists and is not watched yet. */
  void watch(Path folder) {
    WatchService open = service;
    if (open == null || watched.contains(folder) || !Files.isDirectory(folder)) {
      return;
    }
    try {
      // Not changes of content: each heartbeat is one.
      folder.register(
          open, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_DELETE);
      watched.add(folder);
    } catch (IOException | ClosedWatchServiceException e) {
      LOG.log(Level.DEBUG, "a folder gives no hints", e);
    }
  }

  private void run(WatchService open) {
    try {
      while (true) {
        WatchKey key = open.take();
        key.pollEvents();
        if (!key.reset()) {
          watched.remove((Path) key.watchable()); // the folder is gone; it may come back
        }
        hint.run();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ClosedWatchServiceException e) {
      LOG.log(Level.TRACE, "no more hints", e);
    }
  }

  @Override
  public void close() {
    WatchService open = service;
    if (open != null) {
      try {
        open.close();
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "hints cannot be ended", e);
      }
    }
  }
}
