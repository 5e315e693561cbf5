package io.kvrelay.cli;

import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.cli.config.EngineEvents;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.micrometer.KvRelayMetrics;
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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The parts of a running relay, put together and taken apart in order. */
final class RelayProcess implements AutoCloseable {
  /** Beyond the time that pools have to be retired in order. */
  private static final long GRACE_SECONDS = 5;

  private final SystemRuntime runtime;
  private final RelayInputs inputs;
  private final KvDcRelay relay;
  private final PrometheusMeterRegistry meters =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final KvRelayMetrics metrics;
  private @Nullable OperatorServer http;

  private RelayProcess(SystemRuntime runtime, RelayInputs inputs, String dcName) {
    this.runtime = runtime;
    this.inputs = inputs;
    KvDcRelay.Builder builder =
        KvDcRelay.builder().dcName(dcName).runtime(runtime).deploymentConfig(inputs.config());
    inputs.attach(builder);
    this.relay = builder.start();
    this.metrics = new KvRelayMetrics(relay, List.of());
    metrics.bindTo(meters);
    inputs.bindTo(meters);
    inputs.start();
  }

  /**
   * Starts a relay for a deployment that a file describes.
   *
   * @param dcName the data center
   * @param config the file
   * @param engines reads the file's event sources; closed with the process
   * @return the process
   * @throws io.kvrelay.cli.config.ConfigException if the file is not acceptable
   * @throws IllegalArgumentException if the data center's name is not acceptable
   */
  static RelayProcess start(String dcName, Path config, EngineEvents engines) {
    try {
      return start(dcName, runtime -> new ConfiguredInputs(runtime, config, engines));
    } catch (RuntimeException | Error e) {
      engines.close();
      throw e;
    }
  }

  /**
   * Starts a relay.
   *
   * @param dcName the data center
   * @param opening opens what it follows; closed with the process
   * @return the process
   * @throws IllegalArgumentException if the data center's name is not acceptable
   */
  static RelayProcess start(String dcName, Function<RelayRuntime, RelayInputs> opening) {
    SystemRuntime runtime = SystemRuntime.create();
    RelayInputs inputs = null;
    try {
      inputs = opening.apply(runtime);
      return new RelayProcess(runtime, inputs, dcName);
    } catch (RuntimeException | Error e) {
      if (inputs != null) {
        inputs.close();
      }
      runtime.close();
      throw e;
    }
  }

  KvDcRelay relay() {
    return relay;
  }

  RelayInputs inputs() {
    return inputs;
  }

  /** Every meter, up to date. */
  PrometheusMeterRegistry meters() {
    inputs.refresh();
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

  /** How long {@link #stop()} may take. */
  long patienceSeconds() {
    return inputs.config().stopTimeout().toSeconds() + GRACE_SECONDS;
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
    inputs.stop();
    long patience = patienceSeconds();
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
    inputs.close();
    runtime.close();
  }
}
