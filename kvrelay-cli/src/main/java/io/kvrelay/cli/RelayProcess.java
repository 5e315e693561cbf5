package io.kvrelay.cli;

import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.cli.config.EngineEvents;
import io.kvrelay.cli.config.WatchedFile;
import io.kvrelay.engine.load.HostLoadReports;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.micrometer.KvRelayMetrics;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The parts of a running relay, put together and taken apart in order. */
final class RelayProcess implements AutoCloseable {
  /** Beyond the time that pools have to be retired in order. */
  private static final long GRACE_SECONDS = 5;

  private final SystemRuntime runtime;
  private final EngineEvents engines;
  private final WatchedFile file;
  private final KvDcRelay relay;
  private final PrometheusMeterRegistry meters =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final KvRelayMetrics metrics;
  private @Nullable OperatorServer http;

  private RelayProcess(
      SystemRuntime runtime,
      EngineEvents engines,
      WatchedFile file,
      HostLoadReports loads,
      String dcName) {
    this.runtime = runtime;
    this.engines = engines;
    this.file = file;
    this.relay =
        KvDcRelay.builder()
            .dcName(dcName)
            .runtime(runtime)
            .deployment(file, file.settings().scope())
            .events(engines.source())
            .loadReports(loads)
            .deploymentConfig(file.settings().config())
            .start();
    this.metrics = new KvRelayMetrics(relay, List.of());
    metrics.bindTo(meters);
    bindFile();
    file.start();
  }

  /**
   * Starts a relay.
   *
   * @param dcName the data center
   * @param config the file
   * @param engines reads the file's event sources; closed with the process
   * @return the process
   * @throws io.kvrelay.cli.config.ConfigException if the file is not acceptable
   * @throws IllegalArgumentException if the data center's name is not acceptable
   */
  static RelayProcess start(String dcName, Path config, EngineEvents engines) {
    SystemRuntime runtime = SystemRuntime.create();
    try {
      HostLoadReports loads = new HostLoadReports(runtime.executor());
      WatchedFile file = WatchedFile.open(config, engines, loads, runtime.executor());
      return new RelayProcess(runtime, engines, file, loads, dcName);
    } catch (RuntimeException | Error e) {
      engines.close();
      runtime.close();
      throw e;
    }
  }

  private void bindFile() {
    Gauge.builder("kvrelay.config.current", file, from -> from.statistics().current() ? 1 : 0)
        .description("1 while the latest version of the file is in force")
        .strongReference(true)
        .register(meters);
    FunctionCounter.builder("kvrelay.config.versions", file, from -> from.statistics().applied())
        .tag("outcome", "applied")
        .description("Versions of the file")
        .register(meters);
    FunctionCounter.builder("kvrelay.config.versions", file, from -> from.statistics().refused())
        .tag("outcome", "refused")
        .description("Versions of the file")
        .register(meters);
  }

  KvDcRelay relay() {
    return relay;
  }

  WatchedFile file() {
    return file;
  }

  PrometheusMeterRegistry meters() {
    return meters;
  }

  /** Serves, and tells where. */
  URI export(URI address, Map<String, Object> attributes) {
    ExportOptions options = ExportOptions.defaults(runtime);
    for (Map.Entry<String, Object> attribute : attributes.entrySet()) {
      options = options.with(attribute.getKey(), attribute.getValue());
    }
    return relay.export(address, options).address();
  }

  /** Opens the operators' endpoint, and tells where. */
  String openHttp(InetSocketAddress address) {
    try {
      http = OperatorServer.open(address, this);
      return http.address();
    } catch (IOException e) {
      throw new InputException(
          "--http = " + address.getHostString() + ":" + address.getPort() + ": " + e.getMessage(),
          e);
    }
  }

  /** Whether the relay stopped by itself. */
  boolean hasFailed() {
    return relay.health().hostLastError() != null;
  }

  /**
   * Withdraws everything in order, for a bounded time.
   *
   * @return why the relay had stopped by itself, or null if it was told to
   */
  @Nullable String stop() {
    file.close();
    long patience = file.settings().config().stopTimeout().toSeconds() + GRACE_SECONDS;
    try {
      relay.shutdown().toCompletableFuture().orTimeout(patience, TimeUnit.SECONDS).join();
    } catch (CompletionException late) {
      System.getLogger(RelayProcess.class.getName())
          .log(System.Logger.Level.WARNING, "did not end within " + patience + " s", late);
    }
    RelayHealth health = relay.health();
    return health.hostLastError();
  }

  @Override
  public void close() {
    stop();
    OperatorServer server = http;
    if (server != null) {
      server.close();
    }
    metrics.close();
    meters.close();
    engines.close();
    runtime.close();
  }
}
