package io.kvrelay.transport.grpc;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.testkit.transport.ScriptedPool;
import java.util.concurrent.Flow;

/** Pool streams of a connected source: a snapshot, then a delta every millisecond. */
public class GrpcPoolTckTest extends LoopbackTck<PublicationFrame> {
  private static final ProducerIdentity STALE =
      Fixtures.producer(Loopback.POOL.poolId(), Loopback.POOL.layoutGeneration() + 1, 16);

  /** The kit pauses for longer than a usual queue lasts, and lag is no subject of its rules. */
  private static final int QUEUE_FRAMES = 1 << 20;

  private ScriptedPool pool;

  @Override
  void change(Loopback relay, long n) {
    if (n == 0) {
      pool =
          relay.source.addPool(
              Fixtures.descriptor(Loopback.POOL),
              Fixtures.snapshot(Loopback.POOL, 0),
              QUEUE_FRAMES);
    } else {
      pool.publish(Fixtures.delta(Loopback.POOL, n, 72));
    }
  }

  @Override
  Flow.Publisher<PublicationFrame> stream(GrpcConnectedSource remote) {
    return remote.pool(Loopback.POOL);
  }

  /** The relay refuses a generation that it does not have. */
  @Override
  Flow.Publisher<PublicationFrame> failedStream(GrpcConnectedSource remote) {
    return remote.pool(STALE);
  }
}
