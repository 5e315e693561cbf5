package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.atIndex;
import static org.assertj.core.api.Assertions.tuple;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.cbi1.Cbi1;
import io.kvrelay.engine.pool.DeltaReceiver;
import io.kvrelay.engine.pool.PoolDelta;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** The hub alone, between a scripted pool and bare subscriptions. */
class PublicationHubTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final FaultyEncoder faults = new FaultyEncoder();
  private final ProducerIdentity identity =
      new ProducerIdentity(
          Fixture.poolId(1),
          new RelayIdentity(17, 23).incarnation(),
          1,
          Fixture.spec(1, 16).format());
  private ScriptedPool pool = new ScriptedPool(identity);
  private PublicationContext context;
  private final OwnerLog owner = new OwnerLog();

  private static final class OwnerLog implements PublicationHub.Owner {
    int ready;
    int closed;
    RelayException failure;

    @Override
    public void ready(PublicationHub hub) {
      ready++;
    }

    @Override
    public void failed(PublicationHub hub, RelayException error) {
      failure = error;
    }

    @Override
    public void closed(PublicationHub hub) {
      closed++;
    }
  }

  /** A bare subscriber: no stream, no bootstrap. */
  private static final class Client implements PublicationHub.Subscriber {
    HubSubscription subscription;
    RelayException refusal;

    @Override
    public void subscribed(HubSubscription given) {
      subscription = given;
    }

    @Override
    public void refused(RelayException error) {
      refusal = error;
    }

    @Override
    public void wake() {}

    List<PublicationFrame> drain() {
      List<PublicationFrame> frames = new ArrayList<>();
      for (PublicationFrame f = subscription.queue().poll();
          f != null;
          f = subscription.queue().poll()) {
        frames.add(f);
      }
      return frames;
    }

    /** The snapshot has been transferred. */
    Client released() {
      subscription.releaseSnapshot();
      return this;
    }
  }

  private PublicationHub started(UnaryOperator<PublicationConfig.Builder> change) {
    context =
        new PublicationContext(
            change.apply(PublicationConfig.builder()).build(), runtime, faults::encoderOf);
    PublicationHub hub = new PublicationHub(context, pool, owner);
    hub.start();
    runtime.runUntilIdle();
    return hub;
  }

  private PublicationHub started() {
    return started(config -> config);
  }

  private Client subscribe(PublicationHub hub) {
    Client client = new Client();
    hub.subscribe(client);
    runtime.runUntilIdle();
    return client;
  }

  private PoolDelta delta(long base, long sequence, int bucket) {
    return new PoolDelta(identity, pool.lease, base, sequence, new int[] {bucket}, new long[] {1});
  }

  @Test
  void handingOverASnapshotSharesTheMirror() {
    PublicationHub hub = started();
    Client first = subscribe(hub);
    Client second = subscribe(hub);
    assertThat(first.subscription.words()).isSameAs(second.subscription.words());
    assertThat(first.subscription.id()).isEqualTo(1);
    assertThat(second.subscription.id()).isEqualTo(2);
  }

  @Test
  void aPinnedMirrorIsCopiedBeforeItIsWrittenAndAFreeOneIsNot() {
    PublicationHub hub = started();
    Client pinning = subscribe(hub);
    long[] before = pinning.subscription.words();
    pool.publish(3, 9);
    runtime.runUntilIdle();
    assertThat(before).containsOnly(0);
    Client next = subscribe(hub).released();
    assertThat(next.subscription.words()).isNotSameAs(before).contains(9, atIndex(3));
    pool.publish(4, 5);
    runtime.runUntilIdle();
    assertThat(subscribe(hub).subscription.words()).isSameAs(next.subscription.words());
  }

  @Test
  void theSnapshotIsReleasedOnceAfterItsTransfer() {
    PublicationHub hub = started();
    Client client = subscribe(hub);
    client.subscription.releaseSnapshot();
    client.subscription.releaseSnapshot();
    Client other = subscribe(hub);
    other.subscription.close();
    runtime.runUntilIdle();
    List<PublicationHub.Eviction> answers = new ArrayList<>();
    client.subscription.close();
    hub.evictIfIdle(answers::add);
    runtime.runUntilIdle();
    assertThat(answers).containsExactly(PublicationHub.Eviction.REFUSED); // the other one pins
  }

  @Test
  void aDeltaNeedsExactIdentityLeaseAndSequence() {
    record Case(String what, Function<PublicationHubTest, PoolDelta> delta) {}
    ProducerIdentity foreign = new ProducerIdentity(identity.poolId(), 99, 1, identity.format());
    List<Case> cases =
        List.of(
            new Case(
                "a delta of",
                t -> new PoolDelta(foreign, t.pool.lease, 0, 1, new int[] {1}, new long[] {1})),
            new Case(
                "under",
                t ->
                    new PoolDelta(
                        t.identity, new LaneLease(1, 1, 1), 0, 1, new int[] {1}, new long[] {1})),
            new Case("does not continue", t -> t.delta(1, 2, 1)),
            new Case("does not continue", t -> t.delta(0, 2, 1)),
            new Case("does not continue", t -> t.delta(-1, 0, 1)),
            new Case("bucket 16 of 16", t -> t.delta(0, 1, 16)),
            new Case("bucket 4294967295 of 16", t -> t.delta(0, 1, -1)));
    for (Case each : cases) {
      PublicationHubTest test = new PublicationHubTest();
      PublicationHub hub = test.started();
      Client client = test.subscribe(hub);
      test.pool.send(each.delta().apply(test));
      test.runtime.runUntilIdle();
      assertThat(test.owner.failure).as(each.what()).hasMessageContaining(each.what());
      assertThat(test.owner.failure.reason()).isEqualTo(RelayErrorReason.INVALID_PUBLICATION);
      assertThat(client.subscription.queue().state()).isEqualTo(SubscriberQueue.State.RETIRED);
      assertThat(hub.isReady()).isFalse();
      assertThat(test.pool.retired).hasSize(1);
      assertThat(test.subscribe(hub).refusal.reason())
          .isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    }
  }

  @Test
  void noSequenceIsLeftAfterTheLargest() {
    pool.sequence = -1L;
    PublicationHub hub = started();
    subscribe(hub);
    pool.send(delta(-1L, 0, 1));
    runtime.runUntilIdle();
    assertThat(owner.failure).hasMessageContaining("18446744073709551615");
  }

  @Test
  void aSnapshotOfAnotherIdentityOrLeaseIsRefused() {
    pool.snapshotIdentity = new ProducerIdentity(identity.poolId(), 99, 1, identity.format());
    started();
    assertThat(owner.failure.reason()).isEqualTo(RelayErrorReason.INVALID_PUBLICATION);
    pool = new ScriptedPool(identity);
    pool.snapshotLease = new LaneLease(9, 9, 9);
    started();
    assertThat(owner.failure).hasMessageContaining("LaneLease");
    assertThat(pool.channel.isReceiverClosed()).isTrue();
  }

  @Test
  void theLeaseNamesTheRelaysLifeAndTheGeneration() {
    started();
    assertThat(pool.lease).isEqualTo(new LaneLease(23, 0, 1));
  }

  @Test
  void theByteLimitIsLookedAtBeforeTheFrameCount() {
    SubscriberQueue queue = new SubscriberQueue(2, 1000, () -> {});
    PublicationFrame small = frame(100);
    assertThat(queue.offer(small)).isTrue();
    assertThat(queue.bytes()).isEqualTo(356);
    assertThat(queue.offer(frame(400))).isFalse(); // 356 + 656 > 1000, though a place is free
    assertThat(queue.state()).isEqualTo(SubscriberQueue.State.LAGGED);
    assertThat(queue.poll()).isNull();
    assertThat(queue.bytes()).isZero();
  }

  @Test
  void aReservationEndsWhenTheFrameLeavesTheQueue() {
    SubscriberQueue queue = new SubscriberQueue(2, 1000, () -> {});
    for (int i = 0; i < 100; i++) {
      assertThat(queue.offer(frame(700))).isTrue();
      assertThat(queue.poll()).isNotNull();
    }
    assertThat(queue.bytes()).isZero();
  }

  private PublicationFrame frame(int bytes) {
    return new PublicationFrame(
        identity, PublicationFrame.Kind.DELTA, 0, 1, ByteBuffer.allocate(bytes), 0);
  }

  @Test
  void aSlowSubscriberIsRemovedAlone() {
    PublicationHub hub = started(config -> config.publicationQueueCapacity(3));
    Client slow = subscribe(hub).released();
    Client fast = subscribe(hub).released();
    int delivered = 0;
    for (int i = 0; i < 5; i++) {
      pool.publish(i, i);
      runtime.runUntilIdle();
      delivered += fast.drain().size();
    }
    assertThat(slow.subscription.queue().state()).isEqualTo(SubscriberQueue.State.LAGGED);
    assertThat(slow.drain()).isEmpty();
    assertThat(delivered).isEqualTo(5);
    assertThat(hub.subscriberCount()).isEqualTo(1);
    assertThat(context.counters().totals().lagged()).isEqualTo(1);
  }

  @Test
  void subscribersOfAPoolAreLimited() {
    PublicationHub hub = started(config -> config.maxSubscribersPerPool(2));
    Client first = subscribe(hub);
    subscribe(hub);
    assertThat(subscribe(hub).refusal.reason()).isEqualTo(RelayErrorReason.RESOURCE_LIMIT);
    first.subscription.close();
    runtime.runUntilIdle();
    assertThat(subscribe(hub).refusal).isNull();
    assertThat(context.counters().totals().rejectedPerPool()).isEqualTo(1);
  }

  @Test
  void anIdleHubAdvancesWithoutAnEncodingPermit() {
    PublicationHub hub = started(config -> config.publicationEncodingConcurrency(1));
    assertThat(context.deltaPermits().tryAcquire()).isTrue();
    pool.publish(1, 7);
    runtime.runUntilIdle();
    assertThat(subscribe(hub).subscription.snapshotSequence()).isEqualTo(1);
    assertThat(faults.deltas).isZero();
  }

  @Test
  void anIdleHubCopiesAPinnedMirrorWithoutAPermitEither() {
    PublicationHub hub = started(config -> config.publicationEncodingConcurrency(1));
    Client gone = subscribe(hub);
    gone.subscription.close(); // its encoder is still reading
    runtime.runUntilIdle();
    assertThat(context.deltaPermits().tryAcquire()).isTrue();
    pool.publish(1, 7);
    runtime.runUntilIdle();
    assertThat(gone.subscription.words()).containsOnly(0);
    assertThat(subscribe(hub).subscription.words()[1]).isEqualTo(7);
  }

  @Test
  void whoArrivesDuringTheIdleCopyGetsThePendingDelta() {
    PublicationHub hub = started();
    Client gone = subscribe(hub);
    gone.subscription.close();
    runtime.runUntilIdle();
    pool.publish(1, 7);
    assertThat(runtime.runOne()).isTrue(); // the hub hands the copy to the executor
    Client arriving = new Client();
    hub.subscribe(arriving);
    runtime.runUntilIdle();
    assertThat(arriving.subscription.snapshotSequence()).isZero();
    assertThat(arriving.drain())
        .extracting(PublicationFrame::baseSequence, PublicationFrame::sequence)
        .containsExactly(tuple(0L, 1L));
    assertThat(subscribe(hub).subscription.snapshotSequence()).isEqualTo(1);
  }

  @Test
  void whoArrivesDuringAnEncodingGetsThatDeltaToo() {
    PublicationHub hub = started(config -> config.publicationEncodingConcurrency(1));
    Client first = subscribe(hub).released();
    assertThat(context.deltaPermits().tryAcquire()).isTrue();
    pool.publish(1, 7);
    runtime.runUntilIdle(); // waits for the permit
    Client second = subscribe(hub);
    assertThat(second.subscription.snapshotSequence()).isZero();
    context.deltaPermits().release();
    runtime.runUntilIdle();
    PublicationFrame shared = first.drain().get(0);
    assertThat(second.drain()).containsExactly(shared);
    assertThat(shared.sequence()).isEqualTo(1);
    assertThat(faults.deltas).isEqualTo(1);
  }

  @Test
  void largeWorkRunsBesideTheHubWhichStaysResponsive() {
    PublicationHub hub = started(config -> config.publicationEncodingConcurrency(1));
    Client first = subscribe(hub).released();
    assertThat(context.deltaPermits().tryAcquire()).isTrue();
    pool.publish(1, 7);
    runtime.runUntilIdle();
    Client second = subscribe(hub); // answered while the delta waits for its permit
    assertThat(second.subscription).isNotNull();
    assertThat(first.drain()).isEmpty();
    context.deltaPermits().release();
    runtime.runUntilIdle();
    assertThat(first.drain()).hasSize(1);
  }

  @Test
  void aDeltaWhoseSubscribersLeftGivesItsPlaceInTheQueueBack() {
    PublicationHub hub = started(config -> config.publicationEncodingConcurrency(1));
    Client leaving = subscribe(hub).released();
    assertThat(context.deltaPermits().tryAcquire()).isTrue();
    pool.publish(1, 7);
    runtime.runUntilIdle();
    assertThat(context.deltaPermits().waiting()).isEqualTo(1);
    leaving.subscription.close();
    runtime.runUntilIdle();
    assertThat(context.deltaPermits().waiting()).isZero();
    context.deltaPermits().release();
    assertThat(context.deltaPermits().available()).isEqualTo(1);
    assertThat(subscribe(hub).subscription.snapshotSequence()).isEqualTo(1);
  }

  @Test
  void retirementCancelsWorkThatWaits() {
    PublicationHub hub = started(config -> config.publicationEncodingConcurrency(1));
    subscribe(hub).released();
    assertThat(context.deltaPermits().tryAcquire()).isTrue();
    pool.publish(1, 7);
    runtime.runUntilIdle();
    assertThat(context.deltaPermits().waiting()).isEqualTo(1);
    hub.retire();
    runtime.runUntilIdle();
    assertThat(owner.closed).isEqualTo(1);
    assertThat(context.deltaPermits().waiting()).isZero();
    context.deltaPermits().release();
    assertThat(context.deltaPermits().available()).isEqualTo(1);
  }

  @Test
  void retirementCancelsWorkThatRuns() {
    PublicationHub hub = started(config -> config.publicationEncodingConcurrency(1));
    Client client = subscribe(hub); // pins, so that the delta takes the long way
    pool.publish(1, 7);
    runtime.runOne(); // the hub starts the encoding
    hub.retire();
    runtime.runOne(); // the encoding runs
    runtime.runUntilIdle();
    assertThat(owner.closed).isEqualTo(1);
    assertThat(owner.failure).isNull();
    assertThat(client.drain()).isEmpty();
    assertThat(context.deltaPermits().available()).isEqualTo(1);
  }

  @Test
  void anOversizedDeltaStartsOverAndEndsThoseWhoAreOn() {
    pool = new ScriptedPool(large());
    PublicationHub hub = started();
    Client old = subscribe(hub).released();
    int[] buckets = new int[Cbi1.MAX_DELTA_IMAGES + 1];
    long[] words = new long[buckets.length];
    for (int i = 0; i < buckets.length; i++) {
      buckets[i] = i;
      words[i] = i + 1L;
    }
    pool.publish(buckets, words);
    runtime.runUntilIdle();
    assertThat(old.subscription.queue().state()).isEqualTo(SubscriberQueue.State.RETIRED);
    assertThat(owner.failure).isNull();
    Client next = subscribe(hub);
    assertThat(next.subscription.snapshotSequence()).isEqualTo(1);
    assertThat(next.subscription.words()).isEqualTo(pool.words);
    assertThat(pool.subscriptions).isEqualTo(2);
    assertThat(context.counters().totals().recoveries()).isEqualTo(1);
    assertThat(pool.lease).isNotNull();
  }

  private ProducerIdentity large() {
    return new ProducerIdentity(identity.poolId(), 23, 1, Fixture.spec(1, 1 << 19).format());
  }

  @Test
  void theLargestDeltaThatFitsIsSentAsOne() {
    pool = new ScriptedPool(large());
    PublicationHub hub = started();
    Client client = subscribe(hub).released();
    int[] buckets = new int[Cbi1.MAX_DELTA_IMAGES];
    for (int i = 0; i < buckets.length; i++) {
      buckets[i] = i;
    }
    pool.publish(buckets, new long[buckets.length]);
    runtime.runUntilIdle();
    assertThat(client.drain())
        .singleElement()
        .extracting(PublicationFrame::payloadBytes)
        .isEqualTo(4_194_360);
  }

  @Test
  void internalLagStartsOverAtTheSequenceReached() {
    PublicationHub hub = started();
    Client old = subscribe(hub).released();
    for (int i = 0; i < 70; i++) {
      pool.publish(i % 16, i);
    }
    assertThat(DeltaReceiver.CAPACITY).isEqualTo(64);
    runtime.runUntilIdle();
    assertThat(old.subscription.queue().state()).isEqualTo(SubscriberQueue.State.RETIRED);
    assertThat(subscribe(hub).subscription.snapshotSequence()).isEqualTo(70);
    assertThat(owner.failure).isNull();
  }

  @Test
  void whoArrivesDuringARecoveryIsServedFromTheNewSnapshot() {
    PublicationHub hub = started();
    pool.holdSnapshots = true;
    for (int i = 0; i < 70; i++) {
      pool.publish(i % 16, i);
    }
    runtime.runUntilIdle();
    assertThat(hub.isReady()).isFalse();
    Client arriving = subscribe(hub);
    assertThat(arriving.subscription).isNull();
    pool.answerHeldSnapshots();
    runtime.runUntilIdle();
    assertThat(arriving.subscription.snapshotSequence()).isEqualTo(70);
  }

  @Test
  void aRecoveryThatFailsIsAFailure() {
    PublicationHub hub = started();
    pool.failNextSnapshot = new RelayException(RelayErrorReason.CLOSED, "shutting down");
    for (int i = 0; i < 70; i++) {
      pool.publish(i % 16, i);
    }
    runtime.runUntilIdle();
    assertThat(hub.isReady()).isFalse();
    assertThat(owner.failure).hasMessageContaining("shutting down");
  }

  @Test
  void aChannelThatClosesUnaskedIsAFailure() {
    PublicationHub hub = started();
    Client client = subscribe(hub).released();
    pool.publish(1, 1);
    pool.channel.end();
    runtime.runUntilIdle();
    assertThat(owner.failure.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(client.subscription.queue().state()).isEqualTo(SubscriberQueue.State.RETIRED);
    assertThat(hub.lastError()).isSameAs(owner.failure);
  }

  @Test
  void anEncoderThatFailsIsAFailureOfTheHub() {
    PublicationHub hub = started();
    subscribe(hub).released();
    faults.deltaFault = new IllegalStateException("encoder");
    pool.publish(1, 1);
    runtime.runUntilIdle();
    assertThat(owner.failure).hasMessageContaining("encoder");
    assertThat(hub.isReady()).isFalse();
    assertThat(context.deltaPermits().available()).isEqualTo(2);
  }

  @Test
  void anEncoderThatFailsBesideTheHubIsAFailureToo() {
    PublicationHub hub = started();
    subscribe(hub);
    faults.deltaFault = new IllegalStateException("encoder");
    pool.publish(1, 1);
    runtime.runUntilIdle();
    assertThat(owner.failure.reason()).isEqualTo(RelayErrorReason.INVALID_PUBLICATION);
    assertThat(hub.isReady()).isFalse();
    assertThat(context.deltaPermits().available()).isEqualTo(2);
  }

  @Test
  void evictionNeedsNoSubscriberAndAFreeMirror() {
    PublicationHub hub = started();
    Client client = subscribe(hub);
    List<PublicationHub.Eviction> answers = new ArrayList<>();
    hub.evictIfIdle(answers::add);
    runtime.runUntilIdle();
    client.subscription.close();
    hub.evictIfIdle(answers::add);
    runtime.runUntilIdle();
    client.subscription.releaseSnapshot();
    hub.evictIfIdle(answers::add);
    runtime.runUntilIdle();
    assertThat(answers)
        .containsExactly(
            PublicationHub.Eviction.REFUSED,
            PublicationHub.Eviction.REFUSED,
            PublicationHub.Eviction.DONE);
    assertThat(subscribe(hub).refusal.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(owner.closed).isZero(); // the answer stands in for it
  }

  @Test
  void theLeaseIsRetiredBeforeARestartWhichStartsAtTheSequenceThatStoodStill() {
    PublicationHub hub = started();
    LaneLease held = pool.lease;
    hub.evictIfIdle(answer -> assertThat(pool.retired).containsExactly(held));
    runtime.runUntilIdle();
    pool.publish(1, 1); // dropped: nobody holds a lease
    PublicationHub next = started();
    Client client = subscribe(next);
    assertThat(client.subscription.snapshotSequence()).isZero();
    assertThat(client.subscription.words()[1]).isEqualTo(1);
  }

  @Test
  void aRetiredStartLetsTheLeaseGoWhenItsSnapshotComes() {
    pool.holdSnapshots = true;
    PublicationHub hub = started();
    hub.retire();
    runtime.runUntilIdle();
    assertThat(owner.closed).isEqualTo(1);
    pool.answerHeldSnapshots();
    runtime.runUntilIdle();
    assertThat(pool.lease).isNull();
    assertThat(pool.channel.isReceiverClosed()).isTrue();
    assertThat(owner.ready).isZero();
  }

  @Test
  void retirementEndsSubscriptionsAndIsNoFailure() {
    PublicationHub hub = started();
    Client client = subscribe(hub).released();
    pool.publish(1, 1);
    runtime.runUntilIdle();
    hub.retire();
    hub.retire();
    runtime.runUntilIdle();
    assertThat(client.drain()).isEmpty();
    assertThat(client.subscription.queue().state()).isEqualTo(SubscriberQueue.State.RETIRED);
    assertThat(owner.failure).isNull();
    assertThat(owner.closed).isEqualTo(1);
  }
}
