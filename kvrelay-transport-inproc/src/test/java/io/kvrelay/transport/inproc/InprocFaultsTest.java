package io.kvrelay.transport.inproc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.SerialTask;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.api.transport.TransportLimits;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a test can break, and that it breaks exactly that, the same way each time. */
class InprocFaultsTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ScriptedSource source = new ScriptedSource(runtime, 23);
  private final ProducerIdentity producer = source.advertise(1, 1, 16);
  private final Link link = new Link(runtime, source, TransportLimits.DEFAULTS);
  private final InprocFaults faults = InprocFaults.of(link.export.name());

  @AfterEach
  void close() {
    link.close();
  }

  private Recorder<PublicationFrame> follow(ConnectedSource client) {
    Recorder<PublicationFrame> frames = Recorder.of(client.pool(producer));
    runtime.runUntilIdle();
    return frames;
  }

  private void deltas(int count) {
    for (int i = 0; i < count; i++) {
      source.delta();
      runtime.runUntilIdle();
    }
  }

  private static List<Long> sequences(Recorder<PublicationFrame> frames) {
    return frames.items.stream().map(PublicationFrame::sequence).toList();
  }

  private CompletableFuture<ConnectedSource> connecting(URI address) {
    CompletableFuture<ConnectedSource> connected =
        RelayTransports.connect(address, ConnectOptions.defaults(runtime)).toCompletableFuture();
    runtime.runUntilIdle();
    return connected;
  }

  private static RelayErrorReason reasonOf(CompletableFuture<?> failed) {
    Throwable cause = failed.handle((value, error) -> error).join();
    return cause instanceof RelayException relay ? relay.reason() : null;
  }

  @Test
  void theControllerIsReachableByName() {
    assertThat(faults).isSameAs(link.export.faults());
    assertThatThrownBy(() -> InprocFaults.of("nobody"))
        .isInstanceOf(RelayException.class)
        .hasMessageContaining("inproc:nobody");
  }

  @Test
  void aCutEndsEveryStreamAndRefusesNewOnesUntilItHeals() {
    Recorder<PublicationFrame> frames = follow(link.client);
    Recorder<PoolCatalog> catalog = Recorder.of(link.client.catalog());
    Recorder<LoadSnapshot> load = Recorder.of(link.client.load());
    runtime.runUntilIdle();
    faults.cut();
    runtime.runUntilIdle();
    assertThat(frames.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(catalog.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(load.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(source.openStreams()).isZero();
    assertThat(follow(link.client).reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(reasonOf(connecting(link.address))).isEqualTo(RelayErrorReason.ADDRESS_UNAVAILABLE);
    faults.heal();
    Recorder<PublicationFrame> again = follow(link.client);
    deltas(1);
    assertThat(sequences(again)).containsExactly(0L, 1L);
    assertThat(connecting(link.address)).isCompleted();
  }

  @Test
  void aDelayHoldsEachMessageThatLongAndKeepsTheOrder() {
    Recorder<PublicationFrame> frames = follow(link.client);
    faults.delay(Duration.ofMillis(50));
    deltas(1);
    runtime.advance(Duration.ofMillis(10));
    deltas(1);
    runtime.advance(Duration.ofMillis(39));
    assertThat(sequences(frames)).containsExactly(0L);
    runtime.advance(Duration.ofMillis(1));
    assertThat(sequences(frames)).containsExactly(0L, 1L);
    faults.delay(Duration.ZERO);
    deltas(1); // behind the second one, which is still on its way
    assertThat(sequences(frames)).containsExactly(0L, 1L);
    runtime.advance(Duration.ofMillis(10));
    assertThat(sequences(frames)).containsExactly(0L, 1L, 2L, 3L);
  }

  @Test
  void aDelayedLinkTakesNoMoreThanItsWindow() {
    Recorder<PublicationFrame> frames = follow(link.client);
    faults.delay(Duration.ofSeconds(1));
    deltas(10);
    assertThat(source.streams.get(0).delivered).isEqualTo(1 + Wire.WINDOW);
    runtime.advance(Duration.ofSeconds(5));
    assertThat(sequences(frames)).hasSize(11).isSorted();
  }

  @Test
  void dropLosesTheNextFrames() {
    Recorder<PublicationFrame> frames = follow(link.client);
    faults.drop(2);
    deltas(4);
    assertThat(sequences(frames)).containsExactly(0L, 3L, 4L);
    assertThat(link.export.statistics().faultsInjected()).isEqualTo(2);
  }

  @Test
  void duplicateDeliversTheNextFramesTwice() {
    Recorder<PublicationFrame> frames = follow(link.client);
    faults.duplicate(1);
    deltas(2);
    assertThat(sequences(frames)).containsExactly(0L, 1L, 1L, 2L);
    assertThat(frames.items.get(1)).isSameAs(frames.items.get(2));
  }

  @Test
  void reorderLetsAFrameChangePlacesWithItsSuccessor() {
    Recorder<PublicationFrame> frames = follow(link.client);
    faults.reorder(1);
    deltas(1);
    assertThat(sequences(frames)).containsExactly(0L);
    deltas(2);
    assertThat(sequences(frames)).containsExactly(0L, 2L, 1L, 3L);
  }

  @Test
  void aFrameThatWaitsForASuccessorIsNotLostAtTheEnd() {
    Recorder<PublicationFrame> frames = follow(link.client);
    faults.reorder(1);
    deltas(1);
    source.streams.get(0).complete();
    runtime.runUntilIdle();
    assertThat(sequences(frames)).containsExactly(0L, 1L);
    assertThat(frames.completed).isTrue();
  }

  @Test
  void duplicatesOfAFullWindowFit() {
    Recorder<PublicationFrame> slow = Recorder.of(link.client.pool(producer), 0);
    faults.duplicate(100);
    runtime.runUntilIdle();
    deltas(10);
    slow.subscription.request(Long.MAX_VALUE);
    runtime.runUntilIdle();
    assertThat(slow.items).hasSize(22);
  }

  @Test
  void faultsOfOneSubscriberLeaveTheOthersAlone() {
    ConnectedSource other = link.connect("other");
    Recorder<PublicationFrame> hit = follow(link.client);
    Recorder<PublicationFrame> spared = follow(other);
    faults.drop("client", 1);
    faults.duplicate("client", 1);
    faults.reorder("client", 1);
    deltas(5);
    assertThat(sequences(hit)).containsExactly(0L, 2L, 2L, 4L, 3L, 5L);
    assertThat(sequences(spared)).containsExactly(0L, 1L, 2L, 3L, 4L, 5L);
  }

  @Test
  void aStalledSubscriberLagsAloneAndLearnsOfItWhenItReadsAgain() {
    ConnectedSource other = link.connect("other");
    Recorder<PublicationFrame> stalled = follow(link.client);
    Recorder<PublicationFrame> spared = follow(other);
    faults.stall("client");
    deltas(40);
    assertThat(stalled.items).hasSize(1);
    assertThat(sequences(spared)).hasSize(41);
    faults.resume("client");
    runtime.runUntilIdle();
    assertThat(stalled.items).hasSize(1 + Wire.WINDOW);
    assertThat(stalled.reason()).isEqualTo(RelayErrorReason.SUBSCRIBER_LAGGED);
  }

  @Test
  void aStalledLoadSubscriberLagsByWindows() {
    Recorder<LoadSnapshot> load = Recorder.of(link.client.load());
    runtime.runUntilIdle();
    faults.stall("client");
    runtime.advance(Duration.ofSeconds(Wire.WINDOW + 16));
    faults.resume("client");
    runtime.runUntilIdle();
    assertThat(load.error).isNull(); // exactly the capacity behind
    faults.stall("client");
    runtime.advance(Duration.ofSeconds(Wire.WINDOW + 17));
    faults.resume("client");
    runtime.runUntilIdle();
    assertThat(load.reason()).isEqualTo(RelayErrorReason.SUBSCRIBER_LAGGED);
    assertThat(link.export.statistics().load().lagged()).isEqualTo(1);
  }

  @Test
  void snapshotChunksCanBeLostToo() {
    faults.drop(1);
    Recorder<PublicationFrame> frames = follow(link.client);
    deltas(1);
    assertThat(sequences(frames)).containsExactly(1L);
  }

  @Test
  void aNewLifeUnderTheNameIsNotTheOldOne() {
    Recorder<PublicationFrame> frames = follow(link.client);
    link.export.close();
    runtime.runUntilIdle();
    assertThat(frames.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(link.client.shutdown().toCompletableFuture()).isDone();
    ScriptedSource young = new ScriptedSource(runtime, 24);
    var export = RelayTransports.export(young, link.address, ExportOptions.defaults(runtime));
    runtime.runUntilIdle();
    assertThat(follow(link.client).error)
        .hasMessageContaining("24")
        .extracting(e -> ((RelayException) e).reason())
        .isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(connecting(link.address).join().relayIdentity().incarnation()).isEqualTo(24);
    export.close();
  }

  @Test
  void theSameLifeUnderTheNameIsFoundAgain() {
    link.export.close();
    runtime.runUntilIdle();
    var export = RelayTransports.export(source, link.address, ExportOptions.defaults(runtime));
    runtime.runUntilIdle();
    assertThat(sequences(follow(link.client))).containsExactly(0L);
    export.close();
  }

  @Test
  void connectingWaitsForTheFirstCatalogAndNoLongerThanItsTimeout() {
    SilentSource silent = new SilentSource();
    URI address = URI.create("inproc:silent");
    InprocExport export =
        (InprocExport) RelayTransports.export(silent, address, ExportOptions.defaults(runtime));
    CompletableFuture<ConnectedSource> connected = connecting(address);
    assertThat(connected).isNotDone();
    assertThat(export.catalogMirror().subscribers()).isEqualTo(1);
    runtime.advance(Duration.ofSeconds(10));
    assertThat(reasonOf(connected)).isEqualTo(RelayErrorReason.ADDRESS_UNAVAILABLE);
    assertThat(export.catalogMirror().subscribers()).isZero();
    CompletableFuture<ConnectedSource> second = connecting(address);
    silent.publish();
    runtime.runUntilIdle();
    assertThat(second).isCompleted();
    assertThat(runtime.pendingTimers()).isEqualTo(2); // the load windows of both exports
    export.close();
  }

  /** Answers no subscription to its catalog until told. */
  private final class SilentSource implements RelayPublicationSource {
    private Flow.Subscriber<? super PoolCatalog> waiting;

    @Override
    public RelayIdentity relayIdentity() {
      return source.identity;
    }

    @Override
    public Flow.Publisher<PoolCatalog> catalog() {
      return subscriber -> waiting = subscriber;
    }

    void publish() {
      source.catalog.subscribe(waiting);
    }

    @Override
    public Flow.Publisher<TopologySnapshot> readiness() {
      return source.readiness;
    }

    @Override
    public Flow.Publisher<LoadSnapshot> load() {
      return source.load;
    }

    @Override
    public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
      return source.pool(expected);
    }

    @Override
    public CompletionStage<Void> shutdown() {
      return source.shutdown;
    }
  }

  @Test
  void addressesMustBeNames() {
    for (String address :
        List.of("inproc://host/name", "inproc:/name", "inproc:a%20b", "inproc:a#b")) {
      URI uri = URI.create(address);
      assertThatThrownBy(() -> RelayTransports.export(source, uri, ExportOptions.defaults(runtime)))
          .as(address)
          .isInstanceOf(RelayException.class)
          .hasMessageContaining(address)
          .extracting(e -> ((RelayException) e).reason())
          .isEqualTo(RelayErrorReason.INVALID_CONFIGURATION);
      assertThat(reasonOf(connecting(uri))).isEqualTo(RelayErrorReason.ADDRESS_UNAVAILABLE);
    }
    assertThat(reasonOf(connecting(URI.create("inproc:nobody"))))
        .isEqualTo(RelayErrorReason.ADDRESS_UNAVAILABLE);
  }

  @Test
  void checksComeInTheContractsOrder() {
    TransportLimits one = TransportLimits.builder().maxPoolStreamsTotal(1).build();
    ScriptedSource small = new ScriptedSource(runtime, 23);
    ProducerIdentity known = small.advertise(1, 2, 16);
    try (Link narrow = new Link(runtime, small, one)) {
      ProducerIdentity stale = new ProducerIdentity(known.poolId(), 23, 1, known.format());
      ProducerIdentity unknown =
          new ProducerIdentity(ScriptedSource.poolId(9), 23, 1, known.format());
      assertThat(reason(narrow, stale)).isEqualTo(RelayErrorReason.PRODUCER_CHANGED);
      assertThat(reason(narrow, unknown)).isEqualTo(RelayErrorReason.POOL_NOT_FOUND);
      Recorder<PublicationFrame> open = Recorder.of(narrow.client.pool(known));
      runtime.runUntilIdle();
      assertThat(reason(narrow, unknown)).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
      open.subscription.cancel();
      runtime.runUntilIdle();
      assertThat(reason(narrow, unknown)).isEqualTo(RelayErrorReason.POOL_NOT_FOUND);
      assertThat(small.streams).hasSize(4); // the source was not asked when the limit refused
      assertThat(narrow.export.statistics().pool())
          .isEqualTo(new InprocStatistics.Streams(0, 1, 0));
    }
  }

  private RelayErrorReason reason(Link narrow, ProducerIdentity expected) {
    Recorder<PublicationFrame> refused = Recorder.of(narrow.client.pool(expected));
    runtime.runUntilIdle();
    return refused.reason();
  }

  @Test
  void aSourceThatFailsTakesItsExportWithIt() {
    Recorder<PoolCatalog> catalog = Recorder.of(link.client.catalog());
    Recorder<PublicationFrame> frames = follow(link.client);
    source.load.fail(new IllegalStateException("load is gone"));
    runtime.runUntilIdle();
    assertThat(link.export.isServing()).isFalse();
    assertThat(link.export.lastError()).hasMessage("load is gone");
    assertThat(catalog.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(frames.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
  }

  @Test
  void thousandsOfStreamsLeaveNothingBehind() {
    for (int i = 0; i < 10_000; i++) {
      Recorder<PublicationFrame> frames = Recorder.of(link.client.pool(producer), 1);
      if (i % 2 == 0) {
        runtime.runUntilIdle();
      }
      while (frames.subscription == null) {
        runtime.runOne();
      }
      frames.subscription.cancel();
    }
    runtime.runUntilIdle();
    assertThat(link.export.statistics().pool().open()).isZero();
    assertThat(source.openStreams()).isZero();
    assertThat(runtime.pendingTimers()).isEqualTo(1); // the load windows
  }

  @Test
  void aSubscriberThatThrowsEndsItsOwnStreamOnly() {
    Recorder<PublicationFrame> good = follow(link.client);
    Recorder<PublicationFrame> bad = follow(link.client);
    bad.throwOnNext = new AssertionError("on purpose");
    try (RecordedLog log = RecordedLog.of(SerialTask.class)) {
      deltas(3);
      assertThat(log.thrown()).containsExactly(bad.throwOnNext);
    }
    assertThat(bad.error).isNull();
    assertThat(sequences(bad)).containsExactly(0L);
    assertThat(sequences(good)).containsExactly(0L, 1L, 2L, 3L);
    assertThat(link.export.statistics().subscriberFaults()).isEqualTo(1);
    assertThat(link.export.statistics().pool().open()).isEqualTo(1);
    assertThat(source.openStreams()).isEqualTo(1);
  }

  @Test
  void oneSeedIsOneRun() {
    assertThat(shuffledRun(5)).isEqualTo(shuffledRun(5));
  }

  private static List<Long> shuffledRun(long seed) {
    VirtualRuntime shuffled = VirtualRuntime.shuffling(seed);
    ScriptedSource from = new ScriptedSource(shuffled, 1);
    ProducerIdentity pool = from.advertise(1, 1, 16);
    try (Link over = new Link(shuffled, from, TransportLimits.DEFAULTS)) {
      Recorder<PublicationFrame> frames = Recorder.of(over.client.pool(pool));
      shuffled.runUntilIdle();
      over.export.faults().reorder(3);
      over.export.faults().drop(2);
      for (int i = 0; i < 12; i++) {
        from.delta();
        shuffled.runOne();
        shuffled.runOne();
      }
      shuffled.runUntilIdle();
      return sequences(frames);
    }
  }
}
