package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import org.junit.jupiter.api.Test;

/** The line of flow: snapshot, then contiguous deltas, to several subscribers. */
class PublicationFlowTest {
  private final Fixture fixture = new Fixture();

  @Test
  void aSnapshotAndTheDeltasAfterItMakeUpTheProducersWords() {
    Fixture.Pool pool = fixture.attach(1);
    pool.publish(3, 42);
    Subscriber subscriber = fixture.follow(pool);
    pool.publish(5, 7);
    pool.publish(3, 0);
    fixture.runtime.runUntilIdle();

    assertThat(subscriber.fault).isEmpty();
    assertThat(subscriber.words).isEqualTo(pool.producer().words);
    assertThat(subscriber.frames)
        .extracting(PublicationFrame::kind)
        .containsExactly(
            PublicationFrame.Kind.SNAPSHOT_CHUNK,
            PublicationFrame.Kind.DELTA,
            PublicationFrame.Kind.DELTA);
    assertThat(subscriber.sequence).isEqualTo(2);
  }

  @Test
  void theSequenceStandsStillUntilAHubHoldsTheLease() {
    Fixture.Pool pool = fixture.attach(1);
    pool.publish(3, 42);
    assertThat(fixture.follow(pool).sequence).isZero();
  }

  @Test
  void twoSubscribersShareOneFrameAndALaterThirdStartsAtItsSequence() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber first = fixture.follow(pool);
    Subscriber second = fixture.follow(pool);
    pool.publish(1, 1);
    fixture.runtime.runUntilIdle();
    Subscriber third = fixture.follow(pool);
    pool.publish(2, 2);
    fixture.runtime.runUntilIdle();

    assertThat(first.frames.get(1)).isSameAs(second.frames.get(1));
    assertThat(first.frames.get(2)).isSameAs(third.frames.get(1)).isSameAs(second.frames.get(2));
    assertThat(third.frames.get(0).sequence()).isEqualTo(1);
    assertThat(third.words).isEqualTo(pool.producer().words);
    assertThat(fixture.faults.deltas).isEqualTo(2);
    assertThat(pool.producer().subscriptions).isEqualTo(1);
  }

  @Test
  void cancellingGivesEverythingBack() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber subscriber = fixture.follow(pool);
    assertThat(fixture.isAtRest()).isFalse();
    subscriber.cancel();
    fixture.runtime.runUntilIdle();
    pool.publish(1, 1);
    fixture.runtime.runUntilIdle();

    assertThat(fixture.isAtRest()).isTrue();
    assertThat(subscriber.frames).hasSize(1);
    assertThat(fixture.registry.statistics().idleHubs()).isEqualTo(1);
    assertThat(fixture.runtime.pendingTimers()).isZero();
  }

  @Test
  void shutdownCompletesStreamsWithoutAnError() {
    Fixture.Pool pool = fixture.attach(1);
    Subscriber subscriber = fixture.follow(pool);
    fixture.registry.shutdown();
    fixture.runtime.runUntilIdle();

    assertThat(subscriber.completed).isTrue();
    assertThat(pool.producer().fenceReason).isNotNull();
    assertThat(fixture.isAtRest()).isTrue();
    assertThat(fixture.registry.source().shutdown().toCompletableFuture()).isDone();
    Subscriber late = fixture.subscribe(pool);
    fixture.runtime.runUntilIdle();
    assertThat(late.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
  }

  @Test
  void aNewGenerationInheritsNothing() {
    Fixture.Pool old = fixture.attach(1);
    Subscriber subscriber = fixture.follow(old);
    old.publish(1, 1);
    fixture.runtime.runUntilIdle();
    old.handle().fence("rebuild");
    old.handle().remove();
    Fixture.Pool young = fixture.attach(1);
    Subscriber next = fixture.follow(young);
    Subscriber stale = fixture.subscribe(old);
    fixture.runtime.runUntilIdle();

    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(stale.reason()).isEqualTo(RelayErrorReason.PRODUCER_CHANGED);
    assertThat(next.sequence).isZero();
    assertThat(next.words).containsOnly(0);
    assertThat(young.handle().identity().layoutGeneration()).isEqualTo(2);
  }
}
