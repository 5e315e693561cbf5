package io.kvrelay.transport.grpc;

import io.kvrelay.api.transport.RelayExport;

/** A source served over gRPC: what {@link GrpcTransport#export} returns. Thread safe. */
public interface GrpcRelayExport extends RelayExport {
  /**
   * What it has done so far.
   *
   * @return a snapshot of gauges and counters, each read on its own
   */
  GrpcExportStatistics statistics();
}
