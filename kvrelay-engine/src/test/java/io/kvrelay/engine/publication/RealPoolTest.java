package io.kvrelay.engine.publication;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolConfig;
import io.kvrelay.engine.testing.Seeds;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Events in, frames out: the publication over the real pool. */
class RealPoolTest {
  private static final PoolConfig POOL =
      PoolConfig.builder().expectedUniqueBlocks(2048).publicationThreshold(16).build();

  private final Random random = Seeds.random();
  private final VirtualRuntime runtime = VirtualRuntime.shuffling(random.nextLong());
  private final Fixture fixture = new Fixture(PublicationConfig.DEFAULTS, runtime);
  private final PoolHandle handle = attach();
  private final PoolActor pool = (PoolActor) handle.producer();
  private long nextEvent = 1;

  private PoolHandle attach() {
    PoolSpec spec = Fixture.spec(1, POOL.format().bucketCount());
    var attached =
        fixture.registry.attach(spec, identity -> new PoolActor(POOL, identity, runtime));
    runtime.runUntilIdle();
    return attached.join();
  }

  private Subscriber follow() {
    Subscriber subscriber = new Subscriber(handle.identity());
    fixture.registry.source().pool(handle.identity()).subscribe(subscriber);
    runtime.runUntilIdle();
    subscriber.request(Long.MAX_VALUE);
    runtime.runUntilIdle();
    return subscriber;
  }

  private void store(int blocks) {
    long[] engine = random.longs(blocks, 1, 5000).distinct().toArray();
    long[] local = random.longs(engine.length).toArray();
    Member member = new Member(1 + random.nextInt(3), 0);
    pool.admit(KvEvent.stored(member, nextEvent++, engine, local).build(), 1);
  }

  private void clear() {
    pool.admit(KvEvent.cleared(new Member(1, 0), nextEvent++).build(), 1);
  }

  @Test
  void snapshotAndDeltasMakeUpThePoolsFilter() {
    Subscriber early = follow();
    Subscriber late = null;
    for (int i = 0; i < 400; i++) {
      if (random.nextInt(50) == 0) {
        clear();
      } else {
        store(1 + random.nextInt(8));
      }
      if (i == 200) {
        late = follow();
      }
      runtime.advance(Duration.ofMillis(random.nextInt(2)));
    }
    runtime.advance(Duration.ofMillis(10));
    Subscriber fresh = follow();
    assertThat(early.fault).isEmpty();
    assertThat(early.sequence).isGreaterThan(20);
    assertThat(early.words).isEqualTo(fresh.words);
    assertThat(late.words).isEqualTo(fresh.words);
    assertThat(fresh.frames).hasSize(1);
    assertThat(fresh.words).isNotEqualTo(new long[fresh.words.length]);
  }

  @Test
  void oneEventIsPublishedAfterThePublicationDelay() {
    Subscriber subscriber = follow();
    store(3);
    runtime.runUntilIdle();
    assertThat(subscriber.sequence).isZero();
    runtime.advance(Duration.ofMillis(1));
    assertThat(subscriber.sequence).isEqualTo(1);
  }

  @Test
  void aPoolThatFencesItselfTakesItsStreamsAndItsCatalogEntryWithIt() {
    Subscriber subscriber = follow();
    pool.fence("an invariant broke");
    runtime.runUntilIdle();
    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(handle.state()).isEqualTo(PoolHandle.State.FENCED);
    assertThat(fixture.registry.catalog().value().pools()).isEmpty();
    assertThat(fixture.isAtRest()).isTrue();
  }

  @Test
  void withdrawalEndsStreamsFirstAndThenThePoolMayPublishItsTail() {
    Subscriber subscriber = follow();
    store(3);
    handle.withdraw();
    var ended = pool.shutdown().toCompletableFuture();
    runtime.runUntilIdle();
    assertThat(subscriber.reason()).isEqualTo(RelayErrorReason.PUBLICATION_UNAVAILABLE);
    assertThat(ended).isDone();
    assertThat(handle.state()).isEqualTo(PoolHandle.State.WITHDRAWN);
    assertThat(pool.fenceReason()).isNull();
    handle.remove();
    assertThat(attach().identity().layoutGeneration()).isEqualTo(2);
  }

  @Test
  void shutdownEndsThePool() {
    Subscriber subscriber = follow();
    fixture.registry.shutdown();
    runtime.runUntilIdle();
    assertThat(subscriber.completed).isTrue();
    assertThat(pool.terminated().toCompletableFuture()).isDone();
  }
}
