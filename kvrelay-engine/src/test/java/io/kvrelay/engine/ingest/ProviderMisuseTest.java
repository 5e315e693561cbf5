package io.kvrelay.engine.ingest;

import static io.kvrelay.engine.ingest.IngestRig.A;
import static io.kvrelay.engine.ingest.IngestRig.B;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.events.SourceTrust;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Providers that break their promises, or use the freedom that they have. */
class ProviderMisuseTest {
  private static final long P = 11;

  private final IngestRig rig = new IngestRig();
  private final Twisted twisted = new Twisted();

  @AfterEach
  void stop() {
    rig.close();
  }

  /** Hands over to the scripted provider, and twists what that returns. */
  private final class Twisted implements KvEventSource {
    UnaryOperator<CompletionStage<HistoryReply>> histories = stage -> stage;
    UnaryOperator<Following> followings = following -> following;
    Runnable whileFollowing = () -> {};

    @Override
    public Following follow(EndpointId endpoint, KvEventListener listener) {
      Following following = rig.events.follow(endpoint, listener);
      whileFollowing.run();
      return followings.apply(following);
    }

    @Override
    public CompletionStage<HistoryReply> history(
        EventSourceAdvertisement source, HistoryRequest request) {
      return histories.apply(rig.events.history(source, request));
    }
  }

  /** A stage that has no future, as the interface allows. */
  private static final class Bare<T> extends CompletableFuture<T> {
    static <T> CompletionStage<T> of(CompletionStage<T> stage) {
      Bare<T> bare = new Bare<>();
      stage.whenComplete(
          (value, error) -> {
            if (error == null) {
              bare.complete(value);
            } else {
              bare.completeExceptionally(error);
            }
          });
      return bare;
    }

    @Override
    public CompletableFuture<T> toCompletableFuture() {
      throw new UnsupportedOperationException();
    }
  }

  private void start(Member... members) {
    long publisher = P;
    for (Member member : members) {
      rig.with(IngestRig.recoverable(member, publisher++));
    }
    rig.ingest =
        PoolIngest.start(
            rig.view(), rig.port, twisted, rig.permits, rig.config, rig.runtime, rig.fences::add);
    rig.settle();
    rig.jitter();
  }

  @Test
  void noStageAtAllIsAFailedAttemptAtOnce() {
    twisted.histories = stage -> null;
    start(A);
    assertThat(rig.events.starts(A)).hasSize(1);
    assertThat(rig.count(IngestCount.FAILED_ATTEMPTS)).isEqualTo(1);
    rig.advance(200);
    assertThat(rig.events.starts(A)).as("asked again after the first wait").hasSize(2);
    assertThat(rig.permits.free()).isEqualTo(16);
  }

  @Test
  void aStageWithoutAFutureIsAsGoodAsAnother() {
    twisted.histories = Bare::of;
    start(A);
    rig.events.last(A).answer(IngestRig.dumpOf(A, 3, 1, 2));
    rig.settle();
    rig.advance(20);
    assertThat(rig.cursor(A)).hasValue(3);
    assertThat(rig.blocks(A)).containsExactly(1L, 2L);
  }

  @Test
  void anAnswerThatIsNothingIsAFailedAttempt() {
    start(A);
    rig.events.last(A).answer(null);
    rig.settle();
    assertThat(rig.count(IngestCount.FAILED_ATTEMPTS)).isEqualTo(1);
    rig.advance(200);
    assertThat(rig.events.starts(A)).hasSize(2);
  }

  @Test
  void aSubscriptionWhoseEndIsNothingEndsAllTheSame() {
    twisted.followings = following -> () -> null;
    start(A);
    rig.events.listener.onFailure(new RelayException(RelayErrorReason.INTERNAL, "gone"));
    rig.settle();
    rig.advance(100);
    assertThat(rig.events.followed).as("followed again").hasSize(2);
    CompletableFuture<Void> stopped = rig.ingest.stop().toCompletableFuture();
    rig.settle();
    assertThat(stopped).isCompleted();
  }

  @Test
  void aSubscriptionWhoseEndHasNoFutureEndsAllTheSame() {
    twisted.followings = following -> () -> Bare.of(following.stop());
    start(A);
    CompletableFuture<Void> stopped = rig.ingest.stop().toCompletableFuture();
    rig.settle();
    assertThat(stopped).isCompleted();
    assertThat(rig.events.stopped).isEqualTo(1);
  }

  @Test
  void noSubscriptionIsAnEndedOne() {
    twisted.followings = following -> null;
    start(A);
    assertThat(rig.count(IngestCount.ENDED_SUBSCRIPTIONS)).isEqualTo(1);
    assertThat(rig.status(A).reason()).contains("no subscription");
    twisted.followings = following -> following;
    rig.advance(100);
    assertThat(rig.events.followed).hasSize(2);
    assertThat(rig.status(A).reason()).doesNotContain("no subscription");
  }

  @Test
  void aSubscriptionMayEndWhileItBegins() {
    RelayException gone = new RelayException(RelayErrorReason.INTERNAL, "gone");
    twisted.whileFollowing = () -> rig.events.listener.onFailure(gone);
    start(A);
    assertThat(rig.count(IngestCount.ENDED_SUBSCRIPTIONS)).isEqualTo(1);
    twisted.whileFollowing = () -> {};
    rig.advance(100);
    assertThat(rig.events.followed).hasSize(2);
    assertThat(rig.count(IngestCount.ENDED_SUBSCRIPTIONS)).isEqualTo(1);
  }

  @Test
  void aFailureWithoutAnErrorIsTheProvidersToKnow() {
    start(A);
    assertThatThrownBy(() -> rig.events.listener.onFailure(null))
        .isInstanceOf(NullPointerException.class);
    assertThat(rig.count(IngestCount.ENDED_SUBSCRIPTIONS)).isZero();
  }

  @Test
  void whatIsCalledAfterTheStopHasNoEffect() {
    start(A, B);
    KvEventListener listener = rig.events.listener;
    rig.ingest.stop();
    rig.settle();
    long stale = rig.count(IngestCount.STALE_SUBSCRIPTION_CALLS);
    listener.onBatch(new io.kvrelay.api.KvEventBatch(P, java.util.List.of(IngestRig.store(A, 1))));
    listener.onDiscontinuity(P, "late");
    listener.onTrust(P, SourceTrust.UNKNOWN, "late");
    listener.onFailure(new RelayException(RelayErrorReason.INTERNAL, "late"));
    rig.events.last(A).answer(IngestRig.dumpOf(A, 3, 1, 2));
    rig.settle();
    assertThat(rig.count(IngestCount.STALE_SUBSCRIPTION_CALLS)).isEqualTo(stale + 3);
    assertThat(rig.blocks(A)).isEmpty();
    assertThat(rig.runtime.pendingTimers()).isLessThanOrEqualTo(1); // the pool's own
  }

  /** What was said of a source before it was advertised counts, however many there are. */
  @Test
  void thousandsOfUnknownPublishersAreNoneOfThemExact() {
    start();
    for (long publisher = 1; publisher <= 10_000; publisher++) {
      rig.events.listener.onTrust(publisher, SourceTrust.UNKNOWN, "not heard of yet");
    }
    rig.with(IngestRig.recoverable(A, 1));
    rig.reconcile();
    assertThat(rig.status(A).trust()).isEqualTo(SourceTrust.UNKNOWN);
    assertThat(rig.count(IngestCount.FORGOTTEN_TRUST)).isZero();
  }

  @Test
  void thousandsOfRestartsOfARankLeaveNothingBehind() {
    start(A);
    for (int life = 0; life < 3000; life++) {
      rig.with(IngestRig.recoverable(A, 1000 + life));
      if (life % 3 == 0) {
        rig.events.listener.onDiscontinuity(1000 + life - 1, "gone");
      }
      if (life % 7 == 0) {
        rig.ranks.remove(A);
      }
      rig.reconcile();
      if (life % 5 == 0) {
        rig.jitter();
      }
    }
    assertThat(rig.runtime.pendingTimers()).isLessThan(8);
    assertThat(rig.permits.waiting()).isZero();
    assertThat(rig.permits.free()).isGreaterThanOrEqualTo(15);
    assertThat(rig.ingest.ranks()).hasSizeLessThanOrEqualTo(1);
  }

  @Test
  void theLastEventIdsOfAllAreOrdinary() {
    rig.with(IngestRig.liveOnly(A, P));
    rig.port.failAdmissionOf = 99; // not -1
    start();
    rig.live(P, A, -3, -2, -1);
    assertThat(rig.cursor(A)).hasValue(-1);
    assertThat(rig.port.resets(A)).isZero();
    rig.live(P, A, 0, 1, -1);
    assertThat(rig.count(IngestCount.STALE_EVENTS)).isEqualTo(3);
    assertThat(rig.cursor(A)).hasValue(-1);
  }

  @Test
  void aGapAtTheEndOfAllIdsIsSkippedAndCounted() {
    rig.port.failAdmissionOf = 99; // not -1
    rig.bringLive(A, P, 2);
    rig.live(P, A, -1);
    rig.events.last(A).answer(new HistoryReply.InvalidRange(3, 2));
    rig.settle();
    assertThat(rig.cursor(A)).hasValue(-1);
    long skipped = rig.count(IngestCount.SKIPPED_IDS);
    assertThat(skipped).isPositive();
    rig.events.listener.onDiscontinuity(P, "from the beginning");
    rig.settle();
    rig.jitter();
    rig.events.last(A).answer(IngestRig.dumpOf(A, 2, 1, 2));
    rig.settle();
    rig.advance(20);
    assertThat(rig.cursor(A)).hasValue(2);
    rig.live(P, A, -1);
    rig.events.last(A).answer(new HistoryReply.InvalidRange(3, 2));
    rig.settle();
    assertThat(rig.count(IngestCount.SKIPPED_IDS)).as("never down").isGreaterThan(skipped);
  }

  @Test
  void aTimeThatNoClockCanCountIsRefused() {
    Duration ages = Duration.ofSeconds(Long.MAX_VALUE);
    assertThatThrownBy(() -> IngestConfig.builder().recoveryAttemptTimeout(ages).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("recoveryAttemptTimeout = " + ages);
    assertThatThrownBy(() -> IngestConfig.builder().unknownGrace(ages).build())
        .hasMessageStartingWith("unknownGrace = " + ages);
  }
}
