package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.cli.config.EngineEvents;
import io.kvrelay.cli.config.EngineReading;
import io.kvrelay.cli.config.WatchedFile;
import io.kvrelay.engine.load.HostLoadReports;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvDcRelay;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A deployment that a file describes. */
final class ConfiguredInputs implements RelayInputs {
  private final EngineEvents engines;
  private final HostLoadReports loads;
  private final WatchedFile file;
  private volatile @Nullable EngineMeters engineMeters;

  /**
   * Reads the file.
   *
   * @throws io.kvrelay.cli.config.ConfigException if it is not acceptable
   */
  ConfiguredInputs(RelayRuntime runtime, Path config, EngineEvents engines) {
    this.engines = engines;
    this.loads = new HostLoadReports(runtime.executor());
    this.file = WatchedFile.open(config, engines, loads, runtime.executor());
  }

  @Override
  public void attach(KvDcRelay.Builder relay) {
    relay.deployment(file, file.settings().scope()).events(engines.source()).loadReports(loads);
  }

  @Override
  public DeploymentConfig config() {
    return file.settings().config();
  }

  @Override
  public void start() {
    file.start();
  }

  @Override
  public void bindTo(MeterRegistry meters) {
    engineMeters = new EngineMeters(engines, meters);
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

  @Override
  public void write(JsonGenerator json) throws IOException {
    WatchedFile.Statistics statistics = file.statistics();
    json.writeObjectFieldStart("config");
    json.writeNumberField("applied", statistics.applied());
    json.writeNumberField("refused", statistics.refused());
    json.writeBooleanField("current", statistics.current());
    json.writeEndObject();
    json.writeArrayFieldStart("engines");
    for (EngineReading reading : engines.readings()) {
      json.writeStartObject();
      write(json, reading);
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  private static void write(JsonGenerator json, EngineReading reading) throws IOException {
    json.writeStringField("endpoint", reading.kvStateEndpoint().toString());
    JsonLine.unsigned(json, "worker", reading.member().workerId());
    json.writeNumberField("rank", Integer.toUnsignedLong(reading.member().dpRank()));
    json.writeStringField("address", reading.address());
    json.writeObjectFieldStart("counters");
    for (Map.Entry<String, Long> count : reading.counters().entrySet()) {
      if (count.getValue() != 0) {
        json.writeNumberField(count.getKey(), count.getValue());
      }
    }
    json.writeEndObject();
  }

  @Override
  public void refresh() {
    EngineMeters meters = engineMeters;
    if (meters != null) {
      meters.refresh();
    }
  }

  @Override
  public void stop() {
    file.close();
  }

  @Override
  public void close() {
    file.close();
    engines.close();
  }
}
