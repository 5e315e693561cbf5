package io.kvrelay.transport.grpc;

import io.kvrelay.api.transport.ConnectedSource;

/** A remote source mirrored over gRPC: what {@link GrpcTransport#connect} returns. Thread safe. */
public interface GrpcConnectedSource extends ConnectedSource {
  /**
   * What it has received so far.
   *
   * @return a snapshot of counters, each read on its own
   */
  GrpcConnectionStatistics statistics();
}
