package io.kvrelay.transport.grpc;

import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.testkit.transport.Fixtures;
import java.util.List;
import java.util.concurrent.Flow;

/** Readiness watches of a connected source. */
public class GrpcReadinessTckTest extends LoopbackTck<TopologySnapshot> {
  @Override
  void change(Loopback relay, long n) {
    relay.source.publish(
        new TopologySnapshot(n, List.of(Fixtures.ready("llama", Loopback.POOL.poolId()))));
  }

  @Override
  Flow.Publisher<TopologySnapshot> stream(GrpcConnectedSource remote) {
    return remote.readiness();
  }
}
