package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import org.junit.jupiter.api.Test;

/** Who gets a stream, who waits, and that whatever was taken is given back. */
class AdmissionTest {
  /** A snapshot in four chunks: its encoding permit is held until the third is taken. */
  private static final int FOUR_CHUNKS = 1 << 21;

  private static Fixture withOneEncoding() {
    return new Fixture(PublicationConfig.builder().publicationEncodingConcurrency(1).build());
  }

  private static Fixture withHubs(int hubs) {
    return new Fixture(PublicationConfig.builder().maxInitializedPoolHubs(hubs).build());
  }

  private static Subscriber subscribed(Fixture fixture, Fixture.Pool pool) {
    Subscriber subscriber = fixture.subscribe(pool);
    fixture.runtime.runUntilIdle();
    return subscriber;
  }

  @Test
  void anUnknownPoolIsRefusedBeforeAnyWait() {
    Fixture fixture = withOneEncoding();
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    Fixture.Pool gone = fixture.attach(2);
    subscribed(fixture, pool); // holds the only encoding permit
    gone.handle().withdraw();
    assertThat(subscribed(fixture, gone).reason()).isEqualTo(RelayErrorReason.POOL_NOT_FOUND);
    gone.handle().remove();
    assertThat(subscribed(fixture, gone).reason()).isEqualTo(RelayErrorReason.POOL_NOT_FOUND);
    fixture.attach(2);
    assertThat(subscribed(fixture, gone).reason()).isEqualTo(RelayErrorReason.PRODUCER_CHANGED);
  }

  @Test
  void aStreamWaitsForAnEncodingPermitWithoutPinningAMirror() {
    Fixture fixture = withOneEncoding();
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    Fixture.Pool other = fixture.attach(2);
    Subscriber first = subscribed(fixture, pool);
    Subscriber waiting = subscribed(fixture, other);
    assertThat(other.producer().subscriptions).isZero();
    first.request(3);
    fixture.runtime.runUntilIdle();
    assertThat(other.producer().subscriptions).isEqualTo(1);
    waiting.request(1);
    fixture.runtime.runUntilIdle();
    assertThat(waiting.hasSnapshot()).isTrue();
  }

  @Test
  void shutdownEndsTheWaitAndGivesThePlaceBack() {
    Fixture fixture = withOneEncoding();
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    subscribed(fixture, pool);
    Subscriber waiting = subscribed(fixture, pool);
    assertThat(fixture.registry.context().bootstrapPermits().waiting()).isEqualTo(1);
    fixture.registry.shutdown();
    fixture.runtime.runUntilIdle();
    assertThat(waiting.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(fixture.isAtRest()).isTrue();
  }

  @Test
  void retirementOfTheGenerationEndsTheWait() {
    Fixture fixture = withOneEncoding();
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    Fixture.Pool other = fixture.attach(2);
    subscribed(fixture, pool);
    Subscriber waiting = subscribed(fixture, other);
    other.handle().withdraw();
    fixture.runtime.runUntilIdle();
    assertThat(waiting.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(fixture.registry.context().bootstrapPermits().waiting()).isZero();
    assertThat(fixture.registry.statistics().poolSubscribers()).isEqualTo(1);
  }

  @Test
  void cancellingEndsTheWait() {
    Fixture fixture = withOneEncoding();
    Fixture.Pool pool = fixture.attach(1, FOUR_CHUNKS);
    subscribed(fixture, pool);
    Subscriber waiting = subscribed(fixture, pool);
    waiting.cancel();
    fixture.runtime.runUntilIdle();
    assertThat(fixture.registry.context().bootstrapPermits().waiting()).isZero();
    assertThat(fixture.registry.statistics().poolSubscribers()).isEqualTo(1);
  }

  @Test
  void theLimitOfStreamsIsGlobalAndFailsFast() {
    Fixture fixture = new Fixture(PublicationConfig.builder().maxPoolStreamsTotal(2).build());
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.follow(one);
    fixture.follow(two);
    Subscriber third = subscribed(fixture, one);
    assertThat(third.reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    assertThat(third.error).hasMessageContaining("max_pool_streams_total = 2");
  }

  @Test
  void theLimitPerPoolLeavesOtherPoolsOpen() {
    Fixture fixture = new Fixture(PublicationConfig.builder().maxSubscribersPerPool(1).build());
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.follow(one);
    assertThat(subscribed(fixture, one).reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    assertThat(fixture.follow(two).hasSnapshot()).isTrue();
    assertThat(fixture.registry.statistics().poolSubscribers()).isEqualTo(2);
    assertThat(fixture.totals().rejectedPerPool()).isEqualTo(1);
  }

  @Test
  void sixtyFourStreamsAreAdmittedByDefaultAndAFreedPlaceIsReusable() {
    Fixture fixture = new Fixture();
    Fixture.Pool pool = fixture.attach(1);
    Subscriber last = null;
    for (int i = 0; i < 64; i++) {
      last = fixture.follow(pool);
      assertThat(last.hasSnapshot()).isTrue();
    }
    assertThat(fixture.follow(pool).reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    last.cancel();
    fixture.runtime.runUntilIdle();
    assertThat(fixture.follow(pool).hasSnapshot()).isTrue();
  }

  @Test
  void anIdleHubGivesWayUnderPressureAndItsLeaseGoesFirst() {
    Fixture fixture = withHubs(1);
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.follow(one).cancel();
    fixture.runtime.runUntilIdle();
    assertThat(fixture.registry.statistics().idleHubs()).isEqualTo(1);
    assertThat(fixture.follow(two).hasSnapshot()).isTrue();
    assertThat(one.producer().lease).isNull();
    assertThat(one.producer().retired).hasSize(1);
    assertThat(fixture.registry.statistics().initializedHubs()).isEqualTo(1);
    assertThat(fixture.totals().evictions()).isEqualTo(1);
    assertThat(one.handle().state()).isEqualTo(PoolHandle.State.ACTIVE);
  }

  @Test
  void anIdleHubStaysWhileNobodyNeedsItsPlace() {
    Fixture fixture = withHubs(2);
    Fixture.Pool one = fixture.attach(1);
    fixture.follow(one).cancel();
    fixture.runtime.advance(java.time.Duration.ofDays(30));
    fixture.follow(one);
    assertThat(one.producer().subscriptions).isEqualTo(1);
  }

  @Test
  void anEvictedHubStartsAgainAtTheSequenceThatStoodStill() {
    Fixture fixture = withHubs(1);
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.follow(one).cancel();
    fixture.follow(two).cancel();
    one.publish(4, 4);
    Subscriber again = fixture.follow(one);
    assertThat(again.sequence).isZero();
    assertThat(again.words[4]).isEqualTo(4);
    one.publish(5, 5);
    fixture.runtime.runUntilIdle();
    assertThat(again.sequence).isEqualTo(1);
  }

  @Test
  void withoutAVictimHubsAreALimitAndTheSlotStaysFree() {
    Fixture fixture = withHubs(1);
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    Subscriber holder = fixture.follow(one);
    Subscriber refused = subscribed(fixture, two);
    assertThat(refused.reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    assertThat(refused.error).hasMessageContaining("max_initialized_pool_hubs");
    assertThat(fixture.totals().rejectedInitializedHub()).isEqualTo(1);
    assertThat(fixture.registry.statistics().poolSubscribers()).isEqualTo(1);
    holder.cancel();
    fixture.runtime.runUntilIdle();
    assertThat(fixture.follow(two).hasSnapshot()).isTrue();
  }

  @Test
  void everyWaiterOfAScarceHubIsAnswered() {
    Fixture fixture = withHubs(1);
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.follow(one);
    Subscriber[] refused = new Subscriber[5];
    for (int i = 0; i < refused.length; i++) {
      refused[i] = fixture.subscribe(two);
    }
    fixture.runtime.runUntilIdle();
    assertThat(refused)
        .extracting(Subscriber::reason)
        .containsOnly(RelayErrorReason.RESOURCE_LIMIT);
  }

  @Test
  void aSlotWithAPendingAdmissionIsNotEvicted() {
    Fixture fixture = withHubs(1);
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.follow(one).cancel();
    fixture.runtime.runUntilIdle();
    HubRequest.Answer nobody =
        new HubRequest.Answer() {
          @Override
          public void hub(PublicationHub hub) {}

          @Override
          public void noHub(RelayException error) {}
        };
    HubSlot slot = fixture.registry.find(one.handle().identity()).slot();
    HubRequest pending = fixture.registry.hubs().request(slot, nobody);
    assertThat(subscribed(fixture, two).reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    fixture.registry.hubs().close(pending);
    assertThat(fixture.follow(two).hasSnapshot()).isTrue();
  }

  @Test
  void aFailedEvictionFencesTheVictimAndThePlaceIsFree() {
    Fixture fixture = withHubs(1);
    Fixture.Pool one = fixture.attach(1);
    Fixture.Pool two = fixture.attach(2);
    fixture.follow(one).cancel();
    fixture.runtime.runUntilIdle();
    one.producer().failRetire = new IllegalStateException("stuck");
    assertThat(fixture.follow(two).hasSnapshot()).isTrue();
    assertThat(one.handle().state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(fixture.registry.statistics().initializedHubs()).isEqualTo(1);
  }

  @Test
  void aFailedStartFencesAndTellsTheReasonToAllWaiters() {
    Fixture fixture = new Fixture();
    Fixture.Pool pool = fixture.attach(1);
    pool.producer().failNextSnapshot = new IllegalStateException("no memory");
    Subscriber first = fixture.subscribe(pool);
    Subscriber second = fixture.subscribe(pool);
    fixture.runtime.runUntilIdle();
    assertThat(first.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(second.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(first.error).hasMessageContaining("no memory");
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(fixture.isAtRest()).isTrue();
    assertThat(fixture.registry.hubs().freePermits()).isEqualTo(64);
  }

  @Test
  void aCancelledStartRetiresWithoutAFailure() {
    Fixture fixture = new Fixture();
    Fixture.Pool pool = fixture.attach(1);
    pool.producer().holdSnapshots = true;
    Subscriber waiting = subscribed(fixture, pool);
    pool.handle().withdraw();
    fixture.runtime.runUntilIdle();
    assertThat(waiting.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    pool.producer().answerHeldSnapshots();
    fixture.runtime.runUntilIdle();
    assertThat(pool.producer().lease).isNull();
    assertThat(pool.handle().state()).isEqualTo(PoolHandle.State.WITHDRAWN);
    assertThat(fixture.totals().terminalFailures()).isZero();
    assertThat(fixture.registry.hubs().freePermits()).isEqualTo(64);
  }

  @Test
  void aStartGoesOnWhenItsCallerLeaves() {
    Fixture fixture = new Fixture();
    Fixture.Pool pool = fixture.attach(1);
    pool.producer().holdSnapshots = true;
    Subscriber caller = subscribed(fixture, pool);
    caller.cancel();
    fixture.runtime.runUntilIdle();
    pool.producer().answerHeldSnapshots();
    fixture.runtime.runUntilIdle();
    assertThat(fixture.registry.statistics().readyHubs()).isEqualTo(1);
    assertThat(fixture.follow(pool).hasSnapshot()).isTrue();
    assertThat(pool.producer().subscriptions).isEqualTo(1);
  }

  @Test
  void oneStartServesAllWhoWait() {
    Fixture fixture = new Fixture();
    Fixture.Pool pool = fixture.attach(1);
    pool.producer().holdSnapshots = true;
    Subscriber one = subscribed(fixture, pool);
    Subscriber two = subscribed(fixture, pool);
    pool.producer().answerHeldSnapshots();
    one.request(1);
    two.request(1);
    fixture.runtime.runUntilIdle();
    assertThat(one.hasSnapshot()).isTrue();
    assertThat(two.hasSnapshot()).isTrue();
    assertThat(pool.producer().subscriptions).isEqualTo(1);
  }

  @Test
  void aGenerationFencedWhileItsHubStartsEndsTheStreamAsUnavailable() {
    Fixture fixture = new Fixture();
    Fixture.Pool pool = fixture.attach(1);
    pool.producer().holdSnapshots = true;
    Subscriber waiting = subscribed(fixture, pool);
    pool.handle().fence("conflict");
    fixture.runtime.runUntilIdle();
    assertThat(waiting.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(fixture.isAtRest()).isTrue();
  }
}
