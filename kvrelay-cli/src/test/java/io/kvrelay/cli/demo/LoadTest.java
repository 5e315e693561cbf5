package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LoadTest {
  @Test
  void loadIsWhatWasComputedInTheLastMinute() {
    LoadWindow load = new LoadWindow();
    load.add(1_000, 5);
    load.add(2_000, 7);
    assertThat(load.at(60_999)).isEqualTo(12);
    assertThat(load.at(61_000)).isEqualTo(7);
    assertThat(load.at(62_000)).isZero();
  }

  @Test
  void loadAgreesWithAPlainSum() {
    SplittableRandom random = Seed.random();
    LoadWindow load = new LoadWindow();
    List<long[]> added = new ArrayList<>();
    long now = 0;
    for (int i = 0; i < 3_000; i++) {
      now += random.nextLong(400);
      long blocks = random.nextLong(50);
      load.add(now, blocks);
      added.add(new long[] {now, blocks});
      long start = now - LoadWindow.MILLIS;
      assertThat(load.at(now))
          .isEqualTo(added.stream().filter(a -> a[0] > start).mapToLong(a -> a[1]).sum());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "longest prefix,            3 5 4,   10 10 10,  1",
    "longest but overloaded,    3 5 4,   10 15 10,  2",
    "exactly 1.25 times,        0 5 0,   15 25 20,  1",
    "just above 1.25 times,     0 5 0,   14 25 20,  0",
    "tie goes to less load,     5 5 5,   11 9 10,   1",
    "tie goes to the first,     5 5 5,   10 10 10,  0",
    "nobody has load yet,       0 0 2,   0 0 0,     2",
    "one candidate,             0,       1000,      0"
  })
  void choosesTheLongestPrefixThatTheLoadAllows(
      String name, String depths, String loads, int expected) {
    assertThat(LoadBoundedChoice.choose(ints(depths), longs(loads))).as(name).isEqualTo(expected);
  }

  private static int[] ints(String text) {
    return List.of(text.trim().split(" ")).stream().mapToInt(Integer::parseInt).toArray();
  }

  private static long[] longs(String text) {
    return List.of(text.trim().split(" ")).stream().mapToLong(Long::parseLong).toArray();
  }

  @Test
  void percentilesAreByNearestRank() {
    Samples samples = new Samples();
    for (int i = 2_000; i >= 1; i--) {
      samples.add(i);
    }
    assertThat(samples.percentile(50)).isEqualTo(1_000);
    assertThat(samples.percentile(99)).isEqualTo(1_980);
    assertThat(samples.percentile(100)).isEqualTo(2_000);
    samples.add(0);
    assertThat(samples.percentile(0.01)).isZero();
  }
}
