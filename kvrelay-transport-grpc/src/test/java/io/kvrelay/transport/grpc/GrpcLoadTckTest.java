package io.kvrelay.transport.grpc;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.testkit.transport.Fixtures;
import java.util.List;
import java.util.concurrent.Flow;

/** Load watches of a connected source: a window every millisecond. */
public class GrpcLoadTckTest extends LoopbackTck<LoadSnapshot> {
  @Override
  void change(Loopback relay, long n) {
    relay.source.publish(new LoadSnapshot(List.of(Fixtures.load(Loopback.POOL, n, n + 100))));
  }

  @Override
  Flow.Publisher<LoadSnapshot> stream(GrpcConnectedSource remote) {
    return remote.load();
  }
}
