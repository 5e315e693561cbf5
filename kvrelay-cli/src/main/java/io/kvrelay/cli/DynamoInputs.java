package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.dynamo.DynamoDeployment;
import io.kvrelay.dynamo.DynamoStatistics;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvDcRelay;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.util.function.ToLongFunction;

/** A running Dynamo deployment. */
final class DynamoInputs implements RelayInputs {
  private final DynamoDeployment deployment;
  private final DiscoveryScope scope;
  private final DeploymentConfig config;

  DynamoInputs(DynamoDeployment deployment, DiscoveryScope scope, DeploymentConfig config) {
    this.deployment = deployment;
    this.scope = scope;
    this.config = config;
  }

  @Override
  public void attach(KvDcRelay.Builder relay) {
    relay.deployment(deployment, scope).events(deployment).loadReports(deployment);
  }

  @Override
  public DeploymentConfig config() {
    return config;
  }

  @Override
  public void start() {}

  @Override
  public void bindTo(MeterRegistry meters) {
    String records = "Values of discovery records that were not used";
    count(meters, "records.refused", "malformed", records, DynamoStatistics::malformedRecords);
    count(meters, "records.refused", "changed", records, DynamoStatistics::forbiddenChanges);
    String messages = "Messages of the event plane";
    count(meters, "messages", "taken", messages, DynamoStatistics::messages);
    count(meters, "messages", "malformed", messages, DynamoStatistics::malformedMessages);
    count(meters, "messages", "skipped", messages, DynamoStatistics::skippedSequences);
    String queries = "Questions to workers";
    count(meters, "queries", "answered", queries, DynamoStatistics::answeredQueries);
    count(meters, "queries", "failed", queries, DynamoStatistics::failedQueries);
    String connections = "Connections that ended badly";
    count(meters, "connections", "broken", connections, DynamoStatistics::disconnects);
    count(meters, "connections", "stranger", connections, DynamoStatistics::strangers);
    count(meters, "connections", "failed", connections, DynamoStatistics::failedSockets);
    count(meters, "connections", "unaccepted", connections, DynamoStatistics::failedAccepts);
    String looks = "Looks at discovery";
    count(meters, "discovery", "changed", looks, DynamoStatistics::snapshots);
    count(meters, "discovery", "lost", looks, DynamoStatistics::losses);
  }

  private void count(
      MeterRegistry meters,
      String name,
      String outcome,
      String description,
      ToLongFunction<DynamoStatistics> value) {
    FunctionCounter.builder(
            "kvrelay.dynamo." + name, deployment, d -> value.applyAsLong(d.statistics()))
        .tag("outcome", outcome)
        .description(description)
        .register(meters);
  }

  @Override
  public void write(JsonGenerator json) throws IOException {
    DynamoStatistics s = deployment.statistics();
    json.writeObjectFieldStart("dynamo");
    json.writeNumberField("snapshots", s.snapshots());
    json.writeNumberField("losses", s.losses());
    json.writeNumberField("malformed_records", s.malformedRecords());
    json.writeNumberField("forbidden_changes", s.forbiddenChanges());
    json.writeNumberField("messages", s.messages());
    json.writeNumberField("malformed_messages", s.malformedMessages());
    json.writeNumberField("skipped_sequences", s.skippedSequences());
    json.writeNumberField("disconnects", s.disconnects());
    json.writeNumberField("failed_sockets", s.failedSockets());
    json.writeNumberField("queries", s.queries());
    json.writeNumberField("answered_queries", s.answeredQueries());
    json.writeNumberField("failed_queries", s.failedQueries());
    json.writeNumberField("strangers", s.strangers());
    json.writeNumberField("failed_accepts", s.failedAccepts());
    json.writeEndObject();
  }

  @Override
  public void stop() {}

  @Override
  public void close() {
    deployment.close();
  }
}
