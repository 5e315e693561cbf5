package io.kvrelay.transport.inproc;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.TransportLimits;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What goes through a link when nothing fails. */
class InprocStreamsTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ScriptedSource source = new ScriptedSource(runtime, 23);
  private final ProducerIdentity producer = source.advertise(1, 1, 16);
  private final Link link = new Link(runtime, source, TransportLimits.DEFAULTS);

  @AfterEach
  void close() {
    link.close();
  }

  @Test
  void theConnectedSourceIsTheExportedOne() {
    assertThat(link.client.relayIdentity()).isEqualTo(source.identity);
    assertThat(link.client.address()).isEqualTo(link.address);
    Recorder<PoolCatalog> catalog = Recorder.of(link.client.catalog());
    runtime.runUntilIdle();
    assertThat(catalog.items).containsExactly(source.catalog.value());
  }

  @Test
  void framesPassByReference() {
    Recorder<PublicationFrame> frames = Recorder.of(link.client.pool(producer));
    Recorder<PublicationFrame> others = Recorder.of(link.client.pool(producer));
    runtime.runUntilIdle();
    source.delta();
    runtime.runUntilIdle();
    assertThat(frames.items).hasSize(2);
    assertThat(others.items).hasSize(2);
    assertThat(frames.last().sequence()).isEqualTo(1);
  }

  @Test
  void aSlowSubscriberIsTheSourcesToJudge() {
    Recorder<PublicationFrame> slow = Recorder.of(link.client.pool(producer), 0);
    runtime.runUntilIdle();
    for (int i = 0; i < 40; i++) {
      source.delta();
      runtime.runUntilIdle();
    }
    assertThat(source.streams.get(0).delivered).isEqualTo(Wire.WINDOW);
    slow.subscription.request(Long.MAX_VALUE);
    runtime.runUntilIdle();
    assertThat(slow.items).hasSize(Wire.WINDOW);
    assertThat(slow.reason()).isEqualTo(RelayErrorReason.SUBSCRIBER_LAGGED);
    assertThat(link.export.statistics().pool().lagged()).isEqualTo(1);
  }

  @Test
  void aPoolStreamSpeaksWhenItIsQuietButNeverBeforeItsSnapshotIsComplete() {
    source.chunks = 2;
    ProducerIdentity large = source.advertise(2, 1, 1 << 20);
    runtime.runUntilIdle();
    Recorder<PublicationFrame> frames = Recorder.of(link.client.pool(large), 1);
    runtime.advance(Duration.ofSeconds(35));
    assertThat(frames.items).hasSize(1);
    frames.subscription.request(Long.MAX_VALUE);
    runtime.runUntilIdle();
    assertThat(frames.items.subList(0, 2))
        .extracting(PublicationFrame::kind)
        .containsOnly(PublicationFrame.Kind.SNAPSHOT_CHUNK);
    int before = frames.items.size();
    runtime.advance(Duration.ofSeconds(10));
    assertThat(frames.items).hasSize(before + 1);
    assertThat(frames.last().kind()).isEqualTo(PublicationFrame.Kind.HEARTBEAT);
    assertThat(frames.last().payloadBytes()).isZero();
    runtime.advance(Duration.ofSeconds(9));
    source.delta();
    runtime.advance(Duration.ofSeconds(9));
    assertThat(frames.last().kind()).isEqualTo(PublicationFrame.Kind.DELTA);
    runtime.advance(Duration.ofSeconds(1));
    assertThat(frames.last().kind()).isEqualTo(PublicationFrame.Kind.HEARTBEAT);
    assertThat(frames.last().sequence()).isEqualTo(1);
  }

  @Test
  void catalogAndReadinessAreRepeatedAtASteadyPace() {
    Recorder<PoolCatalog> catalog = Recorder.of(link.client.catalog());
    var readiness = Recorder.of(link.client.readiness());
    runtime.advance(Duration.ofSeconds(9));
    source.advertise(2, 1, 16); // a change does not reset the pace
    runtime.advance(Duration.ofSeconds(1));
    assertThat(catalog.items).hasSize(3);
    assertThat(catalog.items.get(2)).isEqualTo(catalog.items.get(1));
    assertThat(readiness.items).hasSize(2).containsOnly(source.readiness.value());
    runtime.advance(Duration.ofSeconds(30));
    assertThat(catalog.items).hasSize(6);
  }

  @Test
  void loadComesInWindowsThatCountFromZeroIdleOrNot() {
    Recorder<LoadSnapshot> load = Recorder.of(link.client.load());
    runtime.advance(Duration.ofSeconds(3));
    assertThat(load.items)
        .extracting(snapshot -> snapshot.window().sequence())
        .containsExactly(0L, 1L, 2L, 3L);
    Recorder<LoadSnapshot> late = Recorder.of(link.client.load());
    runtime.runUntilIdle();
    assertThat(late.items).extracting(snapshot -> snapshot.window().sequence()).containsExactly(3L);
    assertThat(late.last().window().windowMillis()).isEqualTo(1000);
  }

  @Test
  void aChainOfThreeCarriesEverything() {
    try (Link second = new Link(runtime, link.client, TransportLimits.DEFAULTS);
        Link third = new Link(runtime, second.client, TransportLimits.DEFAULTS)) {
      Recorder<PublicationFrame> frames = Recorder.of(third.client.pool(producer));
      Recorder<PoolCatalog> catalog = Recorder.of(third.client.catalog());
      Recorder<LoadSnapshot> load = Recorder.of(third.client.load());
      runtime.advance(Duration.ofSeconds(2));
      source.delta();
      runtime.runUntilIdle();
      assertThat(frames.items).extracting(PublicationFrame::sequence).containsExactly(0L, 1L);
      assertThat(catalog.last()).isEqualTo(source.catalog.value());
      assertThat(load.items).hasSize(3);
      assertThat(third.client.relayIdentity()).isEqualTo(source.identity);
    }
    runtime.runUntilIdle();
    assertThat(source.openStreams()).isZero();
  }

  @Test
  void theEndOfTheSourceReachesItsClientsAsItIs() {
    Recorder<PublicationFrame> failed = Recorder.of(link.client.pool(producer));
    Recorder<PublicationFrame> completed = Recorder.of(link.client.pool(producer));
    Recorder<PoolCatalog> catalog = Recorder.of(link.client.catalog());
    runtime.runUntilIdle();
    source.streams.get(0).fail(RelayErrorReason.INVALID_PUBLICATION);
    source.shutdown.complete(null);
    source.streams.get(1).complete();
    source.catalog.complete();
    runtime.runUntilIdle();
    assertThat(failed.reason()).isEqualTo(RelayErrorReason.INVALID_PUBLICATION);
    assertThat(completed.completed).isTrue();
    assertThat(catalog.completed).isTrue();
    assertThat(link.client.shutdown().toCompletableFuture()).isDone();
    assertThat(link.export.isServing()).isFalse();
    assertThat(link.export.lastError()).isNull();
  }
}
