package io.kvrelay.transport.inproc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.api.transport.TransportLimits;
import java.net.URI;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A source with a defect: whatever it throws, its subscribers hear of the end, once. */
class ThrowingSourceTest {
  private enum Defect {
    POOL,
    SUBSCRIBE,
    SUBSCRIBE_AFTER_ON_SUBSCRIBE,
    REQUEST
  }

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ScriptedSource sound = new ScriptedSource(runtime, 23);
  private final ProducerIdentity producer = sound.advertise(1, 1, 16);
  private final Source source = new Source();
  private final RecordedLog log = RecordedLog.of(Pipe.class);

  @AfterEach
  void closeTheLog() {
    log.close();
  }

  @ParameterizedTest
  @EnumSource
  void itsSubscriberIsToldOnceAndThePermitComesBack(Defect defect) {
    try (Link link = new Link(runtime, source, TransportLimits.DEFAULTS)) {
      source.defect = defect;
      Recorder<PublicationFrame> frames = Recorder.of(link.client.pool(producer));
      runtime.runUntilIdle();
      assertThat(frames.reason()).isEqualTo(RelayErrorReason.INTERNAL);
      assertThat(frames.error).hasRootCauseInstanceOf(LinkageError.class);
      assertThat(frames.terminals).isEqualTo(1);
      assertThat(log.thrown()).singleElement().isInstanceOf(LinkageError.class);
      assertThat(link.export.statistics().pool().open()).isZero();
      assertThat(link.export.statistics().subscriberFaults()).isZero();
    }
  }

  @Test
  void aCancellationThatItThrowsAtStillGivesThePermitBack() {
    try (Link link = new Link(runtime, source, TransportLimits.DEFAULTS)) {
      Recorder<PublicationFrame> frames = Recorder.of(link.client.pool(producer));
      runtime.runUntilIdle();
      source.failsToCancel = true;
      frames.subscription.cancel();
      runtime.runUntilIdle();
      assertThat(link.export.statistics().pool().open()).isZero();
      assertThat(log.thrown()).isNotEmpty();
    }
  }

  @Test
  void anExportThatCannotStartLeavesItsNameFree() {
    URI address = URI.create("inproc:cannot-start");
    ExportOptions options = ExportOptions.defaults(runtime);
    source.failsToWatch = true;
    assertThatThrownBy(() -> RelayTransports.export(source, address, options))
        .isInstanceOf(LinkageError.class);
    source.failsToWatch = false;
    RelayTransports.export(source, address, options).close();
  }

  private static LinkageError onPurpose() {
    return new LinkageError("on purpose");
  }

  /** The sound one, with a defect where it says. */
  private final class Source implements RelayPublicationSource {
    private Defect defect;
    private boolean failsToCancel;
    private boolean failsToWatch;

    @Override
    public RelayIdentity relayIdentity() {
      return sound.relayIdentity();
    }

    @Override
    public Flow.Publisher<PoolCatalog> catalog() {
      return sound.catalog();
    }

    @Override
    public Flow.Publisher<TopologySnapshot> readiness() {
      if (failsToWatch) {
        throw onPurpose();
      }
      return sound.readiness();
    }

    @Override
    public Flow.Publisher<LoadSnapshot> load() {
      return sound.load();
    }

    @Override
    public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
      if (defect == Defect.POOL) {
        throw onPurpose();
      }
      Flow.Publisher<PublicationFrame> frames = sound.pool(expected);
      return subscriber -> {
        if (defect == Defect.SUBSCRIBE) {
          throw onPurpose();
        }
        frames.subscribe(new Defective(subscriber));
        if (defect == Defect.SUBSCRIBE_AFTER_ON_SUBSCRIBE) {
          throw onPurpose();
        }
      };
    }

    @Override
    public CompletionStage<Void> shutdown() {
      return sound.shutdown();
    }
  }

  private final class Defective implements Flow.Subscriber<PublicationFrame> {
    private final Flow.Subscriber<? super PublicationFrame> to;

    private Defective(Flow.Subscriber<? super PublicationFrame> to) {
      this.to = to;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      to.onSubscribe(
          new Flow.Subscription() {
            @Override
            public void request(long n) {
              if (source.defect == Defect.REQUEST) {
                throw onPurpose();
              }
              given.request(n);
            }

            @Override
            public void cancel() {
              given.cancel();
              if (source.failsToCancel) {
                throw onPurpose();
              }
            }
          });
    }

    @Override
    public void onNext(PublicationFrame frame) {
      to.onNext(frame);
    }

    @Override
    public void onError(Throwable error) {
      to.onError(error);
    }

    @Override
    public void onComplete() {
      to.onComplete();
    }
  }
}
