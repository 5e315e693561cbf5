package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.EngineWire;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the way from a payload to events leaves behind. */
class AllocationTest {
  private static final int BLOCKS = 64;
  private static final ThreadMXBean BEAN = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static long allocated() {
    return BEAN.getCurrentThreadAllocatedBytes();
  }

  private static List<byte[]> payloads(EngineWire wire, int count) {
    EngineSimulator engine =
        EngineSimulator.builder(wire).blockSize(StreamHarness.BLOCK).cacheBlocks(100_000).build();
    List<byte[]> payloads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int[] tokens = new int[BLOCKS * StreamHarness.BLOCK];
      Arrays.fill(tokens, i);
      engine.request(tokens);
      payloads.add(engine.step()[2]);
    }
    return payloads;
  }

  @Test
  void decodingAllocatesNothing() throws WireFault {
    for (EngineWire wire : EngineWire.values()) {
      WireDecoder decoder = new WireDecoder(WireLimits.DEFAULT);
      List<byte[]> payloads = payloads(wire, 20);
      for (int round = 0; round < 3; round++) {
        for (byte[] payload : payloads) {
          decoder.decode(payload);
        }
      }
      long least = Long.MAX_VALUE;
      for (int round = 0; round < 2000; round++) {
        long before = allocated();
        for (int i = 0; i < payloads.size(); i++) {
          decoder.decode(payloads.get(i));
        }
        least = Math.min(least, allocated() - before);
      }
      // 1,280 blocks; asking the bean costs some bytes by itself, and so does code not compiled
      // yet.
      assertThat(least).as(wire.name()).isLessThan(200);
    }
  }

  @Test
  void aStoredBlockCostsItsPlaceInTheEventAndInTheTable() {
    List<byte[]> payloads = payloads(EngineWire.VLLM_ARRAYS, 400);
    EngineStream stream =
        new EngineStream(
            EngineSource.builder(
                    StreamHarness.ENDPOINT,
                    StreamHarness.MEMBER,
                    "tcp://engine:5557",
                    new QuerySemantics(StreamHarness.BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1))
                .historyEvents(0)
                .build(),
            new Silent(),
            new SharedMemory(WireLimits.DEFAULT));
    long before = allocated();
    for (int i = 0; i < payloads.size(); i++) {
      stream.onLive(new byte[][] {{}, Pack.sequence(i), payloads.get(i)}, 0);
    }
    double perBlock = (double) (allocated() - before) / (payloads.size() * BLOCKS);
    // 16 bytes of arrays, a table of 20 bytes a slot that has doubled its way up, and change.
    assertThat(stream.blocks()).isEqualTo(payloads.size() * BLOCKS);
    assertThat(perBlock).isLessThan(200);
  }

  /** Takes everything and keeps nothing. */
  private static final class Silent implements StreamOutput {
    @Override
    public void events(List<KvEvent> events) {}

    @Override
    public void trust(SourceTrust trust, String reason) {}

    @Override
    public void requestReplay(long request, long from) {}

    @Override
    public void cancelReplay() {}
  }
}
