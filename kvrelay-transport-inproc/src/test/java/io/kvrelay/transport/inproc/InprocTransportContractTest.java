package io.kvrelay.transport.inproc;

import io.kvrelay.api.transport.RelayTransport;
import io.kvrelay.testkit.transport.TransportContract;
import java.net.URI;
import java.util.concurrent.atomic.AtomicInteger;

/** The contract of every transport, within one JVM. */
class InprocTransportContractTest extends TransportContract {
  private static final AtomicInteger NEXT = new AtomicInteger();

  @Override
  protected RelayTransport transport() {
    return new InprocTransport();
  }

  @Override
  protected URI freeAddress() {
    return URI.create("inproc:contract-" + NEXT.getAndIncrement());
  }

  @Override
  protected URI deadAddress() {
    return URI.create("inproc:nobody");
  }
}
