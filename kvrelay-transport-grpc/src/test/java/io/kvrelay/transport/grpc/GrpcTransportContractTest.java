package io.kvrelay.transport.grpc;

import io.kvrelay.api.transport.RelayTransport;
import io.kvrelay.testkit.transport.TransportContract;
import java.net.URI;

/** The contract of every transport, over loopback sockets. */
class GrpcTransportContractTest extends TransportContract {
  @Override
  protected RelayTransport transport() {
    return new GrpcTransport();
  }

  @Override
  protected URI freeAddress() {
    return URI.create("grpc://127.0.0.1:0");
  }

  @Override
  protected URI deadAddress() {
    return URI.create("grpc://127.0.0.1:1");
  }
}
