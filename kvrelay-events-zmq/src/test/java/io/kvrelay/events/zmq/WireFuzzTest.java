package io.kvrelay.events.zmq;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import java.util.Arrays;
import java.util.List;

/**
 * Whatever bytes come, nothing is thrown, and what is emitted is what a relay accepts. The build
 * runs the stored inputs and some thousand mutations of good payloads; {@code
 * docs/engine-events.md} has the command for the open-ended search.
 */
class WireFuzzTest {
  @FuzzTest(maxDuration = "10m")
  void anyPayload(byte[] payload) {
    take(new StreamHarness(source(4)), payload, 0);
  }

  @FuzzTest(maxDuration = "10m")
  void anyFrames(byte[] bytes) {
    StreamHarness harness =
        new StreamHarness(source(2).toBuilder().replayAddress("tcp://engine:5657").build());
    harness.stream.onConnected();
    int at = 0;
    for (int call = 0; at < bytes.length && call < 64; call++) {
      int kind = bytes[at++] & 7;
      byte[][] frames = new byte[kind & 3][];
      for (int i = 0; i < frames.length; i++) {
        int length = at < bytes.length ? Math.min(bytes[at++] & 0x3F, bytes.length - at) : 0;
        frames[i] = Arrays.copyOfRange(bytes, at, at + length);
        at += length;
      }
      if (kind < 4) {
        harness.deliver(List.<byte[][]>of(frames));
      } else {
        harness.reply(frames);
      }
    }
  }

  private static void take(StreamHarness harness, byte[] payload, long sequence) {
    harness.live(sequence, payload);
  }

  private static EngineSource source(int blockSize) {
    return EngineSource.builder(
            StreamHarness.ENDPOINT,
            StreamHarness.MEMBER,
            "tcp://engine:5557",
            new QuerySemantics(blockSize, QueryHashFormat.DYNAMO_STANDARD_V1))
        .rankChecked(false)
        .build();
  }
}
