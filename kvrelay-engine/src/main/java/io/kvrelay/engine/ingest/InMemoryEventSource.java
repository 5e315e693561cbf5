package io.kvrelay.engine.ingest;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.RelayRuntime;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * The event source of workers in the same JVM: what they publish goes to every follower, and what
 * they hold can be asked for. It is complete (rings of recent events, exact dumps, incarnations)
 * and it misbehaves on command, for tests and demonstrations.
 *
 * <p>Thread safe; nothing blocks, but an event may wait while its rank's state is copied.
 */
public final class InMemoryEventSource implements KvEventSource {
  private final RelayRuntime runtime;
  private final int ringCapacity;
  private final Map<Long, Rank> ranks = new ConcurrentHashMap<>();
  private final List<Follower> followers = new CopyOnWriteArrayList<>();

  /**
   * Creates a source without ranks.
   *
   * @param runtime where dumps are made, and randomness for publisher ids
   * @param ringCapacity recent events that each rank keeps, at least 1
   * @throws IllegalArgumentException if a rank could keep none
   */
  public InMemoryEventSource(RelayRuntime runtime, int ringCapacity) {
    this.runtime = runtime;
    this.ringCapacity = new EventRing(ringCapacity).capacity();
  }

  /**
   * Starts a publisher with an empty cache. Its event ids start at 1.
   *
   * @param kvStateEndpoint where it is advertised
   * @param member the rank it speaks for
   * @param recoverable whether it can be asked for history
   * @return the publisher; it is followed from its first event on
   */
  public Rank start(EndpointId kvStateEndpoint, Member member, boolean recoverable) {
    long publisherId = runtime.randomLong();
    EventSourceAdvertisement advertisement =
        new EventSourceAdvertisement(
            kvStateEndpoint,
            member,
            publisherId,
            recoverable ? "memory:" + Long.toUnsignedString(publisherId) : null,
            null);
    Rank rank = new Rank(advertisement, new HistoryDesk(member, ringCapacity, runtime.executor()));
    ranks.put(publisherId, rank);
    return rank;
  }

  /**
   * What the deployment's facts should say about the publishers that run.
   *
   * @return one advertisement each, in no order
   */
  public List<EventSourceAdvertisement> advertisements() {
    return ranks.values().stream().map(Rank::advertisement).toList();
  }

  @Override
  public Following follow(EndpointId kvStateEndpoint, KvEventListener listener) {
    Follower follower = new Follower(kvStateEndpoint, listener);
    followers.add(follower);
    return follower;
  }

  @Override
  public CompletionStage<HistoryReply> history(
      EventSourceAdvertisement source, HistoryRequest request) {
    Rank rank = ranks.get(source.publisherId());
    return rank == null
        ? CompletableFuture.completedFuture(
            new HistoryReply.Failed(
                "publisher " + Long.toUnsignedString(source.publisherId()) + " does not run"))
        : rank.history(request);
  }

  /**
   * Ends every subscription by itself, as a lost connection would.
   *
   * @param error what the listeners are told
   */
  public void endSubscriptions(RelayException error) {
    List<Follower> ended = new ArrayList<>(followers);
    followers.removeAll(ended);
    for (Follower follower : ended) {
      follower.tell(listener -> listener.onFailure(error));
      follower.close();
    }
  }

  /** One subscription. Calls are counted, so that its end can be told from outside. */
  private final class Follower implements Following {
    private static final int CLOSED = 1 << 30;

    private final EndpointId endpoint;
    private final KvEventListener listener;
    private final AtomicInteger calls = new AtomicInteger();
    private final CompletableFuture<Void> over = new CompletableFuture<>();

    private Follower(EndpointId endpoint, KvEventListener listener) {
      this.endpoint = endpoint;
      this.listener = listener;
    }

    private void tell(Consumer<KvEventListener> call) {
      if (calls.incrementAndGet() < CLOSED) {
        call.accept(listener);
      }
      if (calls.decrementAndGet() == CLOSED) {
        over.complete(null);
      }
    }

    private void close() {
      if (calls.get() < CLOSED && calls.addAndGet(CLOSED) == CLOSED) {
        over.complete(null);
      }
    }

    @Override
    public CompletionStage<Void> stop() {
      followers.remove(this);
      close();
      return over.minimalCompletionStage();
    }
  }

  /**
   * One life of one rank's publisher. Thread safe; its batches go out in the order of the calls.
   * Engine hashes that a removal names need not be there.
   */
  public final class Rank {
    private final EventSourceAdvertisement advertisement;
    private final HistoryDesk desk;

    // Guarded by this.
    private long lastEventId;
    private int batchesToLose;
    private int requestsToFail;
    private boolean silent;
    private boolean cutOff;
    private long lostBatches;

    private Rank(EventSourceAdvertisement advertisement, HistoryDesk desk) {
      this.advertisement = advertisement;
      this.desk = desk;
    }

    /**
     * How the deployment's facts should describe it.
     *
     * @return the advertisement
     */
    public EventSourceAdvertisement advertisement() {
      return advertisement;
    }

    /**
     * The rank it speaks for.
     *
     * @return the member
     */
    public Member member() {
      return advertisement.member();
    }

    /**
     * The id that the next event should have.
     *
     * @return the id (unsigned)
     */
    public synchronized long nextEventId() {
      return lastEventId + 1;
    }

    /**
     * Blocks in device memory, the first of a sequence.
     *
     * @param engineHashes the engine's block ids
     * @param localHashes the blocks' local hashes, at the same indexes
     */
    public synchronized void store(long[] engineHashes, long[] localHashes) {
      publish(KvEvent.stored(member(), nextEventId(), engineHashes, localHashes).build());
    }

    /**
     * Blocks in device memory that continue a sequence.
     *
     * @param parent the engine's id of the block before the first one
     * @param engineHashes the engine's block ids
     * @param localHashes the blocks' local hashes, at the same indexes
     */
    public synchronized void store(long parent, long[] engineHashes, long[] localHashes) {
      publish(
          KvEvent.stored(member(), nextEventId(), engineHashes, localHashes)
              .parent(parent)
              .build());
    }

    /**
     * Blocks that left device memory.
     *
     * @param engineHashes the engine's block ids
     */
    public synchronized void remove(long... engineHashes) {
      publish(KvEvent.removed(member(), nextEventId(), engineHashes).build());
    }

    /** Everything left device memory. */
    public synchronized void clear() {
      publish(KvEvent.cleared(member(), nextEventId()).build());
    }

    /**
     * Applies events to the cache, records them, and sends them as one batch.
     *
     * @param events with ids from {@link #nextEventId()} on; an id may be left out
     * @throws IllegalArgumentException if one is of another rank, cannot be applied to the cache,
     *     or its id is not above the one before; those before it are recorded but not sent
     */
    public synchronized void publish(KvEvent... events) {
      for (KvEvent event : events) {
        if (Long.compareUnsigned(event.eventId(), lastEventId) <= 0) {
          throw new IllegalArgumentException(
              "event.eventId = "
                  + Long.toUnsignedString(event.eventId())
                  + ": must be above "
                  + Long.toUnsignedString(lastEventId));
        }
        desk.record(event);
        lastEventId = event.eventId();
      }
      if (batchesToLose > 0) {
        batchesToLose--;
        lostBatches++;
      } else {
        send(new KvEventBatch(advertisement.publisherId(), List.of(events)));
      }
    }

    /**
     * Sends a batch as it is, without recording it: a duplicate, a late one, or one that no honest
     * publisher sends.
     *
     * @param batch the batch
     */
    public synchronized void send(KvEventBatch batch) {
      tell(listener -> listener.onBatch(batch));
    }

    private void tell(Consumer<KvEventListener> call) {
      for (Follower follower : cutOff ? List.<Follower>of() : followers) {
        if (follower.endpoint.equals(advertisement.kvStateEndpoint())) {
          follower.tell(call);
        }
      }
    }

    /**
     * Tells followers how far to trust it.
     *
     * @param trust the level
     * @param reason for people
     */
    public synchronized void trust(SourceTrust trust, String reason) {
      tell(listener -> listener.onTrust(advertisement.publisherId(), trust, reason));
    }

    /**
     * Tells followers that its stream broke.
     *
     * @param reason for people
     */
    public synchronized void breakStream(String reason) {
      tell(listener -> listener.onDiscontinuity(advertisement.publisherId(), reason));
    }

    /** Ends it: it is neither advertised nor answers. What it still sends goes out all the same. */
    public void stop() {
      ranks.remove(advertisement.publisherId(), this);
    }

    /**
     * Ends it and starts a new publisher of the same rank with an empty cache, as a restarted
     * worker would.
     *
     * @return the new one
     */
    public Rank restart() {
      stop();
      return start(
          advertisement.kvStateEndpoint(),
          advertisement.member(),
          advertisement.recoveryTarget() != null);
    }

    /**
     * Restarts it where it is, as a worker whose process restarts under the identity that it had:
     * the same publisher id, an empty cache, event ids from 1. Followers are told that the stream
     * broke; this object speaks to nobody any more.
     *
     * @return the new life
     */
    public Rank restartInPlace() {
      synchronized (this) {
        cutOff = true;
      }
      Rank next =
          new Rank(advertisement, new HistoryDesk(member(), ringCapacity, runtime.executor()));
      ranks.put(advertisement.publisherId(), next);
      next.breakStream("the publisher restarted");
      return next;
    }

    /**
     * Loses the next batches on their way.
     *
     * @param batches how many
     */
    public synchronized void loseBatches(int batches) {
      batchesToLose = batches;
    }

    /**
     * Number of batches lost on command.
     *
     * @return the number
     */
    public synchronized long lostBatches() {
      return lostBatches;
    }

    /**
     * Fails the next dumps.
     *
     * @param dumps how many
     */
    public void failDumps(int dumps) {
      desk.failDumps(dumps);
    }

    /**
     * Fails the next history requests as a broken connection would.
     *
     * @param requests how many
     */
    public synchronized void failRequests(int requests) {
      requestsToFail = requests;
    }

    /**
     * Leaves history requests unanswered.
     *
     * @param unanswered whether
     */
    public synchronized void leaveUnanswered(boolean unanswered) {
      silent = unanswered;
    }

    /**
     * What its cache holds in device memory.
     *
     * @return sequence hash by engine hash; a copy
     */
    public Map<Long, Long> blocks() {
      return desk.primary();
    }

    private CompletionStage<HistoryReply> history(HistoryRequest request) {
      synchronized (this) {
        if (silent) {
          return new CompletableFuture<>();
        }
        if (requestsToFail > 0) {
          requestsToFail--;
          return CompletableFuture.failedStage(new IOException("connection lost"));
        }
      }
      return desk.answer(request, true);
    }
  }
}
