package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The events of one active source in order: cursor, buffer, and at most one recovery. The cursor is
 * the last event <em>admitted</em> to the pool, and moves only after the whole group it covers was.
 *
 * <p>Belongs to its rank's turn. A method may leave the rank waiting; the caller then does nothing
 * more until the rank goes on.
 */
final class RankStream {
  private static final System.Logger LOG = System.getLogger(RankStream.class.getName());
  private static final int JITTER_MICROS = 3000;

  /** Ids of one hole that are counted: ids are a peer's to choose, and a counter must not wrap. */
  private static final long MAX_COUNTED = 1L << 32;

  private static final TrustReport FULL_RECOVERY =
      TrustReport.degraded("a full recovery is under way");
  private static final TrustReport GAP_RECOVERY = TrustReport.degraded("a gap is being recovered");
  private static final TrustReport NO_EVENT = TrustReport.degraded("no event yet");

  /** The rank around the stream. */
  interface Rank extends RankRecovery.Receiver {
    /** Nothing is accepted any more until the rank was reset. */
    void fence(String reason);

    /** Removes all of the rank from the pool; continues with null or the failure. */
    void reset(Consumer<@Nullable Throwable> then);
  }

  private final Member member;
  private final Rank rank;
  private final IngestContext context;
  private final RankSequence sequence;
  private final RankTrust trust;
  private final RankBuffer buffer = new RankBuffer();

  private @Nullable Binding binding;
  private boolean live; // false: the cursor is initial
  private long cursor;
  private @Nullable RankRecovery recovery;
  private boolean lossBehindRecovery;

  // The event up to which the state is known to be whole, whatever was refused on the way there.
  private boolean hasWhole;
  private long wholeThrough;
  private long clears;

  RankStream(
      Member member, Rank rank, IngestContext context, RankSequence sequence, RankTrust trust) {
    this.member = member;
    this.rank = rank;
    this.context = context;
    this.sequence = sequence;
    this.trust = trust;
  }

  boolean isLive() {
    return live;
  }

  long cursor() {
    return cursor;
  }

  int buffered() {
    return buffer.size();
  }

  long clears() {
    return clears;
  }

  boolean isRecovering() {
    return recovery != null;
  }

  /** What is not whole yet, or null. */
  @Nullable TrustReport underWay() {
    RankRecovery current = recovery;
    if (current != null) {
      return current.isFull() ? FULL_RECOVERY : GAP_RECOVERY;
    }
    return live ? null : NO_EVENT;
  }

  // ---- Life ----

  /** Starts with a fresh state. */
  void open(Binding source) {
    binding = source;
    fresh();
    if (source.recoverable) {
      recover(HistoryRequest.full(member));
    } else {
      trust.lost("live only, from the first event on");
      LOG.log(Level.WARNING, () -> source.id + " has no recovery target: live only");
    }
  }

  /** Cancels and joins recovery, and forgets everything. */
  void close(Runnable then) {
    binding = null;
    joinRecovery(
        () -> {
          fresh();
          then.run();
        });
  }

  private void fresh() {
    discardBuffer();
    live = false;
    cursor = 0;
    hasWhole = false;
    trust.whole();
  }

  private void wholeAt(long id) {
    hasWhole = true;
    wholeThrough = id;
    trust.whole();
  }

  /**
   * Whether it is no wonder that the pool refused an event which hangs on earlier ones: some of
   * them are known to be missing, a whole state came after it, or it came before a reset.
   */
  boolean explains(long eventId) {
    return !live
        || Long.compareUnsigned(eventId, cursor) > 0 // not admitted since the last reset
        || !trust.isWhole()
        || (hasWhole && Long.compareUnsigned(eventId, wholeThrough) <= 0);
  }

  boolean isRecoveringFully() {
    return recovery != null && recovery.isFull();
  }

  /**
   * As of a fence: the cursor stays, nothing else does. Nothing more of the recovery has effect.
   */
  void stop() {
    RankRecovery current = recovery;
    recovery = null;
    if (current != null) {
      context.count(IngestCount.CANCELLED_RECOVERIES);
      current.cancel();
    }
    discardBuffer();
  }

  private void discardBuffer() {
    lossBehindRecovery = false;
    context.count(IngestCount.DISCARDED_EVENTS, buffer.clear());
  }

  private void joinRecovery(Runnable then) {
    RankRecovery current = recovery;
    recovery = null;
    if (current == null) {
      then.run();
      return;
    }
    context.count(IngestCount.CANCELLED_RECOVERIES);
    if (current.isFull()) {
      context.batcher().stalled(member);
    }
    sequence.await(current.cancel(), (done, error) -> then.run());
  }

  private void recover(HistoryRequest request) {
    RankRecovery started = new RankRecovery(context, source(), request, rank);
    recovery = started;
    if (started.isFull()) {
      context.batcher().underWay(member);
    }
    long jitterMicros = Long.remainderUnsigned(context.runtime().randomLong(), JITTER_MICROS);
    started.start(started.isFull() ? jitterMicros * 1000 : 0);
  }

  /** What is there may not be all: asks for everything. */
  void recoverFully(String reason) {
    trust.lost(reason);
    joinRecovery(() -> recover(HistoryRequest.full(member)));
  }

  /** Something after the cursor may have been lost, though no gap shows it. Recoverable only. */
  void recoverLoss() {
    if (recovery == null) {
      lossBehindRecovery = false;
      recover(live ? HistoryRequest.from(member, cursor + 1) : HistoryRequest.full(member));
    } else {
      // The answer may have been made before the loss: asks again once it is there. Starting over
      // would never end under a constant overload.
      lossBehindRecovery = true;
    }
  }

  private Binding source() {
    return Objects.requireNonNull(binding);
  }

  // ---- Live events: the first row that fits ----

  void accept(KvEvent event) {
    long id = event.eventId();
    boolean stale = live && Long.compareUnsigned(id, cursor) <= 0;
    if (isClearOfAll(event)) {
      if (stale) {
        context.count(IngestCount.STALE_CLEARS);
      } else {
        supersede(event);
      }
    } else if (stale) {
      context.count(IngestCount.STALE_EVENTS);
    } else if (recovery != null) {
      buffer(event);
    } else if (live ? id == cursor + 1 : !source().recoverable) {
      admitLive(event);
    } else if (source().recoverable) {
      buffer(event);
      if (live) {
        context.count(IngestCount.GAPS);
        recover(HistoryRequest.from(member, cursor + 1));
      } else {
        recover(HistoryRequest.full(member));
      }
    } else {
      liveOnlyGap(event);
    }
  }

  private static boolean isClearOfAll(KvEvent event) {
    return event.kind() == KvEvent.Kind.CLEARED && event.domain() == ResidencyDomain.MISSING;
  }

  /** Whether the rank holds nothing once the event is applied. */
  private static boolean empties(KvEvent event) {
    return event.kind() == KvEvent.Kind.CLEARED
        && (event.domain() == ResidencyDomain.MISSING || event.domain() == ResidencyDomain.WORKER);
  }

  private void buffer(KvEvent event) {
    context.count(IngestCount.BUFFERED_EVENTS);
    if (!buffer.add(event)) {
      context.count(IngestCount.EVICTED_EVENTS);
    }
  }

  /** A clear of everything makes the rank's past irrelevant, and recovery with it. */
  private void supersede(KvEvent clear) {
    joinRecovery(
        () -> {
          discardBuffer();
          admitLive(clear);
        });
  }

  private void liveOnlyGap(KvEvent event) {
    context.count(IngestCount.LIVE_ONLY_GAPS);
    String reason =
        "live only, lost " + range(cursor + 1, event.eventId() - 1) + " and what was before";
    rank.reset(
        error -> {
          if (error != null) {
            rank.fence("reset after a gap: " + Failures.text(error));
            return;
          }
          trust.lost(reason);
          admitLive(event);
        });
  }

  private void admitLive(KvEvent event) {
    CompletableFuture<Void> admitted =
        context.pool().admit(event, source().publisherId()).toCompletableFuture();
    if (isDone(admitted)) {
      admittedLive(event);
    } else {
      sequence.await(
          admitted,
          (done, error) -> {
            if (error == null) {
              admittedLive(event);
            } else {
              rank.fence(
                  "admission of event " + text(event.eventId()) + ": " + Failures.text(error));
            }
          });
    }
  }

  private void admittedLive(KvEvent event) {
    live = true;
    cursor = event.eventId();
    buffer.reached(cursor);
    countAdmitted(event);
    noteClear(event);
  }

  private static boolean isDone(CompletableFuture<Void> admitted) {
    return admitted.isDone() && !admitted.isCompletedExceptionally();
  }

  private void countAdmitted(KvEvent event) {
    context.count(IngestCount.ADMITTED_EVENTS);
    if (empties(event)) {
      context.count(IngestCount.ADMITTED_CLEARS);
      clears++;
    }
  }

  // ---- Results of a recovery ----

  /** Whether a result is of the recovery under way; one that is not has no effect. */
  boolean isCurrent(RankRecovery from) {
    if (recovery == from) {
      return true;
    }
    context.count(IngestCount.IGNORED_RESULTS);
    return false;
  }

  void fetched(RankRecovery from, FetchResult result) {
    if (!isCurrent(from)) {
      return;
    }
    if (result instanceof FetchResult.NonAuthoritative none) {
      nonAuthoritative(from, none.reason());
    } else if (result instanceof FetchResult.Exhausted exhausted) {
      finished(from);
      degrade("no history: " + exhausted.reason(), false);
    } else if (result instanceof FetchResult.Answered answered) {
      answered(from, answered.reply());
    }
  }

  private void answered(RankRecovery from, HistoryReply reply) {
    if (reply instanceof HistoryReply.TreeDump dump) {
      from.replace(dump);
    } else if (reply instanceof HistoryReply.Events events) {
      if (RankRecovery.areOf(member, events.events())) {
        finished(from);
        context.count(IngestCount.RECOVERED_BY_EVENTS);
        long target =
            live && Long.compareUnsigned(cursor, events.last()) > 0 ? cursor : events.last();
        drain(events.events(), target, from.isFull());
      } else {
        corrupt(from);
      }
    } else if (reply instanceof HistoryReply.TooNew tooNew) {
      finished(from);
      boolean nothingMissing = live && Long.compareUnsigned(tooNew.newest(), cursor) <= 0;
      degrade("no history: " + reply, nothingMissing);
    } else {
      finished(from);
      degrade("no history: " + reply, false);
    }
  }

  void replaced(RankRecovery from, long last, @Nullable Throwable error) {
    if (!isCurrent(from)) {
      return;
    }
    finished(from);
    if (error != null) {
      recovery = null;
      context.count(IngestCount.FAILED_REPLACEMENTS);
      rank.fence("replacement: " + Failures.text(error));
      return;
    }
    context.count(IngestCount.RECOVERED_BY_DUMP);
    drain(List.of(), last, true);
  }

  /** Nothing of a foreign answer, and nothing buffered beside it, can be trusted. */
  void corrupt(RankRecovery from) {
    finished(from);
    context.count(IngestCount.CORRUPT_RECOVERIES);
    recovery = null;
    stop();
    rank.reset(error -> rank.fence("history of rank " + member + " held another rank's event"));
  }

  /** The first wave need not wait for this rank. */
  private void finished(RankRecovery from) {
    if (from.isFull()) {
      context.batcher().completed(member);
    }
  }

  private void nonAuthoritative(RankRecovery from, String reason) {
    context.count(IngestCount.NON_AUTHORITATIVE_RECOVERIES);
    recovery = null;
    if (from.isFull()) {
      trust.lost(reason);
      context.batcher().stalled(member);
    } else {
      trust.unanswered(reason);
    }
  }

  /** Admits what history gave and then what was buffered; holes do not stop the tail. */
  private void drain(List<KvEvent> recovered, long target, boolean whole) {
    List<KvEvent> tail = buffer.tailAfter(target);
    admitAll(
        recovered,
        0,
        () ->
            admitAll(
                tail,
                0,
                () -> {
                  if (whole) {
                    trust.whole();
                  }
                  trust.answered();
                  recovered.forEach(this::noteClear);
                  settle(tail, target, true);
                  if (whole) {
                    // The state may be newer than it promises: its tail may repeat what it no
                    // longer
                    // has the parents for.
                    hasWhole = true;
                    wholeThrough = cursor;
                  }
                }));
  }

  /** There is no history: what was buffered is all there is. */
  private void degrade(String reason, boolean nothingMissing) {
    context.count(IngestCount.DEGRADED_RECOVERIES);
    long from = live ? cursor : 0;
    List<KvEvent> tail = buffer.tailAfter(from);
    admitAll(
        tail,
        0,
        () -> {
          if (nothingMissing) {
            trust.answered();
          } else {
            trust.lost(reason);
          }
          settle(tail, from, live);
        });
  }

  private void admitAll(List<KvEvent> events, int from, Runnable then) {
    for (int i = from; i < events.size(); i++) {
      KvEvent event = events.get(i);
      CompletableFuture<Void> admitted =
          context.pool().admit(event, source().publisherId()).toCompletableFuture();
      if (isDone(admitted)) {
        countAdmitted(event);
      } else {
        int next = i + 1;
        sequence.await(
            admitted,
            (done, error) -> {
              if (error == null) {
                countAdmitted(event);
                admitAll(events, next, then);
              } else {
                rank.fence(
                    "admission of event " + text(event.eventId()) + ": " + Failures.text(error));
              }
            });
        return;
      }
    }
    then.run();
  }

  private void noteClear(KvEvent event) {
    if (empties(event)) {
      wholeAt(event.eventId());
    }
  }

  /** Everything was admitted: moves the cursor, tells the holes, goes on live. */
  private void settle(List<KvEvent> tail, long from, boolean known) {
    long last = from;
    boolean holes = false;
    for (KvEvent event : tail) {
      holes |= missing(last, event.eventId() - 1);
      noteClear(event);
      last = event.eventId();
    }
    if (buffer.hasHighest()) {
      holes |= missing(last, buffer.highest());
    }
    if (known || !tail.isEmpty()) {
      live = true;
      cursor = last;
    }
    recovery = null;
    buffer.clear();
    if (lossBehindRecovery && holes) {
      // What this relay lost lies below the cursor now: only a whole state brings it back. Holes
      // that it did not make itself are not asked for again.
      lossBehindRecovery = false;
      recoverFully("batches were lost while a recovery was under way");
    } else if (lossBehindRecovery) {
      recoverLoss();
    }
  }

  /** Whether there are ids above {@code after} up to {@code to}: they will never come. */
  private boolean missing(long after, long to) {
    if (Long.compareUnsigned(to, after) <= 0) {
      return false;
    }
    String range = range(after + 1, to);
    long skipped = to - after;
    context.count(
        IngestCount.SKIPPED_IDS,
        Long.compareUnsigned(skipped, MAX_COUNTED) > 0 ? MAX_COUNTED : skipped);
    trust.lost("lost " + range);
    LOG.log(Level.WARNING, () -> "rank " + member + ": lost " + range);
    return true;
  }

  private static String range(long from, long to) {
    return "events " + text(from) + ".." + text(to);
  }

  private static String text(long id) {
    return Long.toUnsignedString(id);
  }
}
