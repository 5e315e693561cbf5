package io.kvrelay.engine.ingest;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.KvEventErrorKind;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.RankSource;
import io.kvrelay.api.deployment.SourceStatus;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.pool.PoolFault;
import io.kvrelay.engine.pool.PoolPeek;
import io.kvrelay.engine.pool.PoolState;
import io.kvrelay.engine.pool.RankReplacement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * One ingest over a real pool, with a provider whose answers the test gives by hand and a pool
 * whose admissions, resets and replacements it can hold or fail. Time is virtual.
 *
 * <p>A block {@code b} has engine hash {@code b} and local hash {@code b}; event {@code id} stores
 * the root block {@code id} unless a test says otherwise, so that what was admitted can be read
 * from the pool.
 */
final class IngestRig implements AutoCloseable {
  static final EndpointId ENDPOINT = EndpointId.parse("ns.workers.kv");
  static final Member A = new Member(1, 0);
  static final Member A1 = new Member(1, 1);
  static final Member B = new Member(2, 0);
  static final Duration ATTEMPT = Duration.ofSeconds(30);

  private final Hush hush = new Hush();

  final VirtualRuntime runtime;
  final PoolActor pool;
  final ScriptedPort port;
  final ScriptedEvents events = new ScriptedEvents();
  final List<String> fences = new ArrayList<>();
  final RecoveryPermits permits;
  final TreeMap<Member, RankSource> ranks = new TreeMap<>();
  IngestConfig config = IngestConfig.builder().build();
  PoolIngest ingest;

  IngestRig() {
    this(VirtualRuntime.inOrder(1), 16);
  }

  IngestRig(VirtualRuntime runtime, int permits) {
    this.runtime = runtime;
    this.permits = new RecoveryPermits(permits);
    this.pool = pool(runtime);
    this.port = new ScriptedPort(PoolPort.of(pool));
  }

  static PoolActor pool(io.kvrelay.api.runtime.RelayRuntime runtime) {
    PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(4096).build();
    Digest digest = new Digest(1, 2);
    PoolId id =
        new PoolId(
            new IndexerDomainId(
                new CacheSemanticsId(digest, IdentitySource.EXPLICIT),
                new RoutingScopeId(digest, IdentitySource.EXPLICIT)),
            new DcId(3));
    return new PoolActor(config, new ProducerIdentity(id, 7, 1, config.format()), runtime);
  }

  // ---- Sources ----

  static EventSourceAdvertisement recoverable(Member member, long publisher) {
    return new EventSourceAdvertisement(ENDPOINT, member, publisher, "here", null);
  }

  static EventSourceAdvertisement liveOnly(Member member, long publisher) {
    return new EventSourceAdvertisement(ENDPOINT, member, publisher, null, null);
  }

  IngestRig with(EventSourceAdvertisement source) {
    ranks.put(source.member(), RankSource.of(source));
    return this;
  }

  IngestRig without(Member member, SourceStatus status) {
    ranks.put(member, RankSource.none(status));
    return this;
  }

  EndpointSources view() {
    return new EndpointSources(ENDPOINT, ENDPOINT, ranks);
  }

  IngestRig start() {
    ingest = PoolIngest.start(view(), port, events, permits, config, runtime, fences::add);
    settle();
    return this;
  }

  void reconcile() {
    ingest.reconcile(view());
    settle();
  }

  /** Everything that can happen without time passing. */
  void settle() {
    runtime.runUntilIdle();
  }

  void advance(long millis) {
    runtime.advance(Duration.ofMillis(millis));
  }

  /** Lets the jitter before a full recovery pass. */
  void jitter() {
    advance(3);
  }

  // ---- Events ----

  static KvEvent store(Member member, long id) {
    return KvEvent.stored(member, id, new long[] {id}, new long[] {id}).build();
  }

  static KvEvent empty(Member member, long id) {
    return KvEvent.removed(member, id, new long[0]).build();
  }

  static KvEvent clear(Member member, long id, ResidencyDomain domain) {
    return KvEvent.cleared(member, id).domain(domain).build();
  }

  static List<KvEvent> stores(Member member, long... ids) {
    return Arrays.stream(ids).mapToObj(id -> store(member, id)).toList();
  }

  void live(long publisher, KvEvent... batch) {
    events.listener.onBatch(new KvEventBatch(publisher, List.of(batch)));
    settle();
  }

  void live(long publisher, Member member, long... ids) {
    for (long id : ids) {
      live(publisher, store(member, id));
    }
  }

  static HistoryReply.Events history(Member member, long last, long... ids) {
    return new HistoryReply.Events(stores(member, ids), last);
  }

  static HistoryReply.TreeDump dump(long last, KvEvent... events) {
    return new HistoryReply.TreeDump(List.of(events), last, HistoryReply.ResetScope.ALL);
  }

  static HistoryReply.TreeDump dumpOf(Member member, long last, long... blocks) {
    return new HistoryReply.TreeDump(stores(member, blocks), last, HistoryReply.ResetScope.ALL);
  }

  // ---- What came of it ----

  PoolState state() {
    return PoolPeek.state(pool);
  }

  /** Blocks of a rank among 0..2000, in order. */
  List<Long> blocks(Member member) {
    List<Long> found = new ArrayList<>();
    for (long block = 0; block <= 2000; block++) {
      if (state().isMapped(member, block)) {
        found.add(block);
      }
    }
    return found;
  }

  RankStatus status(Member member) {
    return ingest.ranks().stream()
        .filter(rank -> rank.member().equals(member))
        .findFirst()
        .orElseThrow();
  }

  OptionalLong cursor(Member member) {
    return status(member).cursor();
  }

  long count(IngestCount what) {
    return ingest.statistics().of(what);
  }

  PoolFault fault(Member member, long publisher, PoolFault.Action action) {
    return new PoolFault(publisher, member, 1, KvEventErrorKind.ALLOCATION_FAILED, action);
  }

  FaultOutcome handle(PoolFault fault) {
    CompletableFuture<FaultOutcome> outcome = ingest.handle(fault).toCompletableFuture();
    settle();
    assertThat(outcome).isCompleted();
    return outcome.join();
  }

  /** A recoverable rank that stands live at a cursor, its blocks 1..cursor. */
  void bringLive(Member member, long publisher, long cursor) {
    with(recoverable(member, publisher));
    if (ingest == null) {
      start();
    } else {
      reconcile();
    }
    jitter();
    long[] blocks = new long[(int) cursor];
    Arrays.setAll(blocks, i -> i + 1);
    events.last(member).answer(dumpOf(member, cursor, blocks));
    settle();
    advance(20);
    assertThat(cursor(member)).hasValue(cursor);
  }

  @Override
  public void close() {
    if (ingest != null) {
      CompletableFuture<Void> stopped = ingest.stop().toCompletableFuture();
      port.release();
      settle();
      assertThat(stopped).isCompleted();
      assertThat(permits.waiting()).isZero();
    }
    pool.fence("the test is over");
    advance(2); // the pool's publication timer sleeps lazily
    hush.close();
    assertThat(runtime.pendingTimers()).as("timers left behind").isZero();
  }

  /** A provider whose answers come by hand. */
  static final class ScriptedEvents implements KvEventSource {
    record Asked(
        EventSourceAdvertisement source,
        HistoryRequest request,
        CompletableFuture<HistoryReply> reply) {
      void answer(HistoryReply answer) {
        reply.complete(answer);
      }

      void fail() {
        reply.completeExceptionally(new java.io.IOException("connection lost"));
      }
    }

    final List<Asked> asked = new ArrayList<>();
    final List<EndpointId> followed = new ArrayList<>();
    int stopped;
    boolean refuse;
    boolean refuseToFollow;
    boolean uncancellable;
    KvEventListener listener;

    @Override
    public Following follow(EndpointId kvStateEndpoint, KvEventListener newListener) {
      followed.add(kvStateEndpoint);
      if (refuseToFollow) {
        throw new IllegalStateException("not today");
      }
      listener = newListener;
      return () -> {
        stopped++;
        return CompletableFuture.completedFuture(null);
      };
    }

    @Override
    public CompletionStage<HistoryReply> history(
        EventSourceAdvertisement source, HistoryRequest request) {
      if (refuse) {
        throw new IllegalStateException("not today");
      }
      Asked next = new Asked(source, request, new CompletableFuture<>());
      asked.add(next);
      return uncancellable ? next.reply().minimalCompletionStage() : next.reply();
    }

    Asked last(Member member) {
      for (int i = asked.size() - 1; i >= 0; i--) {
        if (asked.get(i).request().member().equals(member)) {
          return asked.get(i);
        }
      }
      throw new AssertionError("rank " + member + " asked for nothing");
    }

    /** Starts of all requests of a rank; -1 for a full one. */
    List<Long> starts(Member member) {
      return asked.stream()
          .filter(each -> each.request().member().equals(member))
          .map(each -> each.request().start().orElse(-1))
          .toList();
    }
  }

  /** A pool that holds or fails what a test says. Everything else goes through. */
  static final class ScriptedPort implements PoolPort {
    private final PoolPort pool;
    final List<String> log = new ArrayList<>();
    final List<Map<Member, RankReplacement>> rebuilds = new ArrayList<>();
    final List<CompletableFuture<Void>> held = new ArrayList<>();
    long failAdmissionOf = -1;
    Member holdAdmissionsOf;
    boolean throwOnAdmission;
    int failResets;
    boolean holdResets;
    boolean holdRebuilds;
    RuntimeException failRebuild;

    ScriptedPort(PoolPort pool) {
      this.pool = pool;
    }

    void release() {
      holdAdmissionsOf = null;
      holdResets = false;
      holdRebuilds = false;
      List<CompletableFuture<Void>> all = List.copyOf(held);
      held.clear();
      all.forEach(hold -> hold.complete(null));
    }

    private CompletionStage<Void> hold(java.util.function.Supplier<CompletionStage<Void>> then) {
      CompletableFuture<Void> hold = new CompletableFuture<>();
      held.add(hold);
      return hold.thenCompose(go -> then.get());
    }

    @Override
    public CompletionStage<Void> admit(KvEvent event, long publisherId) {
      if (throwOnAdmission) {
        throw new IllegalStateException("a defect");
      }
      if (event.eventId() == failAdmissionOf) {
        return CompletableFuture.failedStage(new IllegalStateException("no admission"));
      }
      log.add("admit " + event.member() + " " + event.eventId());
      return event.member().equals(holdAdmissionsOf)
          ? hold(() -> pool.admit(event, publisherId))
          : pool.admit(event, publisherId);
    }

    @Override
    public CompletionStage<Void> resetRank(Member member) {
      log.add("reset " + member);
      if (failResets > 0) {
        failResets--;
        return CompletableFuture.failedStage(new IllegalStateException("no reset"));
      }
      return holdResets ? hold(() -> pool.resetRank(member)) : pool.resetRank(member);
    }

    @Override
    public CompletionStage<Void> replaceRanks(Map<Member, RankReplacement> replacements) {
      rebuilds.add(replacements);
      log.add("replace " + new TreeMap<>(replacements).keySet());
      if (failRebuild != null) {
        return CompletableFuture.failedStage(failRebuild);
      }
      return holdRebuilds
          ? hold(() -> pool.replaceRanks(replacements))
          : pool.replaceRanks(replacements);
    }

    long resets(Member member) {
      return log.stream().filter(("reset " + member)::equals).count();
    }

    List<Long> admitted(Member member) {
      String prefix = "admit " + member + " ";
      return log.stream()
          .filter(line -> line.startsWith(prefix))
          .map(line -> Long.parseUnsignedLong(line.substring(prefix.length())))
          .toList();
    }
  }
}
