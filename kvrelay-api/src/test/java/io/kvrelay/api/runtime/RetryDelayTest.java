package io.kvrelay.api.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class RetryDelayTest {
  private static long[] millis(RetryDelay delay, int times) {
    return LongStream.generate(() -> TimeUnit.NANOSECONDS.toMillis(delay.takeNanos()))
        .limit(times)
        .toArray();
  }

  @Test
  void delaysDoubleUpToTheCapUntilReset() {
    RetryDelay delay = RetryDelay.local();

    assertThat(millis(delay, 8)).containsExactly(100, 200, 400, 800, 1600, 3200, 5000, 5000);
    delay.reset();
    assertThat(millis(delay, 2)).containsExactly(100, 200);
  }

  @Test
  void boundsMustBePositiveAndInOrder() {
    Duration second = Duration.ofSeconds(1);
    assertThatThrownBy(() -> new RetryDelay(Duration.ZERO, second))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new RetryDelay(second, Duration.ofMillis(999)))
        .hasMessageContaining("PT0.999S");
  }
}
