package io.kvrelay.cli.demo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.hash.IdentityEntries;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvPoolSpec;
import java.util.Map;

/** How the demo's pools describe themselves. All data centers serve one model at one endpoint. */
final class ServingPool {
  static final String MODEL = "demo-model";

  static final EndpointId ENDPOINT = new EndpointId("demo", "backend", "generate");

  // Said, not derived: nothing but the demo shares its caches.
  private static final Map<String, String> IDENTITY = Map.of("kvrelay", "demo");

  private static final long MAX_EXPECTED_BLOCKS = 53_687_091;

  private ServingPool() {}

  /**
   * A pool whose filter has room for everything that its workers can keep, or is the largest there
   * is; what does not fit then is omitted, and reported.
   *
   * @param workload the input
   * @param settings the world
   * @return the specification
   */
  static KvPoolSpec spec(Workload workload, DemoSettings settings) {
    QuerySemantics semantics =
        new QuerySemantics(workload.blockTokens(), QueryHashFormat.DYNAMO_STANDARD_V1);
    IdentityEntries identity = IdentityEntries.of(IDENTITY);
    return KvPoolSpec.builder()
        .endpoint(ENDPOINT)
        .model(MODEL)
        .blockSize(workload.blockTokens())
        .cacheSemantics(Identities.cacheSemantics(identity, semantics))
        .routingScope(Identities.routingScope(identity))
        .expectedUniqueBlocks(expectedBlocks(workload, settings))
        .build();
  }

  private static long expectedBlocks(Workload workload, DemoSettings settings) {
    long kept = (long) settings.workers() * settings.cacheBlocks();
    return Math.max(1, Math.min(Math.min(kept, workload.distinctBlocks()), MAX_EXPECTED_BLOCKS));
  }

  /** The same, as a relay that follows its deployment is told. */
  static DeploymentConfig config(Workload workload, DemoSettings settings) {
    return DeploymentConfig.builder()
        .expectedUniqueBlocks(expectedBlocks(workload, settings))
        .build();
  }

  /** What a worker says about itself. */
  static ModelCard card(long workerId, Workload workload, DemoSettings settings) {
    return ModelCard.builder(ENDPOINT, workerId, MODEL)
        .kvBlockSize(workload.blockTokens())
        .explicitSemantics(IDENTITY)
        .explicitScope(IDENTITY)
        .role(WorkerRole.AGGREGATED)
        .runtime(RuntimeConfig.ranks(0, 1, settings.cacheBlocks()))
        .build();
  }
}
