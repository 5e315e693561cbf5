package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** When connections whose peer does not greet are nudged. */
class HandshakeNudgeTest {
  private static final long MILLI = 1_000_000;

  private int nudges;
  private final HandshakeNudge<String> nudge = new HandshakeNudge<>(() -> nudges++);

  @Test
  void withoutConnectionsThereIsNothingToDo() {
    nudge.run(Long.MAX_VALUE);
    assertThat(nudges).isZero();
    assertThat(nudge.waitMillis(0, 100)).isEqualTo(100);
  }

  @Test
  void aPeerThatGreetsAtOnceIsLeftAlone() {
    nudge.connected("a", 0);
    nudge.run(5 * MILLI - 1);
    nudge.settled("a");
    nudge.run(5 * MILLI);
    assertThat(nudges).isZero();
  }

  @Test
  void nudgesComeAtGrowingIntervalsUntilTheLastConnectionIsSettled() {
    long start = Long.MAX_VALUE - 20 * MILLI; // the clock may wrap
    nudge.connected("a", start);
    nudge.connected("b", start);
    nudge.settled("a");
    long[] expected = {5, 10, 20, 40, 80, 160, 320, 640, 1280, 2280, 3280};
    int seen = 0;
    for (long milli = 0; milli <= 3500; milli++) {
      nudge.run(start + milli * MILLI);
      if (seen < expected.length && milli == expected[seen]) {
        seen++;
      }
      assertThat(nudges).as("after %d ms", milli).isEqualTo(seen);
    }
    assertThat(seen).isEqualTo(expected.length);
    nudge.settled("b");
    nudge.run(start + 100_000 * MILLI);
    assertThat(nudges).isEqualTo(expected.length);
  }

  @Test
  void aNewConnectionIsNotKeptWaitingByAnOldSilentOne() {
    nudge.connected("silent", 0);
    for (int milli = 0; milli < 3000; milli++) {
      nudge.run(milli * MILLI);
    }
    int before = nudges;
    nudge.connected("fresh", 3000 * MILLI);
    assertThat(nudge.waitMillis(3000 * MILLI, 100)).isEqualTo(5);
    assertThat(nudge.waitMillis(3000 * MILLI + 1, 100)).isEqualTo(5);
    assertThat(nudge.waitMillis(3005 * MILLI, 100)).isZero();
    nudge.run(3005 * MILLI);
    assertThat(nudges).isEqualTo(before + 1);
  }

  @Test
  void connectionsThatKeepComingDoNotPutTheNudgeOff() {
    for (int milli = 0; milli < 100; milli++) {
      nudge.connected("c" + milli, milli * MILLI);
      nudge.run(milli * MILLI);
    }
    assertThat(nudges).isEqualTo(19);
  }
}
