package io.kvrelay.cli;

import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectedSource;
import java.io.PrintWriter;
import java.net.URI;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kvrelay watch}. */
@Command(
    name = "watch",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Shows what a relay publishes, as it arrives: who it is, its catalog, readiness and load, and"
          + " for each pool every frame with its sequence, bytes, images and lag.",
      ""
    },
    footer = {
      "",
      "Every frame is checked: its form, its checksum, and that it continues the one before. Ctrl-C"
          + " ends it. Exit code 1: the relay cannot be reached, or was lost."
    })
final class WatchCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      paramLabel = "URI",
      description = "Address of the relay, such as grpc://10.0.0.7:5561.")
  private String uri = "";

  @Option(names = "--json", description = "Print one JSON object a line and nothing else.")
  private boolean json;

  @Mixin private TlsOptions tls = new TlsOptions();

  @Override
  public Integer call() {
    URI address = RelayAddress.parse("URI", uri);
    PrintWriter out = spec.commandLine().getOut();
    WatchOutput output = json ? new JsonWatchOutput(out) : new TextWatchOutput(out);
    try (Interrupt interrupt = new Interrupt();
        SystemRuntime runtime = SystemRuntime.create();
        ConnectedSource source =
            RelayAddress.connect(address, "kvrelay-watch", tls.client(address), runtime)) {
      new Watch(source, runtime, output).run(interrupt::isRequested);
    }
    return 0;
  }
}
