package io.kvrelay.cli.demo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.hash.IdentityEntries;
import io.kvrelay.engine.relay.KvPoolSpec;

/** How the demo's pools describe themselves. All data centers serve one model at one endpoint. */
final class ServingPool {
  static final String MODEL = "demo-model";

  private static final EndpointId ENDPOINT = new EndpointId("demo", "backend", "generate");

  // Said, not derived: nothing but the demo shares its caches.
  private static final IdentityEntries IDENTITY =
      IdentityEntries.builder().put("kvrelay", "demo").build();

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
    long kept = (long) settings.workers() * settings.cacheBlocks();
    long blocks = Math.min(Math.min(kept, workload.distinctBlocks()), MAX_EXPECTED_BLOCKS);
    return KvPoolSpec.builder()
        .endpoint(ENDPOINT)
        .model(MODEL)
        .blockSize(workload.blockTokens())
        .cacheSemantics(Identities.cacheSemantics(IDENTITY, semantics))
        .routingScope(Identities.routingScope(IDENTITY))
        .expectedUniqueBlocks(Math.max(1, blocks))
        .build();
  }
}
