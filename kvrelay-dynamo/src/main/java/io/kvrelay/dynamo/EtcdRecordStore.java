package io.kvrelay.dynamo;

import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import io.kvrelay.api.runtime.SerialExecutor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * An etcd: a listing at one revision, then a watch from the next one on. A watch that breaks is
 * followed by a fresh listing at once; only when that fails, too, is the store lost, and tried
 * again after 250 ms, doubling to 5 s. A listing every 30 s shows that the watches still hear
 * something.
 */
final class EtcdRecordStore implements RecordStore {
  static final Duration RELIST = Duration.ofSeconds(30);
  private static final Duration FIRST_RETRY = Duration.ofMillis(250);
  private static final Duration LAST_RETRY = Duration.ofSeconds(5);
  private static final Duration SHORT_LIFE = Duration.ofSeconds(1);

  /** Records of one worker are separate writes: what comes together is reported together. */
  private static final Duration GATHER = Duration.ofMillis(50);

  private final RelayRuntime runtime;
  private final EtcdClient client;
  private final SerialExecutor mailbox;
  // All of this belongs to the mailbox.
  private final RetryDelay delay = new RetryDelay(FIRST_RETRY, LAST_RETRY);
  private final List<EtcdClient.Watching> watches = new ArrayList<>();
  private @Nullable Listener listener;
  private Map<RecordKey, byte[]> records = new HashMap<>();
  private int epoch;
  private long listedAtNanos;
  private boolean dirty;
  private boolean lost;
  private boolean closed;

  EtcdRecordStore(RelayRuntime runtime, EtcdAccess access) {
    this.runtime = runtime;
    this.client = new EtcdClient(access, runtime.executor());
    this.mailbox = new SerialExecutor(runtime.executor());
  }

  @Override
  public void start(Listener target) {
    mailbox.execute(
        () -> {
          listener = target;
          list();
          scheduleRelist();
        });
  }

  @Override
  public void close() {
    mailbox.execute(
        () -> {
          closed = true;
          endWatches();
        });
  }

  private void scheduleRelist() {
    runtime.schedule(
        RELIST.toNanos(),
        () ->
            mailbox.execute(
                () -> {
                  if (!closed) {
                    if (!lost) {
                      list();
                    }
                    scheduleRelist();
                  }
                }));
  }

  private void list() {
    if (closed) {
      return;
    }
    int asked = ++epoch;
    client
        .list()
        .whenComplete(
            (listing, failure) ->
                mailbox.execute(
                    () -> {
                      if (asked != epoch || closed) {
                        return;
                      }
                      if (failure != null) {
                        lose(failure);
                      } else {
                        take(listing);
                      }
                    }));
  }

  /** The watches start over with each listing, so nothing lies between the two. */
  private void take(EtcdMessages.Listing listing) {
    endWatches();
    listedAtNanos = runtime.nanoTime();
    lost = false;
    records = new HashMap<>(listing.records());
    int current = epoch;
    for (RecordKey.Bucket bucket : RecordKey.Bucket.values()) {
      EtcdClient.Watching watch =
          client.watch(
              bucket,
              listing.revision() + 1,
              changes -> mailbox.execute(() -> apply(current, changes)));
      watches.add(watch);
      watch.ended().whenComplete((nothing, failure) -> mailbox.execute(() -> broken(current)));
    }
    report();
  }

  /** One that does not even live for a second is no reason to ask again at once. */
  private void broken(int watched) {
    if (watched != epoch || closed) {
      return;
    }
    epoch++; // the others need not say it, too
    endWatches();
    if (runtime.nanoTime() - listedAtNanos >= SHORT_LIFE.toNanos()) {
      delay.reset();
      list();
    } else {
      runtime.schedule(delay.takeNanos(), () -> mailbox.execute(this::list));
    }
  }

  private void apply(int watched, List<EtcdMessages.Change> changes) {
    if (watched != epoch || closed) {
      return;
    }
    for (EtcdMessages.Change change : changes) {
      byte[] value = change.value();
      if (value == null) {
        records.remove(change.key());
      } else {
        records.put(change.key(), value);
      }
    }
    if (!changes.isEmpty() && !dirty) {
      dirty = true;
      runtime.schedule(GATHER.toNanos(), () -> mailbox.execute(this::report));
    }
  }

  private void report() {
    dirty = false;
    Listener target = listener;
    if (target != null && !lost && !closed) {
      target.onRecords(Map.copyOf(records));
    }
  }

  private void lose(Throwable failure) {
    Throwable cause =
        failure instanceof CompletionException && failure.getCause() != null
            ? failure.getCause()
            : failure;
    endWatches();
    lost = true;
    Listener target = listener;
    if (target != null) {
      target.onLost(client.current() + ": " + cause);
    }
    client.tryNext();
    runtime.schedule(delay.takeNanos(), () -> mailbox.execute(this::list));
  }

  private void endWatches() {
    watches.forEach(EtcdClient.Watching::cancel);
    watches.clear();
  }
}
