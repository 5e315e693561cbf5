package io.kvrelay.events.zmq;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.SourceTrust;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One source's stream: frames and connection changes in, relay events and replay requests out. It
 * owns order: what is missing is asked for, what cannot be had leads to a reset, and what another
 * process says never mixes with what the old one said. Free of sockets, threads and clocks.
 *
 * <pre>
 *   WAITING     nothing is known yet: the first message, or a replay, begins the picture
 *   LIVE        applied up to (not including) {@code expected}
 *   REPLAYING   a request is under way; live messages are held back
 *   AMBIGUOUS   two publishers answer as one: nothing is taken for a while
 * </pre>
 *
 * <p>A publisher's sequence never runs backwards on the live stream. So a live sequence that is not
 * above the one before it is a new process. Below {@code expected} but above the last live one lies
 * what a replay has brought already: the same bytes are a duplicate, other bytes are a new process.
 *
 * <p>After a reconnect the engine may be another process whose sequence fits by chance. The replay
 * then begins one batch earlier, and that batch must be the one that was applied last.
 *
 * <p>Relay events have ids of their own, contiguous whatever happens; a restart or a reset is a
 * clear among them. Not thread safe.
 */
final class EngineStream {
  static final long AMBIGUOUS_NANOS = 10_000_000_000L;
  static final long ONLY_REFUSED_NANOS = 5_000_000_000L;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final long END_MARK = -1;
  private static final int IDENTITY_FRAME = 24;
  private static final int ATTEMPTS = 3;

  /** A subscription takes effect some time after the connection stands. */
  private static final int CONFIRM_TICKS = 2;

  /** How long a replay socket that did not answer is left alone. */
  private static final int RETRY_TICKS = 30;

  private static final long HELD_BYTES = 256L << 20;

  /** Restarts so close to each other are no restarts: two publishers take turns. */
  private static final int FLAP_MESSAGES = 16;

  private static final int FLAPS = 3;
  private static final long LONGEST_AMBIGUOUS_NANOS = 300_000_000_000L;

  private enum Phase {
    WAITING,
    LIVE,
    REPLAYING,
    AMBIGUOUS
  }

  private enum Purpose {
    /** From the beginning: nothing is known. */
    BOOTSTRAP,
    /** From what is expected next. */
    GAP,
    /** From the last applied batch, which has to be the same. */
    VERIFY,
    /** From what is expected next, to learn what was sent before the subscription took effect. */
    CONFIRM
  }

  /** A live message that waits for a replay; without a payload if that could not be read. */
  private static final class Held {
    private final long sequence;
    private final byte @Nullable [] payload;

    Held(long sequence, byte @Nullable [] payload) {
      this.sequence = sequence;
      this.payload = payload;
    }
  }

  private final EngineSource source;
  private final StreamOutput output;
  private final SourceCounters counters = new SourceCounters();
  private final TrustState trust = new TrustState();
  private final WireDecoder decoder;
  private final HistoryRing ring;
  private final EventAssembler assembler;
  private final Normaliser normaliser;
  private final ReplayOverlap overlap;
  private final Tapping tapping;
  private final boolean canReplay;

  private Phase phase = Phase.WAITING;
  private boolean synced;
  private long expected;
  private byte @Nullable [] lastPayload;
  private double timestamp;
  private double replayedUntil;

  private boolean everConnected;
  private boolean hasLastLive;
  private long lastLive;
  private byte @Nullable [] topic;
  private boolean hasIdentity;
  private long identityHigh;
  private long identityLow;
  private boolean awaitsIdentity;

  private final Deque<Held> held = new ArrayDeque<>();
  private long heldBytes;
  private boolean overflowed;

  private long request;
  private Purpose purpose = Purpose.BOOTSTRAP;
  private long replayFrom;

  /** Whether anything was heard live before the replay was asked for, and up to where. */
  private boolean heardBeforeReplay;

  private long heardUntil;
  private boolean replySeen;
  private int attempts;
  private boolean replayIsDead;
  private int ticksToConfirm;
  private boolean missedReplay;

  private int flaps;
  private long sinceRestart = FLAP_MESSAGES;
  private long ambiguousNanos = AMBIGUOUS_NANOS;
  private long ambiguousUntil;

  private boolean onlyRefused;
  private long onlyRefusedSince;
  private Refusal lastRefusal = Refusal.NOT_MSGPACK;

  EngineStream(EngineSource source, StreamOutput output, SharedMemory shared) {
    this.source = source;
    this.output = output;
    this.decoder = shared.decoder();
    this.ring = new HistoryRing(source.historyEvents());
    this.assembler = new EventAssembler(source.member(), counters, ring);
    this.normaliser = new Normaliser(source, counters, trust, assembler, shared);
    this.tapping = shared.tapping();
    this.overlap = new ReplayOverlap(shared.scratch());
    this.canReplay = source.replayAddress() != null;
    trust.raise(TrustCause.UNREACHABLE, "no connection to " + source.address() + " yet");
  }

  SourceCounters counters() {
    return counters;
  }

  SourceTrust trust() {
    return trust.level();
  }

  String trustReason() {
    return trust.reason();
  }

  int blocks() {
    return normaliser.blocks();
  }

  int heldBatches() {
    return held.size();
  }

  // ---- the connection

  void onConnected() {
    counters.increment(Counter.CONNECTS);
    ticksToConfirm = CONFIRM_TICKS;
    trust.drop(TrustCause.UNREACHABLE);
    if (phase != Phase.AMBIGUOUS) {
      if (everConnected) {
        connectedAgain();
      } else {
        begin();
      }
    }
    everConnected = true;
    publish();
  }

  private void begin() {
    if (canReplay) {
      attempts = replayIsDead ? ATTEMPTS - 1 : 0;
      startReplay(Purpose.BOOTSTRAP, 0);
    } else if (!hasLastLive) {
      trust.raise(TrustCause.SILENT, "nothing heard from " + source.address() + " yet");
    }
  }

  /** The same process, or another one that may have got past the old one's sequence. */
  private void connectedAgain() {
    boolean provable = synced && expected != 0 && lastPayload != null;
    if (canReplay && provable && !(phase == Phase.REPLAYING && purpose == Purpose.BOOTSTRAP)) {
      trust.raise(
          TrustCause.UNVERIFIED,
          "connected to " + source.address() + " again, maybe to another process");
      attempts = 0;
      startReplay(Purpose.VERIFY, expected - 1);
    } else if (!canReplay && synced && hasIdentity) {
      awaitsIdentity = true;
      trust.raise(
          TrustCause.UNVERIFIED,
          "connected to " + source.address() + " again, its identity is not heard yet");
    } else {
      if (synced || phase == Phase.REPLAYING) {
        restart(Counter.RESTARTS_RECONNECT);
      }
      begin();
    }
  }

  /** A connection could not even be begun, its host unknown for now say; it is tried again. */
  void onConnectFailed(String why) {
    counters.increment(Counter.CONNECTS_FAILED);
    trust.raise(TrustCause.UNREACHABLE, "no connection to " + source.address() + " yet: " + why);
    publish();
  }

  void onDisconnected() {
    counters.increment(Counter.DISCONNECTS);
    trust.drop(TrustCause.SILENT);
    trust.raise(TrustCause.UNREACHABLE, "the connection to " + source.address() + " is lost");
    publish();
  }

  /** Forgets what is known and begins again, because an operator says so. */
  void onReset() {
    restart(Counter.RESETS_BY_HAND);
    flaps = 0;
    sinceRestart = FLAP_MESSAGES;
    trust.drop(TrustCause.TWO_PUBLISHERS);
    begin();
    publish();
  }

  // ---- live messages

  /** Takes the frames of one live message. */
  void onLive(byte[][] frames, long now) {
    counters.increment(Counter.MESSAGES);
    if (frames.length != 3) {
      counters.refused(Refusal.FRAME_COUNT);
      boolean readable =
          frames.length > 1
              && (frames[1].length == Long.BYTES || frames[1].length == IDENTITY_FRAME);
      if (readable) {
        live(frames[0], frames[1], null, now);
      }
    } else if (frames[1].length < Long.BYTES) {
      counters.refused(Refusal.SEQUENCE_LENGTH);
    } else {
      live(frames[0], frames[1], frames[2], now);
    }
    publish();
  }

  private void live(byte[] newTopic, byte[] frame, byte @Nullable [] payload, long now) {
    if (phase == Phase.AMBIGUOUS) {
      counters.refused(Refusal.TWO_PUBLISHERS);
      return;
    }
    sinceRestart++;
    long sequence = (long) LONGS.get(frame, 0);
    if (isOther(newTopic, frame)) {
      restartFromLive(Counter.RESTARTS_IDENTITY, now);
    } else if (awaitsIdentity && frame.length < IDENTITY_FRAME) {
      restart(Counter.RESTARTS_RECONNECT);
    } else if (hasLastLive && Long.compareUnsigned(sequence, lastLive) <= 0) {
      restartFromLive(Counter.RESTARTS_SEQUENCE, now);
    }
    if (phase == Phase.AMBIGUOUS) {
      counters.refused(Refusal.TWO_PUBLISHERS);
      return;
    }
    identify(newTopic, frame);
    hasLastLive = true;
    lastLive = sequence;
    if (phase == Phase.REPLAYING) {
      hold(sequence, payload);
    } else {
      arrive(sequence, payload, now);
    }
  }

  private boolean isOther(byte[] newTopic, byte[] frame) {
    if (topic != null && source.topic() == null && !Arrays.equals(topic, newTopic)) {
      return true;
    }
    return hasIdentity
        && frame.length >= IDENTITY_FRAME
        && ((long) LONGS.get(frame, 8) != identityHigh
            || (long) LONGS.get(frame, 16) != identityLow);
  }

  private void identify(byte[] newTopic, byte[] frame) {
    if (topic == null || !Arrays.equals(topic, newTopic)) {
      topic = newTopic;
    }
    if (frame.length >= IDENTITY_FRAME) {
      hasIdentity = true;
      identityHigh = (long) LONGS.get(frame, 8);
      identityLow = (long) LONGS.get(frame, 16);
    }
    if (awaitsIdentity) {
      awaitsIdentity = false;
      trust.drop(TrustCause.UNVERIFIED);
    }
    trust.drop(TrustCause.SILENT);
    trust.drop(TrustCause.UNREACHABLE);
  }

  private void hold(long sequence, byte @Nullable [] payload) {
    int bytes = payload == null ? 0 : payload.length;
    if (held.size() >= source.heldBatches() || heldBytes + bytes > HELD_BYTES) {
      // Asked for when this replay has ended: an engine that falls idle now shows no gap.
      counters.increment(Counter.QUEUE_OVERFLOWS);
      overflowed = true;
      return;
    }
    heldBytes += bytes;
    held.add(new Held(sequence, payload));
  }

  private void arrive(long sequence, byte @Nullable [] payload, long now) {
    if (!synced) {
      first(sequence, payload, now);
      return;
    }
    int order = Long.compareUnsigned(sequence, expected);
    if (order == 0) {
      apply(sequence, payload, now);
    } else if (order > 0) {
      gap(sequence);
      if (canReplay) {
        hold(sequence, payload);
        attempts = replayIsDead ? ATTEMPTS - 1 : 0;
        startReplay(Purpose.GAP, expected);
      } else {
        startOver(sequence, "sequence " + text(expected) + " is missing, and there is no replay");
        apply(sequence, payload, now);
      }
    } else if (isOnItsOtherWay(sequence, payload)) {
      counters.increment(Counter.DUPLICATES);
    } else {
      restartFromLive(Counter.RESTARTS_SEQUENCE, now);
      if (phase != Phase.AMBIGUOUS) {
        hasLastLive = true;
        lastLive = sequence;
        first(sequence, payload, now);
      }
    }
  }

  /**
   * Whether a live message below the expected sequence is one that a replay has brought, or has
   * passed over because the engine did not hold it any more: then it is not younger than what the
   * replay brought.
   */
  private boolean isOnItsOtherWay(long sequence, byte @Nullable [] payload) {
    if (payload == null || overlap.holds(sequence, payload)) {
      return true;
    }
    if (!overlap.isAfter(sequence)) {
      return false;
    }
    try {
      return decoder.decode(payload).timestamp <= replayedUntil;
    } catch (WireFault fault) {
      return true;
    }
  }

  private void gap(long sequence) {
    counters.increment(Counter.GAPS);
    counters.add(Counter.BATCHES_MISSED, sequence - expected);
  }

  private void first(long sequence, byte @Nullable [] payload, long now) {
    if (sequence == 0) {
      trust.drop(TrustCause.INCOMPLETE);
    } else if (canReplay && !replayIsDead) {
      hold(sequence, payload);
      attempts = 0;
      startReplay(Purpose.BOOTSTRAP, 0);
      return;
    } else {
      trust.raise(
          TrustCause.INCOMPLETE,
          "joined at sequence "
              + text(sequence)
              + (canReplay
                  ? ", and the replay socket does not answer"
                  : ", and there is no replay"));
    }
    synced = true;
    expected = sequence;
    phase = Phase.LIVE;
    apply(sequence, payload, now);
  }

  private static String text(long sequence) {
    return Long.toUnsignedString(sequence);
  }

  // ---- batches

  private void apply(long sequence, byte @Nullable [] payload, long now) {
    expected = sequence + 1;
    lastPayload = payload;
    if (payload == null) {
      lost(Refusal.FRAME_COUNT, now);
      return;
    }
    try {
      WireBatch batch = decoder.decode(payload);
      timestamp = batch.timestamp;
      tapping.take(source.member(), sequence, phase == Phase.REPLAYING, batch);
      if (batch.hasRank && batch.rank != source.member().dpRank() && source.rankChecked()) {
        otherRank(batch.rank, now);
        return;
      }
      counters.increment(Counter.BATCHES);
      if (batch.size() == 0) {
        counters.increment(Counter.EMPTY_BATCHES);
      } else {
        boolean understood = normaliser.apply(batch) > 0;
        lastRefusal = normaliser.lastRefusal();
        judge(understood, now);
      }
    } catch (WireFault fault) {
      counters.refused(fault.refusal());
      lost(fault.refusal(), now);
    }
  }

  private void otherRank(int rank, long now) {
    counters.refused(Refusal.OTHER_RANK);
    lastRefusal = Refusal.OTHER_RANK;
    trust.raise(
        TrustCause.OTHER_RANK,
        "batches of rank "
            + Integer.toUnsignedString(rank)
            + " arrive at "
            + source.address()
            + ", which is rank "
            + Integer.toUnsignedString(source.member().dpRank()));
    judge(false, now);
  }

  /** A whole batch is lost: whatever it removed is still there. */
  private void lost(Refusal refusal, long now) {
    lastRefusal = refusal;
    if (!trust.has(TrustCause.LOST_REMOVAL)) {
      trust.raise(TrustCause.LOST_REMOVAL, "a batch was refused: " + refusal.label());
    }
    judge(false, now);
  }

  private void judge(boolean understood, long now) {
    if (understood) {
      onlyRefused = false;
      trust.drop(TrustCause.ONLY_REFUSED);
    } else if (!onlyRefused) {
      onlyRefused = true;
      onlyRefusedSince = now;
    }
  }

  /** Lets time pass. Call it about once a second. */
  void onTick(long now) {
    if (onlyRefused && now - onlyRefusedSince >= ONLY_REFUSED_NANOS) {
      trust.raise(TrustCause.ONLY_REFUSED, "nothing but refused events: " + lastRefusal.label());
    }
    if (phase == Phase.AMBIGUOUS && now - ambiguousUntil >= 0) {
      phase = Phase.WAITING;
      flaps = 0;
      sinceRestart = FLAP_MESSAGES;
      trust.drop(TrustCause.TWO_PUBLISHERS);
      begin();
    }
    confirm();
    publish();
  }

  /**
   * What was published between the first replay and the moment when the subscription took effect
   * would only show as a gap with the next live message, which an idle engine does not send.
   */
  private void confirm() {
    if (ticksToConfirm > 0 && canReplay && phase == Phase.LIVE && --ticksToConfirm == 0) {
      attempts = ATTEMPTS - 1;
      startReplay(Purpose.CONFIRM, expected);
    }
  }

  // ---- restarts and resets

  private void restartFromLive(Counter cause, long now) {
    flaps = sinceRestart < FLAP_MESSAGES ? flaps + 1 : 1;
    sinceRestart = 0;
    restart(cause);
    if (flaps >= FLAPS) {
      phase = Phase.AMBIGUOUS;
      ambiguousUntil = now + ambiguousNanos;
      ambiguousNanos = Math.min(2 * ambiguousNanos, LONGEST_AMBIGUOUS_NANOS);
      trust.raise(TrustCause.TWO_PUBLISHERS, "two publishers answer as one at " + source.address());
    }
  }

  /** Another process: nothing that the old one said holds any more. */
  private void restart(Counter cause) {
    counters.increment(cause);
    stopReplay();
    clearHeld();
    overlap.clear();
    normaliser.reset();
    trust.dropProcessCauses();
    trust.drop(TrustCause.UNVERIFIED);
    phase = Phase.WAITING;
    synced = false;
    expected = 0;
    lastPayload = null;
    hasLastLive = false;
    topic = null;
    hasIdentity = false;
    awaitsIdentity = false;
    onlyRefused = false;
    replayIsDead = false;
    missedReplay = false;
  }

  /** The same process, but what lies before a sequence cannot be had: begins there with nothing. */
  private void startOver(long sequence, String why) {
    normaliser.reset();
    trust.dropContentCauses();
    trust.raise(TrustCause.INCOMPLETE, why);
    overlap.clear();
    synced = true;
    expected = sequence;
  }

  private void clearHeld() {
    held.clear();
    heldBytes = 0;
    overflowed = false;
  }

  // ---- replays

  private void startReplay(Purpose newPurpose, long from) {
    phase = Phase.REPLAYING;
    purpose = newPurpose;
    replayFrom = from;
    heardBeforeReplay = hasLastLive;
    heardUntil = lastLive;
    replySeen = false;
    request++;
    if (newPurpose == Purpose.BOOTSTRAP) {
      trust.drop(TrustCause.INCOMPLETE);
    }
    if (newPurpose != Purpose.CONFIRM) {
      trust.raise(TrustCause.REPLAYING, "a replay from sequence " + text(from) + " is under way");
    }
    counters.increment(Counter.REPLAYS_STARTED);
    output.requestReplay(request, from);
  }

  private void stopReplay() {
    if (phase == Phase.REPLAYING) {
      request++;
      output.cancelReplay();
    }
    trust.drop(TrustCause.REPLAYING);
  }

  /**
   * Takes the frames of one reply as a DEALER socket sees them, the empty delimiter first.
   *
   * @return whether the replay got on by it
   */
  boolean onReplay(long ofRequest, byte[][] frames, long now) {
    if (ofRequest != request || phase != Phase.REPLAYING) {
      return false;
    }
    long duplicates = counters.get(Counter.DUPLICATES);
    int at = frames.length - 2;
    boolean known =
        (frames.length == 3 || frames.length == 4)
            && frames[0].length == 0
            && frames[at].length >= Long.BYTES;
    long sequence = known ? (long) LONGS.get(frames[at], 0) : 0;
    boolean isEnd = known && sequence == END_MARK;
    if (!known || (isEnd && frames[at + 1].length != 0)) {
      counters.increment(Counter.REPLAYS_MALFORMED);
      output.cancelReplay();
      broken(now);
    } else if (isEnd) {
      ended(now);
    } else {
      replayed(sequence, frames[at + 1], now);
    }
    publish();
    return counters.get(Counter.DUPLICATES) == duplicates;
  }

  private void replayed(long sequence, byte[] payload, long now) {
    counters.increment(Counter.REPLAYED_BATCHES);
    boolean isFirst = !replySeen;
    replySeen = true;
    replayIsDead = false;
    if (isFirst && purpose == Purpose.VERIFY && verified(sequence, payload)) {
      return;
    }
    if (!synced) {
      synced = true;
      expected = replayFrom;
    }
    int order = Long.compareUnsigned(sequence, expected);
    if (order < 0) {
      counters.increment(Counter.DUPLICATES);
      return;
    }
    if (order > 0) {
      counters.increment(Counter.REPLAYS_TRUNCATED);
      startOver(
          sequence,
          "a replay has sequence "
              + text(sequence)
              + " where "
              + text(expected)
              + " was needed: the engine does not hold it any more");
    }
    overlap.add(sequence, payload);
    apply(sequence, payload, now);
    replayedUntil = timestamp;
  }

  /** Whether nothing is left to do with the first batch of a reply that had to prove itself. */
  private boolean verified(long sequence, byte[] payload) {
    if (sequence == replayFrom && Arrays.equals(payload, lastPayload)) {
      counters.increment(Counter.DUPLICATES);
      trust.drop(TrustCause.UNVERIFIED);
      purpose = Purpose.GAP;
      return true;
    }
    if (sequence == replayFrom) {
      restart(Counter.RESTARTS_RECONNECT);
      begin();
      return true;
    }
    // The proof is gone from the engine's buffer: what follows is right, what came before is not
    // known.
    counters.increment(Counter.RESTARTS_RECONNECT);
    trust.dropProcessCauses();
    trust.drop(TrustCause.UNVERIFIED);
    purpose = Purpose.GAP;
    expected = replayFrom;
    return false;
  }

  private void ended(long now) {
    counters.increment(Counter.REPLAYS_COMPLETED);
    replayIsDead = false;
    if (purpose == Purpose.VERIFY) {
      // It does not even have the last batch: another process that has said less so far.
      restart(Counter.RESTARTS_RECONNECT);
      begin();
      return;
    }
    if (purpose == Purpose.CONFIRM && missedReplay) {
      // It answers after all, and what it holds is at least what was heard live.
      missedReplay = false;
      normaliser.reset();
      overlap.clear();
      synced = false;
      begin();
      return;
    }
    missedReplay = false;
    trust.drop(TrustCause.REPLAYING);
    if (!synced) {
      synced = true;
      expected = 0;
    }
    phase = Phase.LIVE;
    drain(now);
  }

  /** Whether more is to come of a request. */
  boolean waitsFor(long ofRequest) {
    return ofRequest == request && phase == Phase.REPLAYING;
  }

  /** The request has brought nothing for too long, or cannot be made. */
  void onReplayFailed(long ofRequest, long now) {
    if (ofRequest == request && phase == Phase.REPLAYING) {
      counters.increment(Counter.REPLAYS_TIMED_OUT);
      broken(now);
      publish();
    }
  }

  private void broken(long now) {
    boolean unproven = purpose == Purpose.VERIFY;
    if (!unproven && synced && expected != replayFrom) {
      attempts = 0;
    }
    if (++attempts < ATTEMPTS) {
      // What a first replay has begun is gone on with; that it began too late stays true.
      Purpose next = purpose == Purpose.BOOTSTRAP && synced ? Purpose.GAP : purpose;
      startReplay(next, unproven || !synced ? replayFrom : expected);
      return;
    }
    giveUp(now);
  }

  private void giveUp(long now) {
    replayIsDead = true;
    if (purpose == Purpose.CONFIRM) {
      ticksToConfirm = missedReplay ? RETRY_TICKS : 0;
      phase = Phase.LIVE;
      drain(now);
      return;
    }
    missedReplay = true;
    ticksToConfirm = RETRY_TICKS;
    if (purpose == Purpose.VERIFY) {
      counters.increment(Counter.RESTARTS_RECONNECT);
      trust.dropProcessCauses();
    }
    trust.drop(TrustCause.REPLAYING);
    trust.drop(TrustCause.UNVERIFIED);
    Held oldest = held.peek();
    startOver(
        oldest == null ? 0 : oldest.sequence,
        "the replay socket at " + source.replayAddress() + " does not answer");
    if (oldest == null) {
      synced = false;
      phase = Phase.WAITING;
    } else {
      phase = Phase.LIVE;
      drain(now);
    }
  }

  /** Applies what was held back, up to the next gap. */
  private void drain(long now) {
    while (phase == Phase.LIVE && !held.isEmpty()) {
      Held next = held.remove();
      byte[] payload = next.payload;
      heldBytes -= payload == null ? 0 : payload.length;
      int order = Long.compareUnsigned(next.sequence, expected);
      if (order == 0) {
        apply(next.sequence, payload, now);
      } else if (order > 0) {
        heldGap(next, now);
      } else if (isOnItsOtherWay(next.sequence, payload)) {
        counters.increment(Counter.DUPLICATES);
      } else {
        heldRestart(next, now);
      }
    }
    if (phase == Phase.LIVE && overflowed) {
      askForOverflow();
    }
    if (phase == Phase.LIVE && hasLastLive && Long.compareUnsigned(lastLive + 1, expected) >= 0) {
      overlap.clear();
    }
  }

  /** What found no room while a replay ran is the end of the stream so far. */
  private void askForOverflow() {
    if (!hasLastLive || Long.compareUnsigned(lastLive, expected) < 0) {
      overflowed = false;
      return;
    }
    gap(lastLive + 1);
    if (replayIsDead || isRefusedTo(lastLive)) {
      overflowed = false;
      counters.increment(Counter.REPLAYS_TRUNCATED);
      startOver(
          lastLive + 1,
          "sequence " + text(expected) + " found no room, and the replay did not bring it");
      return;
    }
    attempts = 0;
    startReplay(Purpose.GAP, expected);
  }

  private void heldGap(Held next, long now) {
    gap(next.sequence);
    if (!isRefusedTo(next.sequence)) {
      held.addFirst(next);
      heldBytes += next.payload == null ? 0 : next.payload.length;
      attempts = replayIsDead ? ATTEMPTS - 1 : 0;
      startReplay(Purpose.GAP, expected);
      return;
    }
    counters.increment(Counter.REPLAYS_TRUNCATED);
    startOver(
        next.sequence,
        "sequence " + text(expected) + " is missing, and the replay did not bring it");
    apply(next.sequence, next.payload, now);
  }

  /**
   * Whether the last replay shows that what is missing before a live message cannot be had: it
   * brought nothing, although the message had been heard when it was asked for. One that brought
   * something may be followed by another that brings the rest, and one that was asked for earlier,
   * to confirm that nothing is missing, was right when it answered.
   */
  private boolean isRefusedTo(long sequence) {
    return expected == replayFrom
        && heardBeforeReplay
        && Long.compareUnsigned(sequence, heardUntil) <= 0;
  }

  /** What was held back is another process's: it, and all that was held after it, begins anew. */
  private void heldRestart(Held next, long now) {
    List<Held> ofNewProcess = new ArrayList<>();
    ofNewProcess.add(next);
    ofNewProcess.addAll(held);
    boolean hadLive = hasLastLive;
    long newest = lastLive;
    restart(Counter.RESTARTS_SEQUENCE);
    hasLastLive = hadLive;
    lastLive = newest;
    for (Held one : ofNewProcess) {
      if (phase == Phase.REPLAYING) {
        hold(one.sequence, one.payload);
      } else {
        arrive(one.sequence, one.payload, now);
      }
    }
  }

  // ---- the relay's side

  /** Answers a request for what was emitted before. */
  HistoryReply history(HistoryRequest wanted) {
    long newest = assembler.lastId();
    if (wanted.start().isEmpty()) {
      return dump(newest);
    }
    long start = wanted.start().getAsLong();
    long end = wanted.end().orElse(newest);
    if (wanted.end().isPresent() && Long.compareUnsigned(end, start) < 0) {
      return new HistoryReply.InvalidRange(start, end);
    }
    if (newest == 0) {
      return dump(0);
    }
    if (Long.compareUnsigned(start, newest) > 0) {
      return new HistoryReply.TooNew(start, end, newest);
    }
    List<KvEvent> events = ring.from(start, newest);
    if (events == null) {
      return dump(newest);
    }
    counters.increment(Counter.HISTORIES);
    return new HistoryReply.Events(events, newest);
  }

  private HistoryReply dump(long newest) {
    counters.increment(Counter.DUMPS);
    return new HistoryReply.TreeDump(normaliser.dump(), newest, HistoryReply.ResetScope.ALL);
  }

  private void publish() {
    List<KvEvent> events = assembler.take();
    if (!events.isEmpty()) {
      output.events(events);
    }
    if (trust.takeChange()) {
      output.trust(trust.level(), trust.reason());
    }
  }
}
