package io.kvrelay.engine.view;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a readiness snapshot must satisfy: unique keys, and entries that agree with themselves. */
final class ReadinessRules implements WatchPlane.Rules<TopologySnapshot> {
  /** The key of an entry. */
  record Key(String namespace, String canonicalModelId) {
    static Key of(TopologyEntry entry) {
      return new Key(entry.namespace(), entry.canonicalModelId());
    }
  }

  private final ViewCounters counters;
  private final RevisionMemory<TopologySnapshot> memory = new RevisionMemory<>("readiness");

  ReadinessRules(ViewCounters counters) {
    this.counters = counters;
  }

  @Override
  public void begin() {
    memory.begin();
  }

  @Override
  public @Nullable TopologySnapshot judge(TopologySnapshot snapshot) {
    if (!memory.isNew(snapshot.revision(), snapshot)) {
      counters.increment(ViewCounter.READINESS_HEARTBEATS);
      return null;
    }
    Set<Key> keys = new HashSet<>();
    List<TopologyEntry> usable = new ArrayList<>();
    List<QuarantinedEntry> quarantined = new ArrayList<>(snapshot.quarantined());
    for (TopologyEntry entry : snapshot.entries()) {
      if (!keys.add(Key.of(entry))) {
        throw StreamPlane.violation("readiness key = " + Key.of(entry) + ": listed twice");
      }
      String fault = fault(entry);
      if (fault == null) {
        usable.add(entry);
      } else {
        quarantined.add(
            new QuarantinedEntry(
                null, entry.namespace() + "/" + entry.canonicalModelId(), false, fault));
      }
    }
    memory.remember(snapshot.revision(), snapshot);
    counters.increment(ViewCounter.READINESS_APPLIED);
    counters.add(ViewCounter.READINESS_ENTRIES_QUARANTINED, quarantined.size());
    return new TopologySnapshot(snapshot.revision(), usable, quarantined);
  }

  /** What an in-process source could hand over although no transport would. */
  private static @Nullable String fault(TopologyEntry entry) {
    for (WorkerRole role : entry.duplicateRoleEndpoints()) {
      if (role != WorkerRole.PREFILL && role != WorkerRole.DECODE) {
        return "duplicateRoleEndpoints = " + role + ": must be PREFILL or DECODE";
      }
    }
    Set<EndpointId> endpoints = new HashSet<>();
    for (TopologyMember member : entry.members()) {
      if (!member.endpoint().namespace().equals(entry.namespace())) {
        return "member = " + member.endpoint() + ": not in namespace " + entry.namespace();
      }
      if (!endpoints.add(member.endpoint())) {
        return "member = " + member.endpoint() + ": listed twice";
      }
    }
    Set<String> adapters = new HashSet<>();
    for (AdapterReadiness adapter : entry.adapters()) {
      if (!adapters.add(adapter.canonicalModelId())) {
        return "adapter = " + adapter.canonicalModelId() + ": listed twice";
      }
    }
    return null;
  }
}
