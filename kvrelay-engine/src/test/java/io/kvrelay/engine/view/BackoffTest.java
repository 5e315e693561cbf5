package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.VirtualRuntime;
import java.time.Duration;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

class BackoffTest {
  private static final long[] CEILINGS = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};

  /** A runtime whose random numbers are all the same. */
  private record Fixed(long random) implements RelayRuntime {
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
      return Runnable::run;
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
      return () -> {};
    }

    @Override
    public long randomLong() {
      return random;
    }
  }

  private static long millis(Backoff backoff, long livedNanos) {
    long nanos = backoff.nextDelayNanos(livedNanos);
    assertThat(nanos % 1_000_000).isZero();
    return nanos / 1_000_000;
  }

  @Test
  void delaysDoubleUpToTheCapAndJitterOverTheUpperHalf() {
    for (long seed = 0; seed < 50; seed++) {
      Backoff backoff = new Backoff(VirtualRuntime.inOrder(seed));
      for (long ceiling : CEILINGS) {
        assertThat(millis(backoff, 0)).isBetween(ceiling / 2, ceiling);
      }
    }
  }

  @Test
  void jitterIsHalfTheBackoffPlusARemainderUpToTheOtherHalfInclusive() {
    assertThat(millis(new Backoff(new Fixed(0)), 0)).isEqualTo(250);
    assertThat(millis(new Backoff(new Fixed(250)), 0)).isEqualTo(500);
    assertThat(millis(new Backoff(new Fixed(251)), 0)).isEqualTo(250);
    long unsigned = Long.remainderUnsigned(-1, 251);
    assertThat(millis(new Backoff(new Fixed(-1)), 0)).isEqualTo(250 + unsigned);
  }

  @Test
  void anAttemptThatLivedThirtySecondsStartsOverBeforeTheDelayIsDrawn() {
    Backoff backoff = new Backoff(VirtualRuntime.inOrder(1));
    for (int i = 0; i < 8; i++) {
      millis(backoff, 0);
    }
    assertThat(millis(backoff, Duration.ofMillis(29_999).toNanos())).isBetween(15_000L, 30_000L);
    assertThat(millis(backoff, Duration.ofSeconds(30).toNanos())).isBetween(250L, 500L);
    assertThat(millis(backoff, 0)).isBetween(500L, 1000L);
  }
}
