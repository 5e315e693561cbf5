package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The worker's side of recovery for one rank: what it holds, its latest events, and the decision
 * between the two when it is asked for its past.
 *
 * <p>At most one dump is made at a time; who asks meanwhile waits and is then decided anew. A dump
 * is kept, and later extended by what was stored since, as long as no clear and no gap in the ids
 * came; a dump that one of them overtook is not served at all.
 *
 * <p>Thread safe. A dump is copied under the lock, so an event may wait for it.
 */
final class HistoryDesk {
  /** A kept dump; {@code base} is the newest event when it was built, {@code last} now. */
  private record Kept(List<KvEvent> events, long base, long last) {}

  private record Asked(
      HistoryRequest request, boolean tellsFailures, CompletableFuture<HistoryReply> answer) {}

  private static final System.Logger LOG = System.getLogger(HistoryDesk.class.getName());

  private final Member member;
  private final Executor executor;

  // Guarded by this.
  private final RankCache cache;
  private final EventRing ring;
  private @Nullable Kept kept;
  private long invalidations;
  private boolean building;
  private List<Asked> waiting = new ArrayList<>();
  private int dumpsToFail;
  private long builds;

  HistoryDesk(Member member, int ringCapacity, Executor executor) {
    this.member = member;
    this.executor = executor;
    this.cache = new RankCache(member);
    this.ring = new EventRing(ringCapacity);
  }

  /**
   * Applies an event and records it.
   *
   * @throws IllegalArgumentException if the cache refuses it; then nothing is recorded
   */
  synchronized void record(KvEvent event) {
    cache.apply(event);
    boolean follows = ring.add(event);
    if (!follows || event.kind() == KvEvent.Kind.CLEARED) {
      kept = null;
      invalidations++;
    }
  }

  synchronized Map<Long, Long> primary() {
    return cache.primary();
  }

  synchronized void failDumps(int dumps) {
    dumpsToFail = dumps;
  }

  /** Dumps made so far, for tests of their sharing. */
  synchronized long builds() {
    return builds;
  }

  CompletionStage<HistoryReply> answer(HistoryRequest request, boolean tellsFailures) {
    Asked asked = new Asked(request, tellsFailures, new CompletableFuture<>());
    decide(asked);
    return asked.answer();
  }

  private void decide(Asked asked) {
    HistoryReply reply;
    synchronized (this) {
      reply = decision(asked);
    }
    if (reply != null) {
      asked.answer().complete(reply);
    }
  }

  /** The answer, or null if it waits for a dump. */
  private @Nullable HistoryReply decision(Asked asked) {
    HistoryRequest request = asked.request();
    boolean whole = request.start().isEmpty();
    long start = request.start().orElse(0);
    if (!whole
        && request.end().isPresent()
        && Long.compareUnsigned(request.end().getAsLong(), start) < 0) {
      return new HistoryReply.InvalidRange(start, request.end().getAsLong());
    }
    if (whole || ring.isEmpty()) {
      return dump(asked);
    }
    long newest = ring.newest();
    if (Long.compareUnsigned(start, newest) > 0) {
      return new HistoryReply.TooNew(start, request.end().orElse(newest), newest);
    }
    if (Long.compareUnsigned(start, ring.oldest()) < 0) {
      return dump(asked);
    }
    return new HistoryReply.Events(sinceLastClear(ring.from(start)), newest);
  }

  /** What came before a clear of everything need not be told. */
  private static List<KvEvent> sinceLastClear(List<KvEvent> events) {
    for (int i = events.size() - 1; i > 0; i--) {
      KvEvent event = events.get(i);
      if (event.kind() == KvEvent.Kind.CLEARED && event.domain() == ResidencyDomain.MISSING) {
        return events.subList(i, events.size());
      }
    }
    return events;
  }

  private @Nullable HistoryReply dump(Asked asked) {
    if (building) {
      waiting.add(asked);
      return null;
    }
    Kept usable = brought(kept);
    kept = usable;
    if (usable != null) {
      return reply(usable);
    }
    building = true;
    executor.execute(() -> build(asked));
    return null;
  }

  private static HistoryReply reply(Kept dump) {
    return new HistoryReply.TreeDump(dump.events(), dump.last(), HistoryReply.ResetScope.ALL);
  }

  /**
   * The kept dump with what was stored since. Removals are not appended, though they may be: a
   * fresh dump tells the same without them.
   */
  private @Nullable Kept brought(@Nullable Kept dump) {
    if (dump == null || Long.compareUnsigned(ring.newest(), dump.last()) <= 0) {
      return dump;
    }
    long newest = ring.newest();
    boolean contiguous = Long.compareUnsigned(dump.last() + 1, ring.oldest()) >= 0;
    boolean near = Long.compareUnsigned(newest - dump.base(), ring.capacity() / 2) <= 0;
    if (!contiguous || !near) {
      return null;
    }
    List<KvEvent> tail = ring.from(dump.last() + 1);
    if (tail.stream().anyMatch(event -> event.kind() != KvEvent.Kind.STORED)) {
      return null;
    }
    List<KvEvent> events = new ArrayList<>(dump.events());
    events.addAll(tail);
    return new Kept(events, dump.base(), newest);
  }

  private void build(Asked asked) {
    Kept fresh = null;
    long last;
    long invalidationsBefore;
    synchronized (this) {
      builds++;
      last = ring.newest();
      invalidationsBefore = invalidations;
      if (dumpsToFail > 0) {
        dumpsToFail--;
      } else {
        fresh = made(last);
      }
    }
    Kept built = fresh;
    executor.execute(() -> finish(asked, built, last, invalidationsBefore));
  }

  /** A dump; null if it cannot be made, which is told as such. */
  private @Nullable Kept made(long last) {
    try {
      return new Kept(cache.dump(), last, last);
    } catch (RuntimeException | OutOfMemoryError e) {
      LOG.log(Level.ERROR, "no dump of rank " + member, e);
      return null;
    }
  }

  private void finish(Asked asked, @Nullable Kept built, long last, long invalidationsBefore) {
    HistoryReply reply = null;
    List<Asked> next;
    synchronized (this) {
      building = false;
      next = waiting;
      waiting = new ArrayList<>();
      if (built == null) {
        reply = failure(asked, last);
      } else if (invalidations == invalidationsBefore) {
        kept = built;
        reply = reply(built);
      }
    }
    if (reply == null) {
      decide(asked);
    } else {
      asked.answer().complete(reply);
    }
    next.forEach(this::decide);
  }

  private HistoryReply failure(Asked asked, long last) {
    String message = "no dump of rank " + member + " could be made";
    return asked.tellsFailures()
        ? new HistoryReply.TreeDumpFailed(last, message)
        : new HistoryReply.Failed(message);
  }
}
