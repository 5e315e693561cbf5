package io.kvrelay.engine.ingest;

import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.pool.RankReplacement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Gathers the dumps of ranks so that one rebuild of the pool installs many; at most one rebuild is
 * under way.
 *
 * <p><b>The first wave.</b> The ranks that could be recovered when the pool started are waited for
 * together, whoever else delivers. The wave closes when each of them has delivered or its recovery
 * ended otherwise, and at the latest one attempt's timeout after the first of them delivered. A
 * rank that is no longer to be recovered is not waited for. Where nobody is left who could start
 * the clock (all that are waited for had their recovery cut short), anybody's dump starts it:
 * without that, a dump could wait for ever.
 *
 * <p><b>Later.</b> Dumps wait in windows of 5 ms until a whole window brought none.
 *
 * <p>Thread safe. Nothing is called under the lock.
 */
final class ReplacementBatcher {
  static final Duration QUIET_WINDOW = Duration.ofMillis(5);

  /** A dump that waits, or whose rebuild is under way. */
  static final class Entry {
    private final RankReplacement replacement;
    private final Consumer<@Nullable Throwable> done;
    private @Nullable CompletableFuture<Void> rebuild;

    private Entry(RankReplacement replacement, Consumer<@Nullable Throwable> done) {
      this.replacement = replacement;
      this.done = done;
    }
  }

  private final PoolPort pool;
  private final RelayRuntime runtime;
  private final Duration waveDeadline;
  private final IngestCounters counters;

  // Guarded by this.
  private final Set<Member> awaited; // of the first wave; empty once it is closed
  private final Set<Member> stalled = new HashSet<>();
  private boolean waveOpen;
  private List<Entry> pending = new ArrayList<>();
  private int pendingAtWindowStart;
  private boolean rebuilding;
  private RelayRuntime.@Nullable Timer deadline;
  private RelayRuntime.@Nullable Timer window;

  ReplacementBatcher(
      PoolPort pool,
      RelayRuntime runtime,
      Duration waveDeadline,
      IngestCounters counters,
      Collection<Member> firstWave) {
    this.pool = pool;
    this.runtime = runtime;
    this.waveDeadline = waveDeadline;
    this.counters = counters;
    this.awaited = new HashSet<>(firstWave);
    this.waveOpen = !awaited.isEmpty();
  }

  /** Takes a dump; {@code done} runs on any thread once it is installed or failed. */
  Entry submit(RankReplacement replacement, Consumer<@Nullable Throwable> done) {
    Entry entry = new Entry(replacement, done);
    synchronized (this) {
      pending.add(entry);
      if (waveOpen) {
        if (awaited.contains(replacement.member()) || stalled.containsAll(awaited)) {
          armDeadline();
        }
      } else {
        armWindow();
      }
    }
    completed(replacement.member());
    return entry;
  }

  /**
   * Takes a dump back. Completes at once if it was still waiting, else when its rebuild is over;
   * {@code done} may or may not run.
   */
  synchronized CompletionStage<Void> withdraw(Entry entry) {
    pending.remove(entry);
    if (pending.isEmpty()) {
      cancelWindow();
    }
    return entry.rebuild == null ? CompletableFuture.completedFuture(null) : entry.rebuild;
  }

  /** A rank's recovery ended without a dump, or it is no longer to be recovered. */
  void completed(Member member) {
    List<Entry> batch;
    synchronized (this) {
      awaited.remove(member);
      if (!waveOpen || !awaited.isEmpty()) {
        return;
      }
      batch = closeWave();
    }
    rebuild(batch);
  }

  /** A rank's recovery was cut short; whether another one follows is open. */
  synchronized void stalled(Member member) {
    if (waveOpen && awaited.contains(member)) {
      stalled.add(member);
      if (stalled.containsAll(awaited) && !pending.isEmpty()) {
        armDeadline();
      }
    }
  }

  /** A recovery that may deliver is under way (again). */
  synchronized void underWay(Member member) {
    stalled.remove(member);
  }

  /** Lets go of its timers. Entries are their owners' to withdraw. */
  synchronized void stop() {
    waveOpen = false;
    awaited.clear();
    cancelTimers();
  }

  private void armDeadline() {
    if (deadline == null) {
      deadline = runtime.schedule(waveDeadline.toNanos(), this::deadlinePassed);
    }
  }

  private void deadlinePassed() {
    List<Entry> batch;
    synchronized (this) {
      if (!waveOpen) {
        return;
      }
      batch = closeWave();
    }
    rebuild(batch);
  }

  private List<Entry> closeWave() {
    waveOpen = false;
    awaited.clear();
    stalled.clear();
    cancelTimers();
    return takePending();
  }

  private void cancelTimers() {
    if (deadline != null) {
      deadline.cancel();
    }
    cancelWindow();
  }

  private void cancelWindow() {
    if (window != null) {
      window.cancel();
      window = null;
    }
  }

  private void armWindow() {
    if (window == null && !rebuilding && !pending.isEmpty()) {
      pendingAtWindowStart = pending.size();
      window = runtime.schedule(QUIET_WINDOW.toNanos(), this::windowPassed);
    }
  }

  private void windowPassed() {
    List<Entry> batch;
    synchronized (this) {
      window = null;
      if (pending.size() > pendingAtWindowStart) {
        armWindow();
        return;
      }
      batch = takePending();
    }
    rebuild(batch);
  }

  /** Whoever takes entries rebuilds with them. */
  private List<Entry> takePending() {
    List<Entry> batch = pending;
    pending = new ArrayList<>();
    if (!batch.isEmpty()) {
      rebuilding = true;
      CompletableFuture<Void> over = new CompletableFuture<>();
      batch.forEach(entry -> entry.rebuild = over);
    }
    return batch;
  }

  private void rebuild(List<Entry> batch) {
    if (batch.isEmpty()) {
      return;
    }
    Map<Member, RankReplacement> ranks = new TreeMap<>();
    List<Entry> installed = new ArrayList<>();
    for (Entry entry : batch) {
      Member member = entry.replacement.member();
      if (ranks.putIfAbsent(member, entry.replacement) == null) {
        installed.add(entry);
      } else {
        entry.done.accept(
            new RelayException(
                RelayErrorReason.INTERNAL, "rank " + member + " twice in one replacement"));
      }
    }
    counters.count(IngestCount.REBUILDS);
    pool.replaceRanks(ranks).whenComplete((done, error) -> rebuilt(batch, installed, error));
  }

  private void rebuilt(List<Entry> batch, List<Entry> installed, @Nullable Throwable error) {
    Throwable failure = error == null ? null : Failures.cause(error);
    installed.forEach(entry -> entry.done.accept(failure));
    CompletableFuture<Void> over = batch.get(0).rebuild;
    synchronized (this) {
      rebuilding = false;
      armWindow();
    }
    if (over != null) {
      over.complete(null);
    }
  }
}
