package io.kvrelay.engine.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.Member;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Random interleavings of events, time, leases and faults: what a subscriber rebuilds is always the
 * producer's own filter. {@code -Dkvrelay.simulations=} sets how many.
 */
class PoolActorSimulationTest {
  private static final int SIMULATIONS = Integer.getInteger("kvrelay.simulations", 40);

  // Every one of these pools warns of its first unknown removal.
  private static final Logger QUIET = Logger.getLogger(PoolActor.class.getName());

  @BeforeAll
  static void quiet() {
    QUIET.setLevel(Level.SEVERE);
  }

  @AfterAll
  static void loud() {
    QUIET.setLevel(null);
  }

  /** A subscriber that follows one lease. */
  private static final class Follower {
    final PoolSnapshot snapshot;
    final Mirror mirror;
    long sequence;

    Follower(PoolSnapshot snapshot) {
      this.snapshot = snapshot;
      this.mirror = new Mirror(snapshot.words());
      this.sequence = snapshot.sequence();
    }

    void catchUp() {
      for (PoolDelta delta = snapshot.deltas().poll();
          delta != null;
          delta = snapshot.deltas().poll()) {
        assertThat(delta.baseSequence()).isEqualTo(sequence);
        assertThat(delta.sequence()).isEqualTo(sequence + 1);
        assertThat(delta.lease()).isEqualTo(snapshot.lease());
        mirror.apply(new BucketImages(delta.buckets(), delta.words()));
        sequence++;
      }
    }
  }

  @Test
  void aFollowerAlwaysHoldsWhatTheProducerPublished() {
    Random seeds = Seeds.random();
    for (int i = 0; i < SIMULATIONS; i++) {
      simulate(new Random(seeds.nextLong()));
    }
  }

  private static void simulate(Random random) {
    VirtualRuntime runtime = VirtualRuntime.shuffling(random.nextLong());
    PoolConfig config =
        PoolConfig.builder()
            .expectedUniqueBlocks(1 + random.nextInt(500))
            .publicationThreshold(1 + random.nextInt(20))
            .build();
    PoolActor pool = new PoolActor(config, PoolFixtures.identity(config.format()), runtime);
    PoolEvents events = new PoolEvents(random, 3, 20);
    PoolModel model = new PoolModel();
    CompletableFuture<PoolSnapshot> pending = null;
    Follower follower = null;
    for (int step = 0; step < 400; step++) {
      switch (random.nextInt(12)) {
        case 0 -> runtime.advance(Duration.ofNanos(random.nextInt(2_000_000)));
        case 1 -> {
          if (pending == null) {
            pending = pool.subscribe(new LaneLease(1, 0, step)).toCompletableFuture();
          }
        }
        case 2 -> {
          Member member = events.member();
          pool.resetRank(member);
          model.lineage.remove(member);
        }
        case 3 -> pool.flush();
        case 4 -> runtime.runOne();
        default -> {
          KvEvent event = events.next();
          model.apply(event);
          pool.admit(event, 5);
        }
      }
      drainFaults(pool);
      if (pending != null && pending.isDone()) {
        if (follower != null) {
          follower.catchUp();
          assertThat(pending.join().sequence()).isEqualTo(follower.sequence);
          assertThat(pending.join().words()).isEqualTo(follower.mirror.words);
        }
        follower = new Follower(pending.join());
        pending = null;
      } else if (follower != null && pending == null) {
        follower.catchUp();
      }
    }
    settle(runtime, pool);
    PoolModelTest.check(pool.state(), model);
    if (pending == null && follower != null) {
      follower.catchUp();
      assertThat(follower.snapshot.deltas().isOverrun()).isFalse();
      assertThat(follower.mirror.words).isEqualTo(pool.state().copyWords());
    }
  }

  private static void settle(VirtualRuntime runtime, PoolActor pool) {
    CompletableFuture<Long> flushed = pool.flush().toCompletableFuture();
    while (!flushed.isDone()) {
      runtime.runUntilIdle();
      drainFaults(pool);
    }
  }

  private static void drainFaults(PoolActor pool) {
    // A real relay recovers the rank; here the model refused the event as well.
    PoolFault fault = pool.faults().poll();
    while (fault != null) {
      fault = pool.faults().poll();
    }
  }

  @Test
  void severalPublishersOnRealThreadsLoseNothing() throws Exception {
    try (SystemRuntime runtime = SystemRuntime.create(2)) {
      PoolConfig config = PoolConfig.builder().expectedUniqueBlocks(20_000).build();
      PoolActor pool = new PoolActor(config, PoolFixtures.identity(config.format()), runtime);
      PoolSnapshot snapshot =
          pool.subscribe(new LaneLease(1, 0, 1)).toCompletableFuture().get(30, TimeUnit.SECONDS);
      List<Thread> publishers = new ArrayList<>();
      for (int worker = 1; worker <= 3; worker++) {
        Member member = new Member(worker, 0);
        Thread publisher =
            new Thread(
                () -> {
                  try {
                    for (int i = 0; i < 500; i++) {
                      long[] blocks = PoolFixtures.range(10L * i, 10 * i + 9);
                      pool.admitBlocking(PoolFixtures.store(member, blocks).build(), 1);
                    }
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
        publisher.start();
        publishers.add(publisher);
      }
      for (Thread publisher : publishers) {
        publisher.join(60_000);
      }
      pool.shutdown().toCompletableFuture().get(30, TimeUnit.SECONDS);

      assertThat(pool.statistics().pool().contributions()).isEqualTo(3 * 5000);
      assertThat(pool.statistics().pool().uniqueBlocks()).isEqualTo(5000);
      assertThat(pool.statistics().usedPermits()).isZero();
      if (!snapshot.deltas().isOverrun()) {
        Follower follower = new Follower(snapshot);
        follower.catchUp();
        assertThat(follower.mirror.words).isEqualTo(pool.state().copyWords());
      }
    }
  }
}
