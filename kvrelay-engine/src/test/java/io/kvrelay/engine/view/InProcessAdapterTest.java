package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.CONSUMER;
import static io.kvrelay.engine.view.LaneFixtures.DOMAIN;
import static io.kvrelay.engine.view.LaneFixtures.errorOf;
import static io.kvrelay.engine.view.LaneFixtures.now;
import static io.kvrelay.engine.view.LaneFixtures.pool;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.ckf.CkfFilter;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/**
 * One producer bound to one lane without a network, the model of every transport: what the lane
 * owes its stream at the start, at a drain, after a lost delta and after a failed hand-over.
 */
class InProcessAdapterTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);

  /** The smallest producer that keeps the publisher's rules. */
  private final class Adapter {
    final CkfFilter filter;
    final LaneIndex index;
    final IngestionPool pool;
    final ProducerIdentity identity;
    final Set<Long> held = new LinkedHashSet<>();
    final Set<Long> omitted = new LinkedHashSet<>();
    LaneLease lease;
    long epoch;
    long sequence;
    boolean open;
    boolean fenced;
    boolean failDelivery;
    boolean loseDelivery;

    Adapter(CkfConfig config, long firstEpoch) {
      CkfFormat format = config.format();
      filter = new CkfFilter(format, config.maxKicks());
      index = new LaneIndex(Manifest.of(CONSUMER, DOMAIN, format, pool(1)));
      pool = new IngestionPool(index, IngestionConfig.DEFAULT, runtime, new ViewCounters());
      identity = new ProducerIdentity(pool(1), 5, 1, format);
      epoch = firstEpoch;
      open = bind();
    }

    private boolean bind() {
      lease = new LaneLease(CONSUMER, 0, epoch);
      CompletionStage<Void> assigned = pool.assign(identity, lease, LaneListener.NONE);
      runtime.runUntilIdle();
      assertThat(errorOf(assigned)).isNull();
      CompletionStage<IngestOutcome> installed =
          pool.installSnapshot(identity, lease, sequence, words());
      runtime.runUntilIdle();
      fenced = false;
      return now(installed).result() == IngestResult.SNAPSHOT_INSTALLED
          && now(installed).installedSequence() == sequence;
    }

    long[] words() {
      long[] words = new long[filter.bucketCount()];
      filter.copyTo(words);
      return words;
    }

    /** Exact state first, then the batch; whether it was delivered. */
    boolean store(long hash) {
      assertThat(open).isTrue();
      Set<Integer> dirty = new TreeSet<>();
      held.add(hash);
      boolean fits =
          filter.insert(filter.addressing().mix(hash), (bucket, before) -> dirty.add(bucket));
      if (!fits) {
        omitted.add(hash);
        return true;
      }
      return publish(dirty);
    }

    boolean remove(long hash) {
      assertThat(held.remove(hash)).as("a known removal").isTrue();
      Set<Integer> dirty = new TreeSet<>();
      if (omitted.remove(hash)) {
        return true;
      }
      filter.remove(filter.addressing().mix(hash), (bucket, before) -> dirty.add(bucket));
      return publish(dirty);
    }

    private boolean publish(Set<Integer> dirty) {
      if (fenced) {
        return false;
      }
      int[] buckets = dirty.stream().mapToInt(Integer::intValue).toArray();
      long[] words = dirty.stream().mapToLong(filter::word).toArray();
      LaneDelta delta =
          new LaneDelta(identity, lease, sequence, sequence + 1, buckets, words, buckets.length);
      boolean delivered =
          loseDelivery || (!failDelivery && pool.submitDelta(delta) == Admission.ADMITTED);
      if (!delivered) {
        fenced = true;
        return false;
      }
      sequence++;
      return true;
    }

    IngestOutcome drain() {
      open = false;
      CompletionStage<IngestOutcome> drained = pool.completeDrain(lease, sequence);
      runtime.runUntilIdle();
      open = now(drained).result() == IngestResult.DRAIN_ACKNOWLEDGED;
      return now(drained);
    }

    boolean recover() {
      open = false;
      if (epoch == -1) {
        return false;
      }
      epoch++;
      open = bind();
      return open;
    }

    void assertEqualWords() {
      assertThat(index.table().copyColumn(0)).isEqualTo(words());
    }
  }

  @Test
  void theFirstEventIsSequenceOneAndADrainProvesIt() {
    Adapter adapter = new Adapter(CkfConfig.of(64), 1);
    assertThat(adapter.lease.assignmentEpoch()).isEqualTo(1);
    assertThat(adapter.store(42)).isTrue();
    assertThat(adapter.sequence).isEqualTo(1);
    assertThat(adapter.drain().installedSequence()).isEqualTo(1);
    assertThat(adapter.open).isTrue();
    adapter.assertEqualWords();
  }

  @Test
  void aFailedHandOverIsRecoveredBySnapshotUnderANewEpoch() {
    Adapter adapter = new Adapter(CkfConfig.of(64), 1);
    adapter.failDelivery = true;
    assertThat(adapter.store(42)).isFalse();
    assertThat(adapter.fenced).isTrue();
    assertThat(adapter.sequence).isZero();
    adapter.failDelivery = false;
    assertThat(adapter.recover()).isTrue();
    assertThat(adapter.epoch).isEqualTo(2);
    assertThat(adapter.sequence).isZero();
    adapter.assertEqualWords();
    assertThat(adapter.store(43)).isTrue();
    adapter.drain();
    adapter.assertEqualWords();
  }

  @Test
  void aLostLastDeltaIsFoundByTheDrain() {
    Adapter adapter = new Adapter(CkfConfig.of(64), 1);
    adapter.loseDelivery = true;
    adapter.store(42);
    assertThat(adapter.drain().fault()).isEqualTo(new LaneFault.TerminalSequenceMismatch(1, 0L));
    assertThat(adapter.open).isFalse();
    assertThat(adapter.index.readyLanes()).isZero();
    adapter.loseDelivery = false;
    assertThat(adapter.recover()).isTrue();
    assertThat(adapter.sequence).isEqualTo(1);
    adapter.assertEqualWords();
  }

  @Test
  void afterTheLastEpochNothingIsRecovered() {
    Adapter adapter = new Adapter(CkfConfig.of(64), -1);
    adapter.failDelivery = true;
    adapter.store(42);
    assertThat(adapter.recover()).isFalse();
    assertThat(adapter.open).isFalse();
    CompletionStage<Void> sameEpoch =
        adapter.pool.assign(adapter.identity, adapter.lease, LaneListener.NONE);
    runtime.runUntilIdle();
    assertThat(errorOf(sameEpoch)).isEqualTo(LaneError.STALE_ASSIGNMENT_EPOCH);
  }

  @Test
  void anOmittedBlockRetiresNothing() {
    Adapter adapter = new Adapter(new CkfConfig(1, CkfFormat.DEFAULT_SEED, 1), 1);
    long block = 1;
    while (adapter.omitted.isEmpty() && block <= 64) {
      adapter.store(block++);
      runtime.runUntilIdle();
    }
    assertThat(adapter.omitted).hasSize(1);
    assertThat(adapter.index.readyLanes()).isEqualTo(1);
    long omitted = adapter.omitted.iterator().next();
    assertThat(adapter.remove(omitted)).isTrue();
    for (long rest : Set.copyOf(adapter.held)) {
      assertThat(adapter.remove(rest)).isTrue();
      runtime.runUntilIdle();
    }
    assertThat(adapter.words()).containsOnly(0);
    adapter.store(omitted);
    assertThat(adapter.omitted).isEmpty();
    adapter.drain();
    adapter.assertEqualWords();
    PrefixQuery query = new PrefixQuery(adapter.index, PrefixQuery.DEFAULT_WINDOW);
    query.searchSequence(adapter.index, new long[] {omitted}, 0, 1);
    assertThat(query.depth(0)).isEqualTo(1);
  }
}
