package io.kvrelay.testkit.transport;

import static io.kvrelay.testkit.transport.Fixtures.delta;
import static io.kvrelay.testkit.transport.Fixtures.descriptor;
import static io.kvrelay.testkit.transport.Fixtures.load;
import static io.kvrelay.testkit.transport.Fixtures.pool;
import static io.kvrelay.testkit.transport.Fixtures.producer;
import static io.kvrelay.testkit.transport.Fixtures.ready;
import static io.kvrelay.testkit.transport.Fixtures.snapshot;
import static io.kvrelay.testkit.transport.Fixtures.unknownLoad;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.DcId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransport;
import io.kvrelay.api.transport.TransportLimits;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What every transport does, whatever it is made of: extend this class in the transport's tests. A
 * subclass says which transport, and where to export to.
 *
 * <p>Uses the real runtime: sockets do not know virtual time. No test sleeps; each wait ends with
 * what it waits for and fails after {@link ProbeSubscriber#PATIENCE}.
 */
@Timeout(60)
public abstract class TransportContract {
  private static final RelayIdentity RELAY = new RelayIdentity(0x11, 0x17);
  private static final ProducerIdentity POOL = producer(pool(0x11), 1, 16);
  private static final Duration LONG = Duration.ofHours(1);
  private static final Duration SHORT = Duration.ofMillis(10);

  private final List<AutoCloseable> resources = new ArrayList<>();
  private SystemRuntime runtime = SystemRuntime.create(1);
  private ScriptedSource source = new ScriptedSource(RELAY, runtime);

  /** For subclasses. */
  protected TransportContract() {}

  /**
   * The transport under test.
   *
   * @return the transport
   */
  protected abstract RelayTransport transport();

  /**
   * An address that can be exported to: unused, or one where the transport fills in what is free.
   *
   * @return the address
   */
  protected abstract URI freeAddress();

  /**
   * An address of the transport's scheme where nobody listens.
   *
   * @return the address
   */
  protected abstract URI deadAddress();

  @BeforeEach
  final void openRuntime() {
    runtime.close();
    runtime = SystemRuntime.create(4);
    source = new ScriptedSource(RELAY, runtime);
  }

  @AfterEach
  final void closeEverything() throws Exception {
    for (int i = resources.size() - 1; i >= 0; i--) {
      resources.get(i).close();
    }
    runtime.close();
  }

  // ---- Connecting ----

  @Test
  final void connectingYieldsTheRelayIdentityAndAFirstCatalog() {
    ConnectedSource remote = connect(export(quiet()));
    assertThat(remote.relayIdentity()).isEqualTo(RELAY);
    assertThat(ProbeSubscriber.to(remote.catalog()).ask()).isEqualTo(PoolCatalog.EMPTY);
    assertThat(remote.shutdown().toCompletableFuture()).isNotDone();
  }

  @Test
  final void nobodyListening() {
    assertReason(RelayErrorReason.ADDRESS_UNAVAILABLE, failureOf(() -> connectTo(deadAddress())));
  }

  @Test
  final void anAddressIsTakenOnce() {
    URI taken = export(quiet()).address();
    assertReason(
        RelayErrorReason.ADDRESS_UNAVAILABLE,
        failureOf(() -> transport().export(source, taken, ExportOptions.defaults(runtime))));
  }

  @Test
  final void aClosedAddressIsFreeAgain() {
    RelayExport first = export(quiet());
    first.close();
    RelayExport second = transport().export(source, first.address(), options(quiet()));
    resources.add(second);
    assertThat(connect(second).relayIdentity()).isEqualTo(RELAY);
  }

  // ---- Catalog and readiness ----

  @Test
  final void aCatalogTravelsUnchanged() {
    List<PoolDescriptor> pools = new ArrayList<>();
    int b = 0;
    for (IdentitySource cache : IdentitySource.values()) {
      for (IdentitySource scope : IdentitySource.values()) {
        b += 2;
        pools.add(Fixtures.richDescriptor(producer(pool(b, cache, scope), -1L >>> b, 1 << b)));
      }
    }
    PoolCatalog catalog = new PoolCatalog(-1, pools);
    source.publish(catalog);
    assertThat(ProbeSubscriber.to(connect(export(quiet())).catalog()).ask()).isEqualTo(catalog);
  }

  @Test
  final void eachChangeOfTheCatalogArrivesWhole() {
    ConnectedSource remote = connect(export(quiet()));
    ProbeSubscriber<PoolCatalog> probe = ProbeSubscriber.toAllOf(remote.catalog());
    assertThat(probe.next()).isEqualTo(PoolCatalog.EMPTY);
    for (int revision = 1; revision <= 3; revision++) {
      PoolCatalog next = catalog(revision);
      source.publish(next);
      assertThat(probe.next()).isEqualTo(next);
    }
    probe.assertRulesKept();
  }

  @Test
  final void theCatalogIsRepeatedUnchanged() {
    source.publish(catalog(7));
    RelayExport export = export(quiet().catalogHeartbeatInterval(SHORT));
    ProbeSubscriber<PoolCatalog> probe = ProbeSubscriber.toAllOf(connect(export).catalog());
    assertThat(probe.next()).isEqualTo(catalog(7));
    assertThat(probe.next()).isEqualTo(catalog(7));
    assertThat(probe.next()).isEqualTo(catalog(7));
  }

  @Test
  final void readinessTravelsUnchanged() {
    TopologySnapshot topology =
        new TopologySnapshot(
            9, List.of(ready("llama", POOL.poolId()), Fixtures.richEntry(POOL.poolId())));
    source.publish(topology);
    assertThat(ProbeSubscriber.to(connect(export(quiet())).readiness()).ask()).isEqualTo(topology);
  }

  @Test
  final void readinessIsRepeatedUnchangedAndChangesArrive() {
    TopologySnapshot first = new TopologySnapshot(1, List.of(ready("llama", POOL.poolId())));
    TopologySnapshot second = new TopologySnapshot(2, List.of());
    source.publish(first);
    RelayExport export = export(quiet().readinessHeartbeatInterval(SHORT));
    ProbeSubscriber<TopologySnapshot> probe = ProbeSubscriber.toAllOf(connect(export).readiness());
    assertThat(probe.next()).isEqualTo(first);
    assertThat(probe.next()).isEqualTo(first);
    source.publish(second);
    TopologySnapshot next = probe.next();
    while (next.equals(first)) {
      next = probe.next();
    }
    assertThat(next).isEqualTo(second);
    assertThat(probe.next()).isEqualTo(second);
  }

  @Test
  final void aSubscriberGetsOnlyWhatItAsksFor() {
    ConnectedSource remote = connect(export(quiet().catalogHeartbeatInterval(SHORT)));
    ProbeSubscriber<PoolCatalog> idle = ProbeSubscriber.to(remote.catalog());
    ProbeSubscriber<PoolCatalog> busy = ProbeSubscriber.toAllOf(remote.catalog());
    for (int i = 0; i < 5; i++) {
      busy.next();
    }
    assertThat(idle.waiting()).isZero();
    idle.ask();
    idle.assertRulesKept();
    assertThat(idle.hasEnded()).isFalse();
  }

  @Test
  final void askingForNothingIsAnError() {
    ProbeSubscriber<PoolCatalog> probe = ProbeSubscriber.to(connect(export(quiet())).catalog());
    probe.request(0);
    assertThat(probe.end()).isInstanceOf(IllegalArgumentException.class);
    probe.assertRulesKept();
  }

  // ---- Load ----

  @Test
  final void loadWindowsFollowEachOther() {
    RelayExport export = export(quiet().loadWindow(SHORT));
    ProbeSubscriber<LoadSnapshot> probe = ProbeSubscriber.toAllOf(connect(export).load());
    LoadSnapshot first = probe.next();
    assertThat(first.pools()).isEmpty();
    assertThat(window(first).windowMillis()).isEqualTo(10);
    long sequence = window(first).sequence();
    for (int i = 0; i < 3; i++) {
      assertThat(window(probe.next()).sequence()).isEqualTo(++sequence);
    }
    probe.assertRulesKept();
  }

  @Test
  final void aWindowIsComplete() {
    ProducerIdentity other = producer(pool(0x21), 1, 16);
    source.publish(new LoadSnapshot(List.of(load(POOL, 40, 100), load(other, -1, -1))));
    RelayExport export = export(quiet().loadWindow(SHORT));
    ProbeSubscriber<LoadSnapshot> probe = ProbeSubscriber.toAllOf(connect(export).load());
    assertThat(nextOther(probe, List.of()))
        .containsExactly(load(POOL, 40, 100), load(other, -1, -1));
    source.publish(new LoadSnapshot(List.of(unknownLoad(other))));
    assertThat(nextOther(probe, List.of(load(POOL, 40, 100), load(other, -1, -1))))
        .containsExactly(unknownLoad(other));
    source.publish(LoadSnapshot.EMPTY);
    assertThat(nextOther(probe, List.of(unknownLoad(other)))).isEmpty();
  }

  /** The first loads that differ; early windows may be empty. */
  private static List<PoolLoad> nextOther(ProbeSubscriber<LoadSnapshot> probe, List<PoolLoad> old) {
    List<PoolLoad> next = probe.next().pools();
    while (next.equals(old)) {
      next = probe.next().pools();
    }
    return next;
  }

  @Test
  final void usedBlocksOfFewerRanksThanDeclaredAreUnknown() {
    source.publish(
        new LoadSnapshot(
            List.of(new PoolLoad(POOL, OptionalLong.empty(), OptionalLong.of(100), 1, 2, 2))));
    RelayExport export = export(quiet().loadWindow(SHORT));
    PoolLoad received =
        nextOther(ProbeSubscriber.toAllOf(connect(export).load()), List.of()).get(0);
    assertThat(received.kvUsedBlocks()).isEmpty();
    assertThat(received.totalKvBlocks()).hasValue(100);
    assertThat(received.isDegraded()).isTrue();
  }

  @Test
  final void aLoadSubscriberThatDoesNotReadIsEndedAsLagged() {
    // Many pools and random numbers, so that few windows fill what a transport buffers.
    SplittableRandom random = new SplittableRandom(1);
    List<PoolLoad> pools = new ArrayList<>();
    for (int i = 0; i < 4000; i++) {
      ProducerIdentity any = producer(poolNumber(random.nextLong()), random.nextLong() | 1, 16);
      pools.add(load(any, random.nextLong(), random.nextLong()));
    }
    source.publish(new LoadSnapshot(pools));
    RelayExport export = export(quiet().loadWindow(Duration.ofMillis(4)).loadFanoutCapacity(3));
    ConnectedSource remote = connect(export);
    ProbeSubscriber<LoadSnapshot> idle = ProbeSubscriber.to(remote.load());
    long first = window(idle.ask()).sequence();
    awaitWindow(remote, first + 60);
    idle.request(Long.MAX_VALUE); // what the transport held back comes first, then the error
    assertReason(RelayErrorReason.SUBSCRIBER_LAGGED, idle.failure());
    // Four windows fit the ring and the transport has some more; it did not keep all sixty.
    assertThat(idle.waiting()).isLessThan(59);
    ProbeSubscriber<LoadSnapshot> again = ProbeSubscriber.to(remote.load());
    assertThat(window(again.ask()).sequence()).isGreaterThanOrEqualTo(first + 60);
  }

  /** Reads on until a window; a reader that lags itself starts over. */
  private static void awaitWindow(ConnectedSource remote, long sequence) {
    long seen = -1;
    while (seen < sequence) {
      ProbeSubscriber<LoadSnapshot> reader = ProbeSubscriber.to(remote.load());
      LoadSnapshot next = reader.ask();
      reader.cancel();
      assertThat(window(next).sequence()).isGreaterThanOrEqualTo(seen);
      seen = window(next).sequence();
    }
  }

  private static PoolId poolNumber(long i) {
    PoolId base = pool(0x11);
    return new PoolId(base.indexerDomain(), new DcId(i));
  }

  @Test
  final void losingTheLoadIsFatal() {
    RelayExport export = export(quiet().loadWindow(LONG));
    ProbeSubscriber<LoadSnapshot> probe = ProbeSubscriber.toAllOf(connect(export).load());
    probe.next();
    source.failLoad(new RelayException(RelayErrorReason.INTERNAL, "load lost"));
    assertReason(RelayErrorReason.PUBLICATION_UNAVAILABLE, probe.failure());
    eventually(() -> !export.isServing());
    assertThat(export.lastError()).isNotNull();
  }

  // ---- Pool streams ----

  @Test
  final void aPoolStreamIsASnapshotThenDeltas() {
    ScriptedPool pool = addPool(POOL, 5, 64);
    ProbeSubscriber<PublicationFrame> probe =
        ProbeSubscriber.toAllOf(connect(export(quiet())).pool(POOL));
    assertSame(snapshot(POOL, 5).get(0), probe.next());
    for (long sequence = 6; sequence < 40; sequence++) {
      PublicationFrame sent = delta(POOL, sequence, (int) sequence * 100);
      pool.publish(sent);
      assertSame(sent, probe.next());
    }
    probe.assertRulesKept();
  }

  @Test
  final void sequencesAreUnsigned() {
    ScriptedPool pool = addPool(POOL, -3, 64);
    ProbeSubscriber<PublicationFrame> probe =
        ProbeSubscriber.toAllOf(connect(export(quiet())).pool(POOL));
    assertThat(probe.next().sequence()).isEqualTo(-3);
    pool.publish(delta(POOL, -2, 72));
    assertThat(probe.next().baseSequence()).isEqualTo(-3);
  }

  @Test
  final void heartbeatsStartAfterTheWholeSnapshot() {
    ProducerIdentity twoChunks = producer(pool(0x11), 1, 1 << 20);
    addPool(twoChunks, 3, 64);
    RelayExport export = export(quiet().poolHeartbeatInterval(Duration.ofMillis(1)));
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.to(connect(export).pool(twoChunks));
    List<PublicationFrame> chunks = snapshot(twoChunks, 3);
    assertSame(chunks.get(0), probe.ask());
    assertSame(chunks.get(1), probe.ask());
    for (int i = 0; i < 3; i++) {
      PublicationFrame heartbeat = probe.ask();
      assertThat(heartbeat.kind()).isEqualTo(PublicationFrame.Kind.HEARTBEAT);
      assertThat(heartbeat.producer()).isEqualTo(twoChunks);
      assertThat(heartbeat.baseSequence()).isEqualTo(3);
      assertThat(heartbeat.sequence()).isEqualTo(3);
      assertThat(heartbeat.payloadBytes()).isZero();
    }
    probe.assertRulesKept();
  }

  @Test
  final void heartbeatsDoNotAdvanceTheSequence() {
    ScriptedPool pool = addPool(POOL, 0, 64);
    RelayExport export = export(quiet().poolHeartbeatInterval(Duration.ofMillis(1)));
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.toAllOf(connect(export).pool(POOL));
    probe.next();
    assertThat(probe.next().kind()).isEqualTo(PublicationFrame.Kind.HEARTBEAT);
    pool.publish(delta(POOL, 1, 72));
    PublicationFrame frame = probe.next();
    while (frame.kind() == PublicationFrame.Kind.HEARTBEAT) {
      assertThat(frame.sequence()).isZero();
      frame = probe.next();
    }
    assertSame(delta(POOL, 1, 72), frame);
    assertThat(probe.next().sequence()).isEqualTo(1);
  }

  @Test
  final void unknownPoolsAndGenerationsAreRefusedAndTheRightOneWorks() {
    addPool(POOL, 0, 64);
    ConnectedSource remote = connect(export(quiet()));
    assertReason(
        RelayErrorReason.POOL_NOT_FOUND,
        ProbeSubscriber.to(remote.pool(producer(poolNumber(4), 1, 16))).failure());
    assertReason(
        RelayErrorReason.PRODUCER_CHANGED,
        ProbeSubscriber.to(remote.pool(producer(POOL.poolId(), 2, 16))).failure());
    assertThat(ProbeSubscriber.to(remote.pool(POOL)).ask().producer()).isEqualTo(POOL);
  }

  @Test
  final void aNewGenerationNeverShowsOnTheOldStream() {
    addPool(POOL, 0, 64);
    ConnectedSource remote = connect(export(quiet()));
    ProbeSubscriber<PublicationFrame> old = ProbeSubscriber.toAllOf(remote.pool(POOL));
    old.next();
    ProducerIdentity next = producer(POOL.poolId(), 2, 16);
    source.removePool(POOL);
    addPool(next, 0, 64);
    assertReason(RelayErrorReason.PUBLICATION_UNAVAILABLE, old.failure());
    assertThat(old.waiting()).isZero();
    assertReason(
        RelayErrorReason.PRODUCER_CHANGED, ProbeSubscriber.to(remote.pool(POOL)).failure());
    assertThat(ProbeSubscriber.to(remote.pool(next)).ask().sequence()).isZero();
  }

  @ParameterizedTest
  @EnumSource(
      value = RelayErrorReason.class,
      names = {
        "UNSUPPORTED_FEATURE",
        "POOL_NOT_FOUND",
        "PRODUCER_CHANGED",
        "RESOURCE_LIMIT",
        "SUBSCRIBER_LAGGED",
        "SNAPSHOT_PROGRESS_TIMEOUT",
        "PUBLICATION_UNAVAILABLE",
        "INVALID_PUBLICATION",
        "INTERNAL"
      })
  final void everyFailureOfTheSourceArrivesTyped(RelayErrorReason reason) {
    ScriptedPool pool = addPool(POOL, 0, 64);
    ConnectedSource remote = connect(export(quiet()));
    ProbeSubscriber<PublicationFrame> running = ProbeSubscriber.toAllOf(remote.pool(POOL));
    running.next();
    pool.fail(new RelayException(reason, "as told"));
    assertReason(reason, running.failure());
    source.refusePools(new RelayException(reason, "as told"));
    assertReason(reason, ProbeSubscriber.to(remote.pool(POOL)).failure());
  }

  @Test
  final void cancellingReachesTheSource() {
    ScriptedPool pool = addPool(POOL, 0, 64);
    ConnectedSource remote = connect(export(quiet()));
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.toAllOf(remote.pool(POOL));
    probe.next();
    assertThat(pool.subscribers()).isEqualTo(1);
    probe.cancel();
    eventually(() -> pool.subscribers() == 0);
    assertThat(probe.hasEnded()).isFalse();
  }

  @Test
  final void aSlowReaderIsEndedAloneAsLagged() {
    ScriptedPool pool = addPool(POOL, 0, 16);
    ConnectedSource remote = connect(export(quiet()));
    ProbeSubscriber<PublicationFrame> reader = ProbeSubscriber.toAllOf(remote.pool(POOL));
    ProbeSubscriber<PublicationFrame> idle = ProbeSubscriber.to(remote.pool(POOL));
    reader.next();
    idle.ask();
    eventually(() -> pool.subscribers() == 2);
    // Bounded, whatever a transport buffers on its way: 64 MiB is beyond any of it.
    long sequence = 0;
    while (pool.subscribers() == 2 && sequence < 1024) {
      pool.publish(delta(POOL, ++sequence, 64 << 10));
      assertThat(reader.next().sequence()).isEqualTo(sequence);
    }
    assertThat(pool.subscribers()).isEqualTo(1);
    idle.request(Long.MAX_VALUE);
    assertReason(RelayErrorReason.SUBSCRIBER_LAGGED, idle.failure());
    pool.publish(delta(POOL, ++sequence, 72));
    assertThat(reader.next().sequence()).isEqualTo(sequence);
    reader.assertRulesKept();
    idle.assertRulesKept();
  }

  // ---- Admission ----

  @Test
  final void aFreedPoolStreamCanBeUsedAgain() {
    addPool(POOL, 0, 64);
    ConnectedSource remote = connect(export(quiet().maxPoolStreamsTotal(1)));
    ProbeSubscriber<PublicationFrame> first = ProbeSubscriber.to(remote.pool(POOL));
    first.ask();
    assertReason(RelayErrorReason.RESOURCE_LIMIT, ProbeSubscriber.to(remote.pool(POOL)).failure());
    assertReason(
        RelayErrorReason.RESOURCE_LIMIT,
        ProbeSubscriber.to(remote.pool(producer(poolNumber(4), 1, 16))).failure());
    first.cancel();
    assertThat(admitted(() -> remote.pool(POOL))).isEqualTo(POOL);
  }

  /** The permit comes back when the far side has noticed, so the first attempts may be refused. */
  private static ProducerIdentity admitted(Supplier<Flow.Publisher<PublicationFrame>> publisher) {
    long deadline = System.nanoTime() + ProbeSubscriber.PATIENCE.toNanos();
    while (true) {
      ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.to(publisher.get());
      PublicationFrame frame = probe.request(1).poll(ProbeSubscriber.PATIENCE);
      if (frame != null) {
        return frame.producer();
      }
      assertReason(RelayErrorReason.RESOURCE_LIMIT, probe.failure());
      assertThat(System.nanoTime() - deadline).as("time left").isNegative();
    }
  }

  @Test
  final void eachKindOfStreamHasItsOwnLimit() {
    addPool(POOL, 0, 64);
    ConnectedSource remote =
        connect(
            export(
                quiet()
                    .maxReadinessSubscribers(1)
                    .maxLoadSubscribers(1)
                    .maxPoolStreamsTotal(1)
                    .maxCatalogSubscribers(2)));
    assertLimit(remote::readiness, 1);
    assertLimit(remote::load, 1);
    assertLimit(() -> remote.pool(POOL), 1);
    // The one that connecting needed is given back, at some time.
    ProbeSubscriber.to(remote.catalog()).ask();
    eventually(
        () -> ProbeSubscriber.to(remote.catalog()).request(1).poll(Duration.ofSeconds(1)) != null);
    assertReason(RelayErrorReason.RESOURCE_LIMIT, ProbeSubscriber.to(remote.catalog()).failure());
  }

  private static <T> void assertLimit(Supplier<Flow.Publisher<T>> publisher, int limit) {
    List<ProbeSubscriber<T>> open = new ArrayList<>();
    for (int i = 0; i < limit; i++) {
      ProbeSubscriber<T> probe = ProbeSubscriber.to(publisher.get());
      probe.ask();
      open.add(probe);
    }
    assertReason(RelayErrorReason.RESOURCE_LIMIT, ProbeSubscriber.to(publisher.get()).failure());
    assertThat(open).noneMatch(ProbeSubscriber::hasEnded);
  }

  @Test
  final void sixtyFourPoolStreamsByDefaultAndAsManyAsConfigured() {
    addPool(POOL, 0, 64);
    ConnectedSource remote = connect(export(quiet()));
    assertLimit(() -> remote.pool(POOL), 64);
    ConnectedSource wider = connect(export(quiet().maxPoolStreamsTotal(65)));
    assertLimit(() -> wider.pool(POOL), 65);
  }

  @Test
  final void oneLabelServesSeveralStreams() {
    addPool(POOL, 0, 64);
    RelayExport export = export(quiet());
    for (String label : List.of("consumer-a", " with spaces ", "größe", "s".repeat(128))) {
      ConnectedSource remote =
          connect(export, ConnectOptions.defaults(runtime).withSubscriberId(label));
      ProbeSubscriber.to(remote.pool(POOL)).ask();
      ProbeSubscriber.to(remote.pool(POOL)).ask();
      ProbeSubscriber.to(remote.load()).ask();
    }
  }

  // ---- Ends ----

  @Test
  final void aSourceThatShutsDownEndsEverything() {
    addPool(POOL, 0, 64);
    RelayExport export = export(quiet());
    ConnectedSource remote = connect(export);
    List<ProbeSubscriber<?>> streams = openAll(remote);
    source.shutDown();
    streams.forEach(TransportContract::assertEndedOrUnavailable);
    eventually(() -> !export.isServing());
    assertThat(export.lastError()).isNull();
    assertThatThrownBy(() -> connectTo(export.address())).isInstanceOf(RelayException.class);
  }

  @Test
  final void closingTheExportDoesNotWaitForSilentPeers() {
    ScriptedPool pool = addPool(producer(pool(0x11), 1, 1 << 20), 0, 64);
    RelayExport export = export(quiet());
    ConnectedSource remote = connect(export);
    ProbeSubscriber<PublicationFrame> unread = ProbeSubscriber.to(remote.pool(pool.producer()));
    ProbeSubscriber<PoolCatalog> read = ProbeSubscriber.toAllOf(remote.catalog());
    read.next();
    eventually(() -> pool.subscribers() == 1);
    long start = System.nanoTime();
    export.close();
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
    assertThat(export.isServing()).isFalse();
    assertThat(export.lastError()).isNull();
    assertEndedOrUnavailable(read);
    unread.request(Long.MAX_VALUE);
    assertEndedOrUnavailable(unread);
    eventually(() -> pool.subscribers() == 0);
    export.close();
  }

  @Test
  final void closingTheConnectionCompletesItsStreams() {
    ScriptedPool pool = addPool(POOL, 0, 64);
    ConnectedSource remote = connect(export(quiet()));
    List<ProbeSubscriber<?>> streams = openAll(remote);
    remote.close();
    for (ProbeSubscriber<?> stream : streams) {
      assertThat(stream.end()).isNull();
      stream.assertRulesKept();
    }
    eventually(() -> pool.subscribers() == 0);
    ProbeSubscriber<PoolCatalog> late = ProbeSubscriber.to(remote.catalog());
    late.request(1);
    late.end();
    assertThat(late.waiting()).isZero();
    remote.close();
  }

  @Test
  final void anotherRelayLifeAtTheSameAddressEndsTheOldConnection() {
    addPool(POOL, 0, 64);
    RelayExport first = export(quiet());
    ConnectedSource remote = connect(first);
    List<ProbeSubscriber<?>> streams = openAll(remote);
    first.close();
    streams.forEach(TransportContract::assertEndedOrUnavailable);

    source = new ScriptedSource(new RelayIdentity(0x11, 0x18), runtime);
    RelayExport second = transport().export(source, first.address(), options(quiet()));
    resources.add(second);
    ProbeSubscriber<PoolCatalog> late = ProbeSubscriber.to(remote.catalog());
    late.request(1);
    assertReason(RelayErrorReason.PUBLICATION_UNAVAILABLE, late.failure());
    assertThat(late.waiting()).isZero();
    assertThat(connect(second).relayIdentity()).isEqualTo(new RelayIdentity(0x11, 0x18));
  }

  // ---- Chains ----

  @Test
  final void aConnectedSourceCanBeExportedAgain() {
    ScriptedPool pool = addPool(POOL, 4, 64);
    source.publish(new TopologySnapshot(3, List.of(ready("llama", POOL.poolId()))));
    source.publish(new LoadSnapshot(List.of(load(POOL, 40, 100))));
    ConnectedSource near = connect(export(quiet().loadWindow(SHORT)));
    RelayExport again = transport().export(near, freeAddress(), options(quiet().loadWindow(SHORT)));
    resources.add(again);
    ConnectedSource far = connect(again);

    assertThat(far.relayIdentity()).isEqualTo(RELAY);
    assertThat(ProbeSubscriber.to(far.catalog()).ask().pools()).containsExactly(descriptor(POOL));
    assertThat(ProbeSubscriber.to(far.readiness()).ask().revision()).isEqualTo(3);
    assertThat(nextOther(ProbeSubscriber.toAllOf(far.load()), List.of()))
        .containsExactly(load(POOL, 40, 100));
    ProbeSubscriber<PublicationFrame> probe = ProbeSubscriber.toAllOf(far.pool(POOL));
    assertSame(snapshot(POOL, 4).get(0), probe.next());
    pool.publish(delta(POOL, 5, 4000));
    assertSame(delta(POOL, 5, 4000), probe.next());
    pool.fail(new RelayException(RelayErrorReason.INVALID_PUBLICATION, "as told"));
    assertReason(RelayErrorReason.INVALID_PUBLICATION, probe.failure());
  }

  // ---- Helpers ----

  /** Limits under which nothing repeats itself while a test looks. */
  private static TransportLimits.Builder quiet() {
    return TransportLimits.builder()
        .catalogHeartbeatInterval(LONG)
        .readinessHeartbeatInterval(LONG)
        .poolHeartbeatInterval(LONG);
  }

  private ExportOptions options(TransportLimits.Builder limits) {
    return ExportOptions.defaults(runtime).withLimits(limits.build());
  }

  private RelayExport export(TransportLimits.Builder limits) {
    RelayExport export = transport().export(source, freeAddress(), options(limits));
    resources.add(export);
    assertThat(export.isServing()).isTrue();
    return export;
  }

  private ConnectedSource connect(RelayExport export) {
    return connect(export, ConnectOptions.defaults(runtime));
  }

  private ConnectedSource connect(RelayExport export, ConnectOptions options) {
    return connectTo(export.address(), options);
  }

  private ConnectedSource connectTo(URI address) {
    return connectTo(address, ConnectOptions.defaults(runtime));
  }

  private ConnectedSource connectTo(URI address, ConnectOptions options) {
    CompletableFuture<ConnectedSource> attempt =
        transport().connect(address, options).toCompletableFuture();
    try {
      ConnectedSource remote = attempt.orTimeout(5, TimeUnit.SECONDS).join();
      resources.add(remote);
      return remote;
    } catch (CompletionException e) {
      if (e.getCause() instanceof RelayException failure) {
        throw failure;
      }
      throw e;
    }
  }

  private ScriptedPool addPool(ProducerIdentity producer, long sequence, int queueFrames) {
    return source.addPool(descriptor(producer), snapshot(producer, sequence), queueFrames);
  }

  private static PoolCatalog catalog(long revision) {
    return new PoolCatalog(revision, List.of(descriptor(producer(POOL.poolId(), revision, 16))));
  }

  private static List<ProbeSubscriber<?>> openAll(ConnectedSource remote) {
    List<Function<RelayPublicationSource, Flow.Publisher<?>>> planes =
        List.of(
            RelayPublicationSource::catalog,
            RelayPublicationSource::readiness,
            RelayPublicationSource::load,
            source -> source.pool(POOL));
    List<ProbeSubscriber<?>> open = new ArrayList<>();
    for (Function<RelayPublicationSource, Flow.Publisher<?>> plane : planes) {
      ProbeSubscriber<?> probe = ProbeSubscriber.toAllOf(plane.apply(remote));
      probe.next();
      open.add(probe);
    }
    return open;
  }

  private static LoadSnapshot.Window window(LoadSnapshot load) {
    LoadSnapshot.@Nullable Window window = load.window();
    assertThat(window).as("load window").isNotNull();
    return java.util.Objects.requireNonNull(window);
  }

  private static void assertSame(PublicationFrame expected, PublicationFrame actual) {
    assertThat(actual.kind()).isEqualTo(expected.kind());
    assertThat(actual.producer()).isEqualTo(expected.producer());
    assertThat(actual.baseSequence()).isEqualTo(expected.baseSequence());
    assertThat(actual.sequence()).isEqualTo(expected.sequence());
    assertThat(actual.payload()).isEqualTo(expected.payload());
  }

  private static void assertReason(RelayErrorReason reason, RelayException failure) {
    assertThat(failure.reason()).as(failure.toString()).isEqualTo(reason);
    assertThat(failure.action()).isEqualTo(reason.action());
  }

  /** Both are what a client must treat alike. */
  private static void assertEndedOrUnavailable(ProbeSubscriber<?> stream) {
    Throwable failure = stream.end();
    if (failure != null) {
      assertReason(RelayErrorReason.PUBLICATION_UNAVAILABLE, (RelayException) failure);
    }
    stream.assertRulesKept();
  }

  private static RelayException failureOf(Runnable action) {
    try {
      action.run();
    } catch (RelayException e) {
      return e;
    }
    throw new AssertionError("no failure");
  }

  private static void eventually(BooleanSupplier condition) {
    long deadline = System.nanoTime() + ProbeSubscriber.PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime() - deadline).as("time left to wait").isNegative();
      Thread.onSpinWait();
    }
  }
}
