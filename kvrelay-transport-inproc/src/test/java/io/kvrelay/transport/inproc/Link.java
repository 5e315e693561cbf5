package io.kvrelay.transport.inproc;

import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.api.transport.TransportLimits;
import java.net.URI;
import java.util.concurrent.atomic.AtomicInteger;

/** An export and one connection to it under virtual time. */
final class Link implements AutoCloseable {
  private static final AtomicInteger NAMES = new AtomicInteger();

  final VirtualRuntime runtime;
  final URI address = URI.create("inproc:link-" + NAMES.incrementAndGet());
  final InprocExport export;
  final ConnectedSource client;

  Link(VirtualRuntime runtime, RelayPublicationSource source, TransportLimits limits) {
    this.runtime = runtime;
    this.export =
        (InprocExport)
            RelayTransports.export(
                source, address, ExportOptions.defaults(runtime).withLimits(limits));
    this.client = connect("client");
  }

  ConnectedSource connect(String subscriberId) {
    var connected =
        RelayTransports.connect(
                address, ConnectOptions.defaults(runtime).withSubscriberId(subscriberId))
            .toCompletableFuture();
    runtime.runUntilIdle();
    return connected.join();
  }

  @Override
  public void close() {
    export.close();
    runtime.runUntilIdle();
  }
}
