package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.runtime.VirtualRuntime;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileRecordStoreTest {
  @TempDir Path root;

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final List<Map<String, String>> seen = new ArrayList<>();
  private final List<String> lost = new ArrayList<>();
  private FileRecordStore store;

  private void start() {
    start(runtime.executor());
  }

  private void start(Executor io) {
    store = new FileRecordStore(runtime, root, io, false);
    store.start(
        new RecordStore.Listener() {
          @Override
          public void onRecords(Map<RecordKey, byte[]> records) {
            Map<String, String> texts = new HashMap<>();
            records.forEach(
                (key, value) ->
                    texts.put(key.toString(), new String(value, StandardCharsets.UTF_8)));
            seen.add(texts);
          }

          @Override
          public void onLost(String reason) {
            lost.add(reason);
          }
        });
    runtime.runUntilIdle();
  }

  @AfterEach
  void close() {
    if (store != null) {
      store.close();
    }
  }

  private Map<String, String> last() {
    return seen.get(seen.size() - 1);
  }

  private void lookAgain() {
    runtime.advance(FileRecordStore.INTERVAL);
  }

  private Path file(String bucket, String key) {
    return root.resolve("v1").resolve(bucket).resolve(Segments.encodeFileName(key));
  }

  private Path write(String bucket, String key, String content) throws IOException {
    Path file = file(bucket, key);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
    touch(file, Duration.ZERO);
    return file;
  }

  private void touch(Path file, Duration age) throws IOException {
    Files.setLastModifiedTime(
        file, FileTime.fromMillis(runtime.currentTimeMillis() - age.toMillis()));
  }

  @Test
  void namesAreDecodedOnce() throws Exception {
    write("mdc", "n/c-d/e_f/1", "{}");
    write("event_sources", "namespace/a%2Eb/topic/t%252E/1", "{}");
    start();

    assertThat(last().keySet())
        .containsExactlyInAnyOrder(
            "v1/mdc/n/c-d/e_f/1", "v1/event_sources/namespace/a%2Eb/topic/t%252E/1");
  }

  @Test
  void looksThatNoThreadCouldBeHadForAreMadeUpFor() throws Exception {
    write("mdc", "n/c/e/1", "{}");
    AtomicBoolean full = new AtomicBoolean(true);
    start(
        task -> {
          if (full.get()) {
            throw new RejectedExecutionException("all threads are busy");
          }
          runtime.executor().execute(task);
        });
    lookAgain();
    assertThat(seen).isEmpty();
    full.set(false);
    lookAgain();
    assertThat(last().keySet()).containsExactly("v1/mdc/n/c/e/1");
    write("mdc", "n/c/e/2", "{}");
    lookAgain();
    assertThat(last()).hasSize(2);
  }

  @Test
  void whatAListenerFailedToTakeIsShownAgain() throws Exception {
    write("mdc", "n/c/e/1", "{}");
    AtomicInteger shown = new AtomicInteger();
    store = new FileRecordStore(runtime, root, runtime.executor(), false);
    store.start(
        new RecordStore.Listener() {
          @Override
          public void onRecords(Map<RecordKey, byte[]> records) {
            if (shown.incrementAndGet() == 1) {
              throw new IllegalStateException("not now");
            }
          }

          @Override
          public void onLost(String reason) {
            lost.add(reason);
          }
        });
    runtime.runUntilIdle();
    lookAgain();
    lookAgain();
    assertThat(shown).hasValue(2);
    assertThat(lost).isEmpty();
  }

  @Test
  void halfMadeFilesAndFoldersAreNoRecords() throws Exception {
    write("mdc", "n/c/e/1", "{}");
    Files.writeString(root.resolve("v1/mdc/.tmp_0123456789abcdef"), "{");
    Files.createDirectories(root.resolve("v1/mdc/folder"));
    start();

    assertThat(last().keySet()).containsExactly("v1/mdc/n/c/e/1");
  }

  @Test
  void aNameThatCannotBeDecodedIsARecordThatContradictsItsKey() throws Exception {
    Files.createDirectories(root.resolve("v1/mdc"));
    touch(Files.writeString(root.resolve("v1/mdc/n%zz"), "{}"), Duration.ZERO);
    start();

    assertThat(last().keySet()).containsExactly("v1/mdc/n%zz");
  }

  @Test
  void aHeartbeatIsNoChange() throws Exception {
    Path file = write("mdc", "n/c/e/1", "{}");
    start();
    for (int i = 0; i < 20; i++) {
      lookAgain();
      touch(file, Duration.ZERO);
    }

    assertThat(seen).hasSize(1);
  }

  @Test
  void aRecordReplacedByRenameIsRead() throws Exception {
    Path file = write("mdc", "n/c/e/1", "{\"a\":1}");
    start();
    Path next = root.resolve("v1/mdc/.tmp_1");
    Files.writeString(next, "{\"a\":2}");
    touch(next, Duration.ZERO);
    Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
    lookAgain();

    assertThat(last()).containsEntry("v1/mdc/n/c/e/1", "{\"a\":2}");
  }

  @Test
  void aRecordThatIsThereAgainWhenLookedAtWasNeverGone() throws Exception {
    Path file = write("mdc", "n/c/e/1", "{}");
    start();
    Files.delete(file);
    write("mdc", "n/c/e/1", "{}");
    lookAgain();

    assertThat(seen).hasSize(1);
  }

  @Test
  void aStoreThatDoesNotExistYetIsEmptyAndThenFound() throws Exception {
    start();
    assertThat(last()).isEmpty();

    write("instances", "n/c/e/1", "{}");
    lookAgain();

    assertThat(last().keySet()).containsExactly("v1/instances/n/c/e/1");
  }

  @Test
  void theFolderOfADeadDeploymentHoldsNothing() throws Exception {
    touch(write("mdc", "n/c/e/1", "{}"), Duration.ofSeconds(16));
    touch(write("mdc", "n/c/e/2", "{}"), Duration.ofSeconds(14));
    start();

    assertThat(last().keySet()).containsExactly("v1/mdc/n/c/e/2");
  }

  @Test
  void aRecordWithoutHeartbeatsEndsAfterFifteenSeconds() throws Exception {
    write("mdc", "n/c/e/1", "{}");
    start();
    runtime.advance(Duration.ofSeconds(15));
    assertThat(last()).isNotEmpty();

    lookAgain();

    assertThat(last()).isEmpty();
  }

  @Test
  void aHeartbeatBringsARecordBack() throws Exception {
    Path file = write("mdc", "n/c/e/1", "{}");
    start();
    runtime.advance(Duration.ofSeconds(16));
    assertThat(last()).isEmpty();

    touch(file, Duration.ZERO);
    lookAgain();

    assertThat(last()).isNotEmpty();
  }

  @Test
  void whereTheFoldersClockIsBehindHeartbeatsShowWhoIsAlive() throws Exception {
    Path file = write("mdc", "n/c/e/1", "{}");
    touch(file, Duration.ofMinutes(5));
    start();
    assertThat(last()).isEmpty();

    for (int i = 0; i < 10; i++) {
      touch(file, Duration.ofMinutes(5).minusSeconds(i + 1));
      lookAgain();
      assertThat(last()).isNotEmpty();
      runtime.advance(Duration.ofSeconds(3));
    }

    assertThat(seen).hasSize(2);
  }

  @Test
  void whereTheFoldersClockIsAheadASilentRecordEndsAllTheSame() throws Exception {
    touch(write("mdc", "n/c/e/1", "{}"), Duration.ofMinutes(-5));
    start();
    assertThat(last()).isNotEmpty();

    runtime.advance(Duration.ofSeconds(16));

    assertThat(last()).isEmpty();
  }

  @Test
  void aFileTooLongForARecordIsReadAsNothing() throws Exception {
    Path file = write("mdc", "n/c/e/1", "");
    Files.write(file, new byte[(8 << 20) + 1]);
    touch(file, Duration.ZERO);
    start();

    assertThat(last()).containsEntry("v1/mdc/n/c/e/1", "");
  }

  @Test
  void aLinkThatLeadsInACircleIsRefusedAloneAndTheRestIsRead() throws Exception {
    write("mdc", "n/c/e/1", "{}");
    Path circle = file("mdc", "n/c/e/2");
    Files.createSymbolicLink(circle, circle);
    start();
    lookAgain();

    assertThat(lost).isEmpty();
    assertThat(seen).hasSize(1);
    assertThat(last())
        .containsOnly(Map.entry("v1/mdc/n/c/e/1", "{}"), Map.entry("v1/mdc/n/c/e/2", ""));
  }

  @Test
  void nothingIsReadAfterTheEnd() throws Exception {
    start();
    store.close();
    write("mdc", "n/c/e/1", "{}");
    runtime.advance(Duration.ofSeconds(5));

    assertThat(seen).hasSize(1);
    assertThat(lost).isEmpty();
  }

  @Test
  void aNameThatAppearsIsHintedAtAndAFolderThatDoes() throws Exception {
    Path folder = root.resolve("v1/mdc");
    java.util.concurrent.Semaphore hints = new java.util.concurrent.Semaphore(0);
    try (FolderWatch watch = new FolderWatch(root, hints::release)) {
      watch.watch(folder); // not there yet
      Files.createDirectories(folder);
      watch.watch(folder);
      Files.writeString(folder.resolve("a"), "{}");

      assertThat(hints.tryAcquire(20, java.util.concurrent.TimeUnit.SECONDS)).isTrue();
    }
  }
}
