package io.kvrelay.testkit.sim;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.RelayRuntime;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An event source that stands before another one and lets things go wrong on command: the fault
 * controller of the way from workers to one relay. Give every relay its own, and a fault concerns
 * no other one.
 *
 * <p>Faults are counted, not drawn: each happens to the next batches, or requests, of a publisher
 * or of anyone. On a virtual runtime the same commands therefore have the same effect in every run.
 * Where several are pending, those of the publisher come first, then kinds in the order of their
 * declaration; one batch or request suffers one.
 *
 * <p>Thread safe; nothing blocks, except that the batches of one follower wait for each other.
 */
public final class FaultyEventSource implements KvEventSource {
  private final KvEventSource target;
  private final RelayRuntime runtime;
  private final FaultBoard<LiveFault> live = new FaultBoard<>(LiveFault.class);
  private final FaultBoard<HistoryFault> past = new FaultBoard<>(HistoryFault.class);
  private final Set<FaultyLink> links = ConcurrentHashMap.newKeySet();
  private volatile long liveDelayNanos;
  private volatile long historyDelayNanos;

  /**
   * Stands before a source; nothing goes wrong yet.
   *
   * @param target the source
   * @param runtime times delays
   */
  public FaultyEventSource(KvEventSource target, RelayRuntime runtime) {
    this.target = target;
    this.runtime = runtime;
  }

  /**
   * Lets something happen to the next batches, whoever sends them.
   *
   * @param fault what
   * @param batches to how many; one that goes to several followers counts for each
   */
  public void next(LiveFault fault, int batches) {
    live.add(fault, batches);
  }

  /**
   * Lets something happen to the next batches of one publisher.
   *
   * @param fault what
   * @param publisherId the publisher
   * @param batches to how many; one that goes to several followers counts for each
   */
  public void next(LiveFault fault, long publisherId, int batches) {
    live.add(fault, publisherId, batches);
  }

  /**
   * Lets something become of the next requests for history, whoever is asked.
   *
   * @param fault what
   * @param requests of how many
   */
  public void next(HistoryFault fault, int requests) {
    past.add(fault, requests);
  }

  /**
   * Lets something become of the next requests for the history of one publisher.
   *
   * @param fault what
   * @param publisherId the publisher
   * @param requests of how many
   */
  public void next(HistoryFault fault, long publisherId, int requests) {
    past.add(fault, publisherId, requests);
  }

  /**
   * Holds every batch from now on for a while. Each publisher's batches stay in order.
   *
   * @param delay how long; zero for none
   */
  public void delayLive(Duration delay) {
    liveDelayNanos = delay.toNanos();
  }

  /**
   * Holds every answer from now on for a while.
   *
   * @param delay how long; zero for none
   */
  public void delayHistory(Duration delay) {
    historyDelayNanos = delay.toNanos();
  }

  /**
   * Ends every subscription to live events by itself, as a lost connection would. What was under
   * way is lost.
   *
   * @param reason for people
   */
  public void failLive(String reason) {
    RelayException error = new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, reason);
    for (FaultyLink link : new ArrayList<>(links)) {
      link.fail(error);
    }
  }

  /**
   * Tells followers that a publisher's stream broke, as a provider that lost track would. What was
   * held of its batches is lost.
   *
   * @param publisherId the publisher
   * @param reason for people
   */
  public void discontinuity(long publisherId, String reason) {
    links.forEach(link -> link.onDiscontinuity(publisherId, reason));
  }

  /**
   * Tells followers how far a publisher is to be trusted.
   *
   * @param publisherId the publisher
   * @param trust the level
   * @param reason for people
   */
  public void trust(long publisherId, SourceTrust trust, String reason) {
    links.forEach(link -> link.onTrust(publisherId, trust, reason));
  }

  /** Forgets what was still to go wrong, and delivers what waits for a successor. */
  public void heal() {
    live.clear();
    past.clear();
    liveDelayNanos = 0;
    historyDelayNanos = 0;
    links.forEach(FaultyLink::releaseHeld);
  }

  /**
   * How often something happened to a batch.
   *
   * @param fault what
   * @return the number
   */
  public long injected(LiveFault fault) {
    return live.injected(fault);
  }

  /**
   * How often something became of a request.
   *
   * @param fault what
   * @return the number
   */
  public long injected(HistoryFault fault) {
    return past.injected(fault);
  }

  @Override
  public Following follow(EndpointId kvStateEndpoint, KvEventListener listener) {
    FaultyLink link = new FaultyLink(this, runtime, listener);
    links.add(link);
    link.follow(target, kvStateEndpoint);
    return link;
  }

  long liveDelayNanos() {
    return liveDelayNanos;
  }

  FaultBoard<LiveFault> live() {
    return live;
  }

  void forget(FaultyLink link) {
    links.remove(link);
  }

  @Override
  public CompletionStage<HistoryReply> history(
      EventSourceAdvertisement source, HistoryRequest request) {
    HistoryFault fault = past.take(source.publisherId());
    if (fault == HistoryFault.SILENCE) {
      return new CompletableFuture<>();
    }
    CompletionStage<HistoryReply> answer =
        fault == HistoryFault.BREAK
            ? CompletableFuture.failedStage(new IOException("the connection broke"))
            : target.history(source, request);
    CompletionStage<HistoryReply> spoiled =
        fault == null ? answer : answer.thenApply(reply -> spoil(fault, request.member(), reply));
    return late(spoiled);
  }

  private CompletionStage<HistoryReply> late(CompletionStage<HistoryReply> answer) {
    long delay = historyDelayNanos;
    if (delay == 0) {
      return answer;
    }
    CompletableFuture<HistoryReply> later = new CompletableFuture<>();
    runtime.schedule(
        delay,
        () ->
            answer.whenComplete(
                (reply, error) -> {
                  if (error == null) {
                    later.complete(reply);
                  } else {
                    later.completeExceptionally(error);
                  }
                }));
    return later;
  }

  private static HistoryReply spoil(HistoryFault fault, Member member, HistoryReply reply) {
    return switch (fault) {
      case BREAK, SILENCE -> reply; // there is no answer
      case REFUSE -> new HistoryReply.Failed("refused on command");
      case DUMP_FAILURE -> new HistoryReply.TreeDumpFailed(newest(reply), "failed on command");
      case CUT -> reply instanceof HistoryReply.Events events ? cut(events) : reply;
      case PARTIAL_DUMP ->
          reply instanceof HistoryReply.TreeDump dump
              ? new HistoryReply.TreeDump(
                  dump.events(), dump.last(), HistoryReply.ResetScope.PARTIAL)
              : reply;
      case FOREIGN_RANK -> foreign(member, reply);
    };
  }

  private static long newest(HistoryReply reply) {
    if (reply instanceof HistoryReply.Events events) {
      return events.last();
    }
    return reply instanceof HistoryReply.TreeDump dump ? dump.last() : 0;
  }

  private static HistoryReply cut(HistoryReply.Events whole) {
    List<KvEvent> events = whole.events();
    if (events.size() < 2) {
      return whole;
    }
    List<KvEvent> half = events.subList(0, events.size() / 2);
    return new HistoryReply.Events(half, half.get(half.size() - 1).eventId());
  }

  private static HistoryReply foreign(Member member, HistoryReply reply) {
    List<KvEvent> events = new ArrayList<>();
    events.add(KvEvent.cleared(foreigner(member), 1).build());
    if (reply instanceof HistoryReply.Events known) {
      events.addAll(known.events());
      return new HistoryReply.Events(events, known.last());
    }
    if (reply instanceof HistoryReply.TreeDump dump) {
      events.addAll(dump.events());
      return new HistoryReply.TreeDump(events, dump.last(), dump.scope());
    }
    return reply;
  }

  static Member foreigner(Member member) {
    return new Member(~member.workerId(), member.dpRank());
  }

  /** A batch of a rank for which its publisher does not speak. */
  static KvEventBatch foreignBatch(KvEventBatch batch) {
    KvEvent first = batch.events().get(0);
    return new KvEventBatch(
        batch.publisherId(),
        List.of(KvEvent.cleared(foreigner(first.member()), first.eventId()).build()));
  }
}
