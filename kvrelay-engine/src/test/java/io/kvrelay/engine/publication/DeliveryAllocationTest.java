package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.testing.Allocations;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

/** What a delivered delta costs in memory: the frame, once, and nothing per subscriber. */
class DeliveryAllocationTest {
  private static final int DELTAS = 1000;
  private static final int IMAGES = 40;

  /** Runs tasks on the caller, from a ring: an executor that allocates nothing. */
  private static final class RingRuntime implements RelayRuntime, Executor {
    private final Runnable[] ring = new Runnable[1 << 12];
    private int head;
    private int tail;

    @Override
    public void execute(Runnable task) {
      ring[tail++ & (ring.length - 1)] = task;
    }

    void runUntilIdle() {
      while (head != tail) {
        ring[head++ & (ring.length - 1)].run();
      }
    }

    @Override
    public long nanoTime() {
      return 0;
    }

    @Override
    public long currentTimeMillis() {
      return 0;
    }

    @Override
    public Executor executor() {
      return this;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
      return () -> {};
    }

    @Override
    public long randomLong() {
      return 0;
    }
  }

  private static final class Counting implements Flow.Subscriber<PublicationFrame> {
    private long frames;
    private Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(PublicationFrame frame) {
      frames++;
    }

    @Override
    public void onError(Throwable error) {
      throw new AssertionError(error);
    }

    @Override
    public void onComplete() {}
  }

  /** Sends deltas without making objects of its own: one delta record per sequence, made before. */
  private static final class Bench {
    private final RingRuntime runtime = new RingRuntime();
    private final List<Counting> subscribers = new ArrayList<>();
    private final ScriptedPool pool;
    private final int[] buckets = new int[IMAGES];
    private final long[] words = new long[IMAGES];

    Bench(int count) {
      PoolRegistry registry =
          PoolRegistry.create(new RelayIdentity(1, 2), PublicationConfig.DEFAULTS, runtime);
      var attached = registry.attach(Fixture.spec(1, 1024), ScriptedPool::new);
      runtime.runUntilIdle();
      PoolHandle handle = attached.join();
      pool = (ScriptedPool) handle.producer();
      for (int i = 0; i < count; i++) {
        Counting subscriber = new Counting();
        subscribers.add(subscriber);
        registry.source().pool(handle.identity()).subscribe(subscriber);
        runtime.runUntilIdle();
      }
      for (int i = 0; i < IMAGES; i++) {
        buckets[i] = i * 7;
      }
    }

    void deliver() {
      words[3]++;
      pool.publish(buckets, words);
      runtime.runUntilIdle();
    }

    long bytesPerDelta() {
      for (int i = 0; i < 20_000; i++) {
        deliver(); // until the compiler has settled
      }
      return Allocations.bytes(DELTAS, this::deliver) / DELTAS;
    }
  }

  @Test
  void subscribersAddNothingToTheCostOfADelta() {
    Bench one = new Bench(1);
    Bench many = new Bench(64);
    long forOne = one.bytesPerDelta();
    long forMany = many.bytesPerDelta();
    int payload = 48 + 12 + IMAGES * 12;
    System.out.println(
        "bytes per delta of " + payload + ": 1 subscriber " + forOne + ", 64 " + forMany);
    assertThat(many.subscribers).allMatch(s -> s.frames > 20_000);
    // Less than a byte each, where the smallest object has 16: what differs is the compiler's mood.
    assertThat(forMany - forOne).isLessThan(63);
    // The payload, its buffers, the frame, and the scripted pool's own delta record.
    assertThat(forOne).isLessThan(payload + 400);
  }

  @Test
  void anIdleHubAllocatesNothing() {
    Bench idle = new Bench(1);
    idle.subscribers.get(0).subscription.cancel();
    idle.deliver();
    // All that is left is the scripted pool's own delta record.
    assertThat(idle.bytesPerDelta()).isLessThanOrEqualTo(48);
    assertThat(idle.pool.sequence).isGreaterThan(20_000);
  }
}
