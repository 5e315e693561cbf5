package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.runtime.SystemRuntime;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The same promises on real threads. */
class ConcurrentPublicationTest {
  private static final int DELTAS = 5_000;
  private static final int CYCLES = 500;

  /** A visitor whose snapshot waits for a busy machine may see thousands of deltas go by. */
  private static final PublicationConfig NO_LAG =
      PublicationConfig.builder().publicationQueueCapacity(1 << 16).build();

  /** Keeps a replica, and lets the publisher go on once a delta has arrived. */
  private static final class Follower implements Flow.Subscriber<PublicationFrame> {
    final Subscriber replica;
    final Semaphore arrived = new Semaphore(0);
    final CountDownLatch ended = new CountDownLatch(1);

    Follower(Subscriber replica) {
      this.replica = replica;
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      replica.onSubscribe(subscription);
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(PublicationFrame frame) {
      replica.onNext(frame);
      arrived.release();
    }

    @Override
    public void onError(Throwable error) {
      replica.onError(error);
      arrived.release(); // so that whoever waits finds out
      ended.countDown();
    }

    @Override
    public void onComplete() {
      replica.onComplete();
      ended.countDown();
    }
  }

  @Test
  void aFollowerHasEveryDeltaWhileOthersComeAndGo() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try (SystemRuntime runtime = SystemRuntime.create(2)) {
      PoolRegistry registry = PoolRegistry.create(new RelayIdentity(17, 23), NO_LAG, runtime);
      PoolHandle handle =
          registry.attach(Fixture.spec(1, 1024), ScriptedPool::new).get(10, TimeUnit.SECONDS);
      ScriptedPool pool = (ScriptedPool) handle.producer();
      Follower follower = new Follower(new Subscriber(handle.identity()));
      registry.source().pool(handle.identity()).subscribe(follower);
      await(follower.arrived);

      Future<?> publisher = threads.submit(() -> publish(pool, follower));
      Future<?> visitors = threads.submit(() -> comeAndGo(registry, handle));
      publisher.get(60, TimeUnit.SECONDS);
      visitors.get(60, TimeUnit.SECONDS);

      assertThat(follower.replica.fault).isEmpty();
      assertThat(follower.replica.error).isNull();
      assertThat(follower.replica.sequence).isEqualTo(DELTAS);
      assertThat(follower.replica.words).isEqualTo(pool.words);
      registry.shutdown();
      assertThat(follower.ended.await(10, TimeUnit.SECONDS)).isTrue();
      assertThat(follower.replica.completed).isTrue();
    } finally {
      threads.shutdownNow();
    }
  }

  private static void publish(ScriptedPool pool, Follower follower) {
    for (int i = 0; i < DELTAS; i++) {
      pool.publish(i & 1023, i * 31L);
      await(follower.arrived);
    }
  }

  private static void comeAndGo(PoolRegistry registry, PoolHandle handle) {
    for (int i = 0; i < CYCLES; i++) {
      Follower visitor = new Follower(new Subscriber(handle.identity()));
      registry.source().pool(handle.identity()).subscribe(visitor);
      await(visitor.arrived);
      if (visitor.replica.error != null) {
        throw new AssertionError(visitor.replica.error);
      }
      visitor.replica.cancel();
    }
  }

  private static void await(Semaphore semaphore) {
    try {
      if (!semaphore.tryAcquire(30, TimeUnit.SECONDS)) {
        throw new AssertionError("nothing arrived");
      }
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
