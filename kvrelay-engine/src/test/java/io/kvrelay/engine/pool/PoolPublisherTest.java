package io.kvrelay.engine.pool;

import static io.kvrelay.engine.pool.PoolFixtures.LEASE_1;
import static io.kvrelay.engine.pool.PoolFixtures.LEASE_2;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.pool.PoolPublisher.Fence;
import io.kvrelay.engine.pool.PoolPublisher.Result;
import org.junit.jupiter.api.Test;

class PoolPublisherTest {
  private static final BucketImages IMAGES = new BucketImages(new int[] {3}, new long[] {9});

  private static PoolPublisher startedAt(long sequence) {
    return new PoolPublisher(PoolFixtures.identity(CkfConfig.of(1).format()), sequence);
  }

  @Test
  void aBatchContinuesTheSequenceByOne() {
    PoolPublisher publisher = startedAt(7);
    DeltaChannel channel = publisher.install(LEASE_1);

    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.PUBLISHED);

    PoolDelta delta = channel.poll();
    assertThat(delta.baseSequence()).isEqualTo(7);
    assertThat(delta.sequence()).isEqualTo(8);
    assertThat(delta.lease()).isEqualTo(LEASE_1);
    assertThat(delta.identity()).isEqualTo(publisher.identity());
    assertThat(delta.buckets()).containsExactly(3);
    assertThat(delta.words()).containsExactly(9);
    assertThat(publisher.lastSequence()).isEqualTo(8);
  }

  @Test
  void withoutALeaseBatchesAreDroppedAndTheSequenceStandsStill() {
    PoolPublisher publisher = startedAt(0);

    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.NO_SUBSCRIBER);
    publisher.install(LEASE_1);
    publisher.retire(LEASE_1);

    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.NO_SUBSCRIBER);
    assertThat(publisher.lastSequence()).isZero();
    assertThat(publisher.lease()).isNull();
  }

  @Test
  void anUncertainDeliveryKeepsTheSequenceAndRefusesUntilANewLease() {
    PoolPublisher publisher = startedAt(9);
    publisher.install(LEASE_1).close();

    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.FENCED);
    assertThat(publisher.fence()).isEqualTo(Fence.DELIVERY_UNCERTAIN);
    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.REFUSED);
    assertThat(publisher.lastSequence()).isEqualTo(9);

    DeltaChannel channel = publisher.install(LEASE_2);
    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.PUBLISHED);
    assertThat(channel.poll().baseSequence()).isEqualTo(9);
  }

  @Test
  void theLastNumberFencesAndNothingIsEnqueued() {
    PoolPublisher publisher = startedAt(-2);
    DeltaChannel channel = publisher.install(LEASE_1);
    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.PUBLISHED);
    channel.poll();

    assertThat(publisher.isExhausted()).isTrue();
    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.FENCED);

    assertThat(publisher.fence()).isEqualTo(Fence.SEQUENCE_EXHAUSTED);
    assertThat(channel.poll()).isNull();
    assertThat(publisher.lastSequence()).isEqualTo(-1);
  }

  @Test
  void aStalledLeaseIsRetiredAndFences() {
    PoolPublisher publisher = startedAt(4);
    DeltaChannel channel = publisher.install(LEASE_1);

    publisher.retireStalled(LEASE_2);
    assertThat(publisher.lease()).isEqualTo(LEASE_1);
    publisher.retireStalled(LEASE_1);

    assertThat(publisher.lease()).isNull();
    assertThat(publisher.fence()).isEqualTo(Fence.LEASE_STALLED);
    assertThat(channel.isClosed()).isTrue();
    assertThat(publisher.publish(IMAGES)).isEqualTo(Result.REFUSED);
  }

  @Test
  void retiringALeaseThatIsNotCurrentDoesNothing() {
    PoolPublisher publisher = startedAt(0);
    DeltaChannel channel = publisher.install(LEASE_2);

    publisher.retire(LEASE_1);

    assertThat(publisher.lease()).isEqualTo(LEASE_2);
    assertThat(channel.isClosed()).isFalse();
  }

  @Test
  void aNewLeaseEndsTheChannelOfTheOldOne() {
    PoolPublisher publisher = startedAt(0);
    DeltaChannel old = publisher.install(LEASE_1);
    publisher.publish(IMAGES);
    publisher.install(LEASE_2);

    assertThat(old.isClosed()).isTrue();
    assertThat(old.poll()).isNotNull();
  }

  @Test
  void anOverrunLosesDeltasButIsNoFailedHandOff() {
    PoolPublisher publisher = startedAt(0);
    DeltaChannel channel = publisher.install(LEASE_1);
    int[] signals = {0};
    channel.onSignal(() -> signals[0]++);

    for (int i = 0; i < 70; i++) {
      assertThat(publisher.publish(IMAGES)).isEqualTo(Result.PUBLISHED);
      assertThat(channel.isOverrun()).isEqualTo(i >= DeltaReceiver.CAPACITY);
    }

    assertThat(publisher.lastSequence()).isEqualTo(70);
    assertThat(signals[0]).isEqualTo(70);
  }

  @Test
  void aCallbackThatComesLateIsRunForWhatIsThereAlready() {
    PoolPublisher publisher = startedAt(0);
    DeltaChannel channel = publisher.install(LEASE_1);
    publisher.publish(IMAGES);
    int[] signals = {0};

    channel.onSignal(() -> signals[0]++);

    assertThat(signals[0]).isEqualTo(1);
  }
}
