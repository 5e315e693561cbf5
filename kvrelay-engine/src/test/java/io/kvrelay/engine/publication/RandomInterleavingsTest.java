package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/**
 * Subscribe, publish, lag, cancel, fence, evict and shut down in random order, each task at a
 * random moment. After each step: nothing out of order, nothing after an end, no limit exceeded; at
 * the end: nothing is held, and whoever followed has the producer's words.
 */
class RandomInterleavingsTest {
  private static final int RUNS = Integer.getInteger("kvrelay.interleavings", 120);
  private static final int STEPS = 250;
  private static final Set<RelayErrorReason> EXPECTED_ENDS =
      Set.of(
          RelayErrorReason.PUBLICATION_UNAVAILABLE,
          RelayErrorReason.POOL_NOT_FOUND,
          RelayErrorReason.PRODUCER_CHANGED,
          RelayErrorReason.RESOURCE_LIMIT,
          RelayErrorReason.SUBSCRIBER_LAGGED,
          RelayErrorReason.SNAPSHOT_PROGRESS_TIMEOUT);

  @Test
  void noInterleavingBreaksAPromise() {
    Random seeds = Seeds.random();
    for (int run = 0; run < RUNS; run++) {
      new Scenario(seeds.nextLong()).run();
    }
  }

  private static final class Scenario {
    private final Random random;
    private final String name;
    private final Fixture fixture;
    private final List<Fixture.Pool> pools = new ArrayList<>();
    private final List<Subscriber> subscribers = new ArrayList<>();
    private final List<Subscriber> cancelled = new ArrayList<>();

    Scenario(long seed) {
      this.random = new Random(seed);
      this.name = "scenario " + seed;
      this.fixture =
          new Fixture(
              PublicationConfig.builder()
                  .publicationQueueCapacity(1 + random.nextInt(4))
                  .publicationEncodingConcurrency(1 + random.nextInt(2))
                  .maxPoolStreamsTotal(1 + random.nextInt(8))
                  .maxSubscribersPerPool(1 + random.nextInt(4))
                  .maxInitializedPoolHubs(1 + random.nextInt(3))
                  .snapshotProgressTimeout(Duration.ofSeconds(5))
                  .build(),
              VirtualRuntime.shuffling(seed));
    }

    void run() {
      for (int number = 1; number <= 3; number++) {
        // Now and then a snapshot in four chunks, so that bootstraps can stall.
        boolean large = number == 1 && random.nextInt(100) == 0;
        pools.add(remembering(fixture.attach(number, large ? 1 << 21 : 16)));
      }
      for (int step = 0; step < STEPS; step++) {
        act();
        int tasks = random.nextInt(6);
        for (int i = 0; i < tasks; i++) {
          fixture.runtime.runOne();
        }
        checkInvariants();
      }
      settle();
    }

    private void act() {
      switch (random.nextInt(14)) {
        case 0, 1, 2 -> subscribers.add(fixture.subscribe(anyPool()));
        case 3, 4, 5, 6 -> publish(anyPool());
        case 7, 8 -> pick(subscriber -> subscriber.request(1 + random.nextInt(4)));
        case 9 -> pick(subscriber -> subscriber.request(Long.MAX_VALUE));
        case 10 ->
            pick(
                subscriber -> {
                  cancelled.add(subscriber);
                  subscriber.cancel();
                });
        case 11 -> replace(random.nextInt(pools.size()));
        case 12 -> burst(anyPool());
        default -> fixture.runtime.advance(Duration.ofSeconds(random.nextInt(2)));
      }
    }

    private Fixture.Pool anyPool() {
      return pools.get(random.nextInt(pools.size()));
    }

    private void pick(Consumer<Subscriber> action) {
      if (!subscribers.isEmpty()) {
        Subscriber subscriber = subscribers.get(random.nextInt(subscribers.size()));
        if (subscriber.subscription != null) {
          action.accept(subscriber);
        }
      }
    }

    private void publish(Fixture.Pool pool) {
      int images = 1 + random.nextInt(5);
      int[] buckets = random.ints(0, 16).distinct().limit(images).toArray();
      pool.producer().publish(buckets, random.longs(buckets.length).toArray());
    }

    /** More than the hub's channel holds. */
    private void burst(Fixture.Pool pool) {
      if (random.nextInt(4) == 0) {
        for (int i = 0; i < 70; i++) {
          publish(pool);
        }
      }
    }

    private void replace(int index) {
      if (random.nextInt(3) > 0) {
        return;
      }
      Fixture.Pool old = pools.get(index);
      if (random.nextBoolean()) {
        old.handle().fence("replaced");
      } else {
        old.handle().withdraw();
      }
      old.handle().remove();
      pools.set(
          index,
          remembering(
              fixture.await(
                  fixture.registry.attach(Fixture.spec(index + 1, 16), ScriptedPool::new))));
    }

    private static Fixture.Pool remembering(Fixture.Pool pool) {
      pool.producer().keepHistory = pool.producer().words.length == 16;
      return pool;
    }

    private void checkInvariants() {
      subscribers.forEach(this::checkReplica);
      PublicationContext context = fixture.registry.context();
      int streams = fixture.registry.statistics().poolSubscribers();
      assertThat(streams).as(name).isBetween(0, context.config().maxPoolStreamsTotal());
      int encodings = context.config().publicationEncodingConcurrency();
      assertThat(context.deltaPermits().available()).as(name).isBetween(0, encodings);
      assertThat(context.bootstrapPermits().available()).as(name).isBetween(0, encodings);
      assertThat(fixture.registry.hubs().freePermits())
          .as(name)
          .isBetween(0, context.config().maxInitializedPoolHubs());
      for (Fixture.Pool pool : pools) {
        Generation generation = fixture.registry.find(pool.handle().identity());
        PublicationHub hub = fixture.registry.hubs().hubOf(generation.slot());
        if (hub != null) {
          assertThat(hub.subscriberCount())
              .as(name)
              .isBetween(0, context.config().maxSubscribersPerPool());
        }
      }
    }

    /** At each sequence a subscriber has exactly the words that the producer had there. */
    private void checkReplica(Subscriber subscriber) {
      assertThat(subscriber.fault).as(name).isEmpty();
      Fixture.Pool pool = poolOf(subscriber);
      if (pool != null && pool.producer().keepHistory && subscriber.isLive()) {
        long[] words = pool.producer().wordsAt(subscriber.sequence);
        assertThat(Arrays.equals(subscriber.words, words))
            .as(name + " at sequence " + subscriber.sequence)
            .isTrue();
      }
    }

    private Fixture.Pool poolOf(Subscriber subscriber) {
      for (Fixture.Pool pool : pools) {
        if (pool.handle().identity().equals(subscriber.expected)) {
          return pool;
        }
      }
      return null;
    }

    private void settle() {
      fixture.runtime.runUntilIdle();
      subscribers.forEach(subscriber -> subscriber.request(Long.MAX_VALUE));
      fixture.runtime.advance(Duration.ofSeconds(10));
      checkInvariants();
      for (Subscriber subscriber : subscribers) {
        checkEnd(subscriber);
      }
      subscribers.forEach(subscriber -> subscriber.subscription.cancel());
      fixture.runtime.runUntilIdle();
      fixture.registry.shutdown();
      fixture.runtime.runUntilIdle();
      assertThat(fixture.isAtRest()).as(name).isTrue();
      assertThat(fixture.registry.hubs().freePermits())
          .as(name)
          .isEqualTo(fixture.registry.context().config().maxInitializedPoolHubs());
      assertThat(fixture.runtime.pendingTimers()).as(name).isZero();
    }

    private void checkEnd(Subscriber subscriber) {
      if (subscriber.isEnded()) {
        assertThat(subscriber.completed).as(name).isFalse();
        assertThat(EXPECTED_ENDS).as(name).contains(subscriber.reason());
      } else if (!cancelled.contains(subscriber)) {
        Fixture.Pool pool = poolOf(subscriber);
        assertThat(pool).as(name + ": a stream outlived its generation").isNotNull();
        long[] words = pool.producer().words;
        assertThat(subscriber.hasSnapshot()).as(name + ": " + subscriber.frames).isTrue();
        assertThat(Arrays.equals(subscriber.words, words))
            .as(
                "%s: at sequence %d of %d, %s",
                name, subscriber.sequence, pool.producer().sequence, subscriber.frames)
            .isTrue();
      }
    }
  }

  @Test
  void aHundredThousandSubscriptionsLeaveNothingBehind() {
    int cycles = Integer.getInteger("kvrelay.cycles", 100_000);
    Fixture fixture = new Fixture();
    Fixture.Pool pool = fixture.attach(1);
    int delivered = 0;
    for (int i = 0; i < cycles; i++) {
      Subscriber subscriber = fixture.subscribe(pool);
      if (i % 3 != 0) {
        fixture.runtime.runUntilIdle();
      }
      if (i % 3 == 2) {
        subscriber.request(2);
        pool.publish(i & 15, i);
        fixture.runtime.runUntilIdle();
        delivered += subscriber.frames.size();
        assertThat(subscriber.frames).last().extracting(PublicationFrame::kind).isNotNull();
      }
      while (subscriber.subscription == null) {
        fixture.runtime.runOne();
      }
      subscriber.cancel();
    }
    fixture.runtime.runUntilIdle();
    assertThat(delivered).isGreaterThan(cycles / 3);
    assertThat(fixture.isAtRest()).isTrue();
    Generation generation = fixture.registry.find(pool.handle().identity());
    assertThat(generation.cancelled().listeners()).isZero();
    assertThat(fixture.registry.hubs().pendingAdmissions(generation.slot())).isZero();
    assertThat(fixture.registry.hubs().hubOf(generation.slot()).subscriberCount()).isZero();
    assertThat(fixture.runtime.pendingTimers()).isZero();
  }
}
