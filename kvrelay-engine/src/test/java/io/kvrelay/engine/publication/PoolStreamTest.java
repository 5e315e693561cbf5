package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.engine.pool.PoolDelta;
import io.kvrelay.engine.testing.RecordedLog;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** One subscription from its admission to its end. */
class PoolStreamTest {
  /** Buckets of a snapshot in two, or four, chunks. */
  private static final int TWO_CHUNKS = 1 << 20;

  private static final int FOUR_CHUNKS = 1 << 21;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final Fixture fixture = new Fixture();

  private Subscriber subscribed(Fixture.Pool pool) {
    Subscriber subscriber = fixture.subscribe(pool);
    fixture.runtime.runUntilIdle();
    return subscriber;
  }

  private void ask(Subscriber subscriber, long n) {
    subscriber.request(n);
    fixture.runtime.runUntilIdle();
  }

  @Test
  void whileNothingIsReadOneFrameIsQueuedAndTwoAreMade() {
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    Subscriber subscriber = subscribed(pool);
    assertThat(fixture.faults.chunks).isEqualTo(2);
    ask(subscriber, 1);
    assertThat(subscriber.frames).hasSize(1);
    assertThat(fixture.faults.chunks).isEqualTo(3);
    ask(subscriber, 3);
    assertThat(subscriber.hasSnapshot()).isTrue();
    assertThat(fixture.faults.chunks).isEqualTo(4);
  }

  @Test
  void aStallYieldsTheQueuedFrameThenTheTimeoutAndFencesNothing() {
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    Subscriber subscriber = subscribed(pool);
    fixture.runtime.advance(TIMEOUT.minusNanos(1));
    assertThat(fixture.registry.context().bootstrapPermits().available()).isEqualTo(1);
    fixture.runtime.advance(Duration.ofNanos(1));
    assertThat(fixture.registry.context().bootstrapPermits().available()).isEqualTo(2);
    assertThat(subscriber.error).isNull();
    assertThat(fixture.registry.statistics().poolSubscribers()).isEqualTo(1); // keeps its place
    ask(subscriber, 1);
    assertThat(subscriber.frames).hasSize(1);
    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.SNAPSHOT_PROGRESS_TIMEOUT);
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.ACTIVE);
    assertThat(fixture.isAtRest()).isTrue();
    assertThat(fixture.totals().stalledSnapshots()).isEqualTo(1);
    assertThat(fixture.follow(pool).hasSnapshot()).isTrue();
  }

  @Test
  void stallTimeIsCountedPerFrame() {
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    Subscriber subscriber = subscribed(pool);
    for (int i = 0; i < 4; i++) {
      fixture.runtime.advance(TIMEOUT.minusNanos(1));
      ask(subscriber, 1);
    }
    assertThat(subscriber.hasSnapshot()).isTrue();
    assertThat(fixture.runtime.pendingTimers()).isZero();
  }

  @Test
  void aSnapshotThatWasEncodedWholeDoesNotStall() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber subscriber = subscribed(pool);
    fixture.runtime.advance(TIMEOUT.multipliedBy(10));
    ask(subscriber, 1);
    assertThat(subscriber.hasSnapshot()).isTrue();
    assertThat(subscriber.error).isNull();
  }

  @Test
  void theEncodingPermitAndTheMirrorGoBackWithTheLastChunk() {
    Fixture.Pool pool = fixture.attach(1, TWO_CHUNKS);
    Subscriber subscriber = subscribed(pool);
    assertThat(fixture.registry.context().bootstrapPermits().available()).isEqualTo(1);
    ask(subscriber, 1);
    assertThat(fixture.registry.context().bootstrapPermits().available()).isEqualTo(2);
    pool.publish(1, 1);
    fixture.runtime.runUntilIdle();
    ask(subscriber, 5);
    assertThat(subscriber.words).isEqualTo(pool.producer().words);
  }

  @Test
  void deltasQueueFromTheMomentOfSubscription() {
    Fixture.Pool pool = fixture.attach(1, TWO_CHUNKS);
    Subscriber subscriber = subscribed(pool);
    for (int i = 0; i < 10; i++) {
      pool.publish(i, i + 1);
      fixture.runtime.runUntilIdle();
    }
    ask(subscriber, 100);
    assertThat(subscriber.frames).hasSize(12);
    assertThat(subscriber.frames.get(0).sequence()).isZero();
    assertThat(subscriber.words).isEqualTo(pool.producer().words);
    assertThat(subscriber.fault).isEmpty();
  }

  @Test
  void aBootstrapThatTakesTooLongEndsInLagAndDeliversNothingMore() {
    Fixture.Pool pool = fixture.attach(1, TWO_CHUNKS);
    Subscriber subscriber = subscribed(pool);
    for (int i = 0; i < 17; i++) {
      pool.publish(i, i + 1);
      fixture.runtime.runUntilIdle();
    }
    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.SUBSCRIBER_LAGGED);
    assertThat(subscriber.frames).isEmpty();
    assertThat(fixture.isAtRest()).isTrue();
  }

  @Test
  void lagIsNotAnAdmissionLimitAndLeavesTheOthersAlone() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber slow = subscribed(pool);
    ask(slow, 1);
    Subscriber fast = fixture.follow(pool);
    for (int i = 0; i < 20; i++) {
      pool.publish(i % 16, i);
      fixture.runtime.runUntilIdle();
    }
    assertThat(slow.reason()).isEqualTo(RelayErrorReason.SUBSCRIBER_LAGGED);
    assertThat(slow.frames).hasSize(1);
    assertThat(fast.sequence).isEqualTo(20);
    assertThat(fast.error).isNull();
    assertThat(fixture.totals().lagged()).isEqualTo(1);
    assertThat(fixture.totals().rejectedTotal()).isZero();
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.ACTIVE);
  }

  @Test
  void anEncoderThatCrashesFencesTheGeneration() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber other = fixture.follow(pool);
    fixture.faults.chunkFault = new IllegalStateException("crash");
    Subscriber subscriber = subscribed(pool);
    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.INTERNAL);
    assertThat(other.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(pool.producer().fenceReason).contains("crash");
    assertThat(pool.handle().fenced().toCompletableFuture().join()).contains("crash");
    assertThat(fixture.isAtRest()).isTrue();
    assertThat(fixture.totals().terminalFailures()).isEqualTo(1);
  }

  @Test
  void anEncodingErrorFencesTheGeneration() {
    Fixture.Pool pool = fixture.attach(1);
    fixture.faults.chunkFault =
        new RelayException(RelayErrorReason.INVALID_PUBLICATION, "does not fit");
    Subscriber subscriber = subscribed(pool);
    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.INVALID_PUBLICATION);
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.FENCED);
  }

  @Test
  void anEncoderThatIsCancelledFencesNothing() {
    AtomicBoolean reject = new AtomicBoolean();
    VirtualExecutor executor = new VirtualExecutor(fixture, reject);
    PublicationContext context =
        new PublicationContext(PublicationConfig.DEFAULTS, executor, fixture.faults::encoderOf);
    Fixture.Pool pool = fixture.attach(1);
    HubSubscription[] answer = new HubSubscription[1];
    PublicationHub hub = new PublicationHub(context, pool.producer(), new QuietOwner());
    hub.start();
    fixture.runtime.runUntilIdle();
    hub.subscribe(
        new PublicationHub.Subscriber() {
          @Override
          public void subscribed(HubSubscription subscription) {
            answer[0] = subscription;
          }

          @Override
          public void refused(RelayException error) {}

          @Override
          public void wake() {}
        });
    fixture.runtime.runUntilIdle();
    reject.set(true);
    Bootstrap bootstrap =
        new Bootstrap(context, answer[0], context.bootstrapPermits().acquire(() -> {}), () -> {});
    bootstrap.advance();
    assertThat(bootstrap.error().reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(bootstrap.close()).isTrue();
    assertThat(context.bootstrapPermits().available()).isEqualTo(2);
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.ACTIVE);
  }

  private static final class QuietOwner implements PublicationHub.Owner {
    @Override
    public void ready(PublicationHub hub) {}

    @Override
    public void failed(PublicationHub hub, RelayException error) {}

    @Override
    public void closed(PublicationHub hub) {}
  }

  /** The fixture's runtime, with an executor that can be stopped. */
  private record VirtualExecutor(Fixture fixture, AtomicBoolean reject)
      implements io.kvrelay.api.runtime.RelayRuntime {
    @Override
    public long nanoTime() {
      return fixture.runtime.nanoTime();
    }

    @Override
    public long currentTimeMillis() {
      return fixture.runtime.currentTimeMillis();
    }

    @Override
    public Executor executor() {
      return task -> {
        if (reject.get()) {
          throw new RejectedExecutionException("stopped");
        }
        fixture.runtime.executor().execute(task);
      };
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
      return fixture.runtime.schedule(delayNanos, task);
    }

    @Override
    public long randomLong() {
      return fixture.runtime.randomLong();
    }
  }

  @Test
  void drillOfAFaultyDeltaFencesTheGenerationThroughTheHub() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber subscriber = fixture.follow(pool);
    pool.producer()
        .send(
            new PoolDelta(
                pool.handle().identity(),
                pool.producer().lease,
                5,
                6,
                new int[] {1},
                new long[] {1}));
    fixture.runtime.runUntilIdle();
    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(fixture.registry.catalog().value().pools()).isEmpty();
  }

  @Test
  void anOversizedOrOverrunPublicationEndsOpenStreamsAsUnavailableAndLaterOnesGetASnapshot() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber old = fixture.follow(pool);
    for (int i = 0; i < 70; i++) {
      pool.publish(i % 16, i + 1);
    }
    fixture.runtime.runUntilIdle();
    assertThat(old.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    Subscriber young = fixture.follow(pool);
    assertThat(young.sequence).isEqualTo(70);
    assertThat(young.words).isEqualTo(pool.producer().words);
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.ACTIVE);
  }

  @Test
  void theGlobalPlaceIsHeldUntilTheStreamEnds() {
    Fixture small = new Fixture(PublicationConfig.builder().maxPoolStreamsTotal(1).build());
    Fixture.Pool pool = small.attach(1);
    Subscriber first = small.follow(pool);
    assertThat(small.follow(pool).reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    first.cancel();
    small.runtime.runUntilIdle();
    assertThat(small.follow(pool).hasSnapshot()).isTrue();
    assertThat(small.totals().rejectedTotal()).isEqualTo(1);
  }

  @Test
  void aSubscriberThatThrowsIsDroppedAndNobodyElseNotices() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber bad = fixture.follow(pool);
    Subscriber good = fixture.follow(pool);
    bad.throwOnNext = new IllegalStateException("mine");
    try (RecordedLog log = RecordedLog.of("io.kvrelay.engine.publication")) {
      pool.publish(1, 1);
      fixture.runtime.runUntilIdle();
      assertThat(log.thrown()).containsExactly(bad.throwOnNext);
    }
    pool.publish(2, 2);
    fixture.runtime.runUntilIdle();
    assertThat(bad.error).isNull();
    assertThat(good.words).isEqualTo(pool.producer().words);
    assertThat(fixture.totals().subscriberFaults()).isEqualTo(1);
    assertThat(fixture.registry.statistics().poolSubscribers()).isEqualTo(1);
  }

  @Test
  void aSubscriberThatThrowsARelayExceptionIsStillTheOneAtFault() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber bad = fixture.follow(pool);
    bad.throwOnNext = new RelayException(RelayErrorReason.INVALID_PUBLICATION, "mine");
    try (RecordedLog log = RecordedLog.of("io.kvrelay.engine.publication")) {
      pool.publish(1, 1);
      fixture.runtime.runUntilIdle();
      assertThat(log.thrown()).containsExactly(bad.throwOnNext);
    }
    assertThat(bad.error).isNull();
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.ACTIVE);
  }

  @Test
  void anErrorThrownBySubscriberGivesItsPlaceBackToo() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber bad = fixture.follow(pool);
    bad.throwOnNext = new AssertionError("mine");
    try (RecordedLog log = RecordedLog.of("io.kvrelay.engine.publication")) {
      pool.publish(1, 1);
      fixture.runtime.runUntilIdle();
      assertThat(log.thrown()).containsExactly(bad.throwOnNext);
    }
    assertThat(fixture.isAtRest()).isTrue();
    assertThat(fixture.totals().subscriberFaults()).isEqualTo(1);
  }

  @Test
  void aRequestThatIsNotPositiveEndsThatSubscriptionAlone() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber bad = subscribed(pool);
    Subscriber good = fixture.follow(pool);
    ask(bad, 0);
    pool.publish(1, 1);
    fixture.runtime.runUntilIdle();
    assertThat(bad.error).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("0");
    assertThat(good.words).isEqualTo(pool.producer().words);
  }

  @Test
  void overRequestingIsNoDifferentFromRequestingEverything() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber greedy = subscribed(pool);
    for (int i = 0; i < 5; i++) {
      ask(greedy, Long.MAX_VALUE);
    }
    for (int i = 0; i < 100; i++) {
      pool.publish(i % 16, i);
      fixture.runtime.runUntilIdle();
    }
    assertThat(greedy.sequence).isEqualTo(100);
    assertThat(greedy.fault).isEmpty();
  }

  @Test
  void afterAnErrorNothingMoreIsDelivered() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber subscriber = fixture.follow(pool);
    pool.handle().fence("test");
    fixture.runtime.runUntilIdle();
    subscriber.request(1);
    subscriber.cancel();
    fixture.runtime.runUntilIdle();
    assertThat(subscriber.fault).isEmpty();
    assertThat(subscriber.frames).extracting(PublicationFrame::sequence).containsExactly(0L);
  }

  @Test
  void shutdownEndsAStreamInTheMiddleOfItsSnapshotWithoutAnError() {
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    Subscriber subscriber = subscribed(pool);
    ask(subscriber, 1);
    fixture.registry.shutdown();
    fixture.runtime.runUntilIdle();
    assertThat(subscriber.completed).isTrue();
    assertThat(fixture.isAtRest()).isTrue();
    assertThat(fixture.runtime.pendingTimers()).isZero();
  }
}
