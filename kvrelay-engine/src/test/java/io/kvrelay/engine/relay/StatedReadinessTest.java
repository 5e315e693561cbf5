package io.kvrelay.engine.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.engine.relay.StatedReadiness.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StatedReadinessTest {
  private static PoolDescriptor pool(
      String endpoint, List<ModelRegistration> registrations, WorkerRole... roles) {
    PoolId id =
        new PoolId(
            new IndexerDomainId(
                new CacheSemanticsId(new Digest(1, 2), IdentitySource.EXPLICIT),
                new RoutingScopeId(new Digest(3, 4), IdentitySource.EXPLICIT)),
            new DcId(5));
    return new PoolDescriptor(
        new ProducerIdentity(id, 1, 1, new CkfFormat(0, 2)),
        EndpointId.parse(endpoint),
        registrations,
        new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1),
        List.of(roles));
  }

  private static final List<ModelRegistration> LLAMA = List.of(ModelRegistration.base("llama"));

  /** Pools as {@code ROLE=STATE}, then state, present, missing and duplicate roles. */
  @ParameterizedTest
  @CsvSource({
    "AGGREGATED=READY,                                 READY,       AGGREGATED, '', ''",
    "AGGREGATED=UNAVAILABLE,                           UNAVAILABLE, '', AGGREGATED, ''",
    "AGGREGATED=UNKNOWN,                               UNKNOWN,     '', '', ''",
    "AGGREGATED=READY AGGREGATED=UNAVAILABLE,          READY,       AGGREGATED, '', ''",
    "AGGREGATED=READY AGGREGATED=UNKNOWN,              UNKNOWN,     '', '', ''",
    "PREFILL=READY DECODE=READY,                       READY,       PREFILL DECODE, '', ''",
    "PREFILL=READY DECODE=UNAVAILABLE,                 UNAVAILABLE, PREFILL, DECODE, ''",
    "DECODE=READY PREFILL=READY DECODE=READY,          READY,       PREFILL DECODE, '', DECODE",
    "AGGREGATED=READY AGGREGATED=READY,                READY,       AGGREGATED, '', ''",
    "LEGACY=READY PREFILL=UNAVAILABLE,                 READY,       '', '', ''",
    "LEGACY=UNAVAILABLE,                               UNAVAILABLE, '', '', ''",
  })
  void aModelIsReadyOnceEveryDeclaredRoleIsServed(
      String pools, ServingState state, String present, String missing, String duplicates) {
    List<Statement> statements = new ArrayList<>();
    for (String pool : pools.trim().split(" ", -1)) {
      String[] parts = pool.split("=", -1);
      statements.add(
          new Statement(
              pool("ns.c.e" + statements.size(), LLAMA, WorkerRole.valueOf(parts[0])),
              ServingState.valueOf(parts[1])));
    }
    TopologyEntry entry = StatedReadiness.entries(statements).get(0);
    assertThat(entry.state()).isEqualTo(state);
    assertThat(entry.presentRoles()).isEqualTo(roles(present));
    assertThat(entry.missingRoles()).isEqualTo(roles(missing));
    assertThat(entry.duplicateRoleEndpoints()).isEqualTo(roles(duplicates));
    assertThat(entry.members()).hasSize(statements.size());
  }

  private static List<WorkerRole> roles(String text) {
    return text.isEmpty()
        ? List.of()
        : List.of(text.split(" ", -1)).stream().map(WorkerRole::valueOf).toList();
  }

  @Test
  void entriesStandPerNamespaceAndBaseModelInOrder() {
    ModelRegistration adapter =
        new ModelRegistration("llama-law", new ModelTarget.Lora("llama", "law"), List.of());
    List<TopologyEntry> entries =
        StatedReadiness.entries(
            List.of(
                new Statement(pool("b.c.e", LLAMA, WorkerRole.AGGREGATED), ServingState.READY),
                new Statement(
                    pool(
                        "a.c.e",
                        List.of(ModelRegistration.base("zeta"), LLAMA.get(0), adapter),
                        WorkerRole.AGGREGATED),
                    ServingState.UNAVAILABLE)));
    assertThat(entries)
        .extracting(TopologyEntry::namespace, TopologyEntry::canonicalModelId)
        .containsExactly(tuple("a", "llama"), tuple("a", "zeta"), tuple("b", "llama"));
    assertThat(entries.get(0).adapters())
        .singleElement()
        .satisfies(
            readiness -> {
              assertThat(readiness.canonicalModelId()).isEqualTo("llama-law");
              assertThat(readiness.state()).isEqualTo(ServingState.UNAVAILABLE);
              assertThat(readiness.missingRoles()).containsExactly(WorkerRole.AGGREGATED);
            });
    assertThat(entries.get(1).adapters()).isEmpty();
  }
}
