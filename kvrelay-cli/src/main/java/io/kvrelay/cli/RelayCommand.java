package io.kvrelay.cli;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.cli.config.ConfigException;
import io.kvrelay.cli.config.ZmqEngines;
import io.kvrelay.engine.hash.Identities;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code kvrelay relay}. */
@Command(
    name = "relay",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Runs the relay of one data center: follows the deployment that a file describes, or a"
          + " running Dynamo deployment, reads the events of its workers, and serves what comes of"
          + " them.",
      ""
    },
    footer = {
      "",
      "docs/operations.md describes the file, the local endpoint and what to do about what it says."
          + " Ctrl-C or a polite kill withdraws the pools in order and ends it."
    })
final class RelayCommand implements Callable<Integer> {
  /** Beyond the time that pools have, for threads and sockets to end. */
  private static final long CLOSE_SECONDS = 30;

  private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = "--dc-id",
      paramLabel = "NAME",
      required = true,
      description = "Name of the data center; its id is derived from it.")
  private String dcName = "";

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description =
          "The deployment, YAML or JSON; read again when it changes. Either this or --dynamo.")
  private @Nullable Path config;

  @Mixin private DynamoOptions dynamo = new DynamoOptions();

  @Option(
      names = "--bind",
      paramLabel = "URI",
      description =
          "Serve under this address, such as grpc://0.0.0.0:7400; port 0 takes a free one.")
  private @Nullable String bind;

  @Option(
      names = "--http",
      paramLabel = "HOST:PORT",
      description =
          "Open the local endpoint for operators: health, readiness, metrics, diagnostics, clearing"
              + " a rank. Off unless given.")
  private @Nullable String http;

  @Option(
      names = "--log",
      paramLabel = "FORMAT",
      defaultValue = "text",
      description = "Form of the log on standard error: text or json (default: ${DEFAULT-VALUE}).")
  private RelayLog.Form log = RelayLog.Form.TEXT;

  @Mixin private TlsOptions tls = new TlsOptions();

  @Override
  public Integer call() {
    PrintWriter err = spec.commandLine().getErr();
    checkName();
    URI address = bind == null ? null : RelayAddress.parse("--bind", bind);
    if (address == null && tls.isGiven()) {
      throw new InputException("TLS needs --bind");
    }
    Map<String, Object> attributes = address == null ? Map.of() : tls.server(address);
    InetSocketAddress local = http == null ? null : HttpAddress.parse("--http", http);
    try (RelayLog notes = RelayLog.install(log, err);
        Interrupt interrupt = new Interrupt();
        RelayProcess process = start()) {
      interrupt.allow(process.patienceSeconds() + CLOSE_SECONDS);
      if (address != null) {
        notes.say("serving " + export(process, address, attributes));
      }
      if (local != null) {
        notes.say("operators at http://" + process.openHttp(local));
      }
      notes.say("running");
      await(() -> interrupt.isRequested() || process.hasFailed());
      notes.say("stopping");
      String failure = process.stop();
      if (failure != null) {
        throw new FailureException("the relay stopped by itself: " + failure);
      }
    } catch (ConfigException e) {
      e.problems().forEach(problem -> err.println("kvrelay relay: " + problem));
      return CommandLine.ExitCode.USAGE;
    }
    return 0;
  }

  private void checkName() {
    try {
      Identities.dcId(dcName);
    } catch (IllegalArgumentException e) {
      throw new InputException("--dc-id = \"" + dcName + "\": " + e.getMessage(), e);
    }
  }

  private RelayProcess start() {
    Path file = config;
    if ((file == null) == !dynamo.isGiven()) {
      throw new ParameterException(
          spec.commandLine(), "Exactly one of --config=FILE and --dynamo=DEPLOYMENT is needed");
    }
    if (file == null) {
      return RelayProcess.start(dcName, dynamo::open);
    }
    if (dynamo.hasMore()) {
      throw new ParameterException(
          spec.commandLine(), "With --config, the file says what is followed: see --dynamo");
    }
    return withEngines(file);
  }

  private RelayProcess withEngines(Path file) {
    try {
      return RelayProcess.start(dcName, file, new ZmqEngines());
    } catch (RelayException e) {
      if (e.reason() == RelayErrorReason.ADDRESS_UNAVAILABLE) {
        throw new InputException("events: " + e.getMessage(), e);
      }
      throw e;
    }
  }

  private static URI export(RelayProcess process, URI address, Map<String, Object> attributes) {
    try {
      return process.export(address, attributes);
    } catch (RelayException e) {
      if (e.reason() == RelayErrorReason.INVALID_CONFIGURATION
          || e.reason() == RelayErrorReason.ADDRESS_UNAVAILABLE) {
        throw new InputException("--bind = " + address + ": " + e.getMessage(), e);
      }
      throw FailureException.of("--bind = " + address, e);
    } catch (IllegalArgumentException e) {
      // Credentials are files until the transport reads them as certificates and keys.
      throw new InputException("--bind = " + address + ": " + e.getMessage(), e);
    }
  }

  private static void await(BooleanSupplier end) {
    while (!end.getAsBoolean() && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(NAP_NANOS);
    }
  }
}
