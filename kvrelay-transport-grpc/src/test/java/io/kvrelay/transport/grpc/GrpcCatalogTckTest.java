package io.kvrelay.transport.grpc;

import io.kvrelay.api.PoolCatalog;
import java.util.concurrent.Flow;

/** Catalog watches of a connected source. */
public class GrpcCatalogTckTest extends LoopbackTck<PoolCatalog> {
  @Override
  void change(Loopback relay, long n) {
    relay.source.publish(Loopback.catalog(n));
  }

  @Override
  Flow.Publisher<PoolCatalog> stream(GrpcConnectedSource remote) {
    return remote.catalog();
  }
}
