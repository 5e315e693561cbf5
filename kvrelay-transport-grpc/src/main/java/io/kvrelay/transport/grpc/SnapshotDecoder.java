package io.kvrelay.transport.grpc;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.transport.grpc.v1.KvPoolCatalogUpdate;
import io.kvrelay.transport.grpc.v1.KvPoolDescriptor;
import io.kvrelay.transport.grpc.v1.KvPoolId;
import io.kvrelay.transport.grpc.v1.KvPoolLoadEntry;
import io.kvrelay.transport.grpc.v1.KvPoolLoadUpdate;
import io.kvrelay.transport.grpc.v1.ProducerIdentity;
import io.kvrelay.transport.grpc.v1.ServingReadinessUpdate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Complete snapshots, entry by entry. An unusable entry under a key that can be trusted, or of a
 * kind that only a newer version understands, is quarantined and its neighbours stay; a snapshot
 * with repeated keys, or with an entry that cannot be told apart, is ambiguous and is refused as a
 * whole.
 */
final class SnapshotDecoder {
  private SnapshotDecoder() {}

  static PoolCatalog catalog(KvPoolCatalogUpdate update) {
    if (!update.hasSnapshot()) {
      throw violation(WireFault.missing("snapshot"));
    }
    List<PoolDescriptor> usable = new ArrayList<>();
    PoolEntries entries = new PoolEntries("snapshot.pools");
    for (KvPoolDescriptor pool : update.getSnapshot().getPoolsList()) {
      if (entries.admit(pool.hasProducer(), pool.getProducer(), WireValidator.descriptor(pool))) {
        usable.add(KvRelayWire.fromWire(pool));
      }
    }
    return new PoolCatalog(update.getRevision(), usable, entries.quarantined);
  }

  static LoadSnapshot load(KvPoolLoadUpdate update) {
    List<PoolLoad> usable = new ArrayList<>();
    PoolEntries entries = new PoolEntries("pools");
    for (KvPoolLoadEntry pool : update.getPoolsList()) {
      if (entries.admit(pool.hasProducer(), pool.getProducer(), producerOf(pool))) {
        usable.add(KvRelayWire.fromWire(pool));
      }
    }
    LoadSnapshot.Window window =
        new LoadSnapshot.Window(
            update.getWindowSequence(), update.getObservedMs(), update.getWindowMs());
    return new LoadSnapshot(usable, window, entries.quarantined);
  }

  private static @Nullable WireFault producerOf(KvPoolLoadEntry pool) {
    if (!pool.hasProducer()) {
      return WireFault.missing("producer");
    }
    WireFault fault = WireValidator.producer(pool.getProducer());
    return fault == null ? null : fault.in("producer");
  }

  static TopologySnapshot topology(ServingReadinessUpdate update) {
    List<TopologyEntry> usable = new ArrayList<>();
    List<QuarantinedEntry> quarantined = new ArrayList<>();
    Set<List<String>> keys = new HashSet<>();
    for (int i = 0; i < update.getEntriesCount(); i++) {
      io.kvrelay.transport.grpc.v1.TopologyEntry entry = update.getEntries(i);
      String field = "entries[" + i + "]";
      WireFault fault = WireValidator.topologyKey(entry);
      if (fault != null) {
        throw violation(fault.in(field));
      }
      String key = entry.getNamespace() + "/" + entry.getCanonicalModelId();
      if (!keys.add(List.of(entry.getNamespace(), entry.getCanonicalModelId()))) {
        throw violation(field + " = " + key + ": key repeated");
      }
      fault = WireValidator.topologyEntry(entry);
      if (fault == null) {
        usable.add(KvRelayWire.fromWire(entry));
      } else {
        quarantined.add(
            new QuarantinedEntry(null, key, fault.unsupported(), fault.in(field).describe()));
      }
    }
    return new TopologySnapshot(update.getRevision(), usable, quarantined);
  }

  /** Entries that are known by a pool. */
  private static final class PoolEntries {
    private final String list;
    private final Set<PoolId> seen = new HashSet<>();
    private final List<QuarantinedEntry> quarantined = new ArrayList<>();
    private int index;

    PoolEntries(String list) {
      this.list = list;
    }

    /** True if the entry is usable; otherwise it is quarantined, or the snapshot is refused. */
    boolean admit(boolean hasProducer, ProducerIdentity producer, @Nullable WireFault fault) {
      String field = list + "[" + index++ + "]";
      PoolId id = poolId(hasProducer, producer, field);
      if (id != null && !seen.add(id)) {
        throw violation(field + " = " + id + ": pool repeated");
      }
      if (fault == null) {
        return true;
      }
      String key = id == null ? oneLine(producer.getPoolId()) : id.toString();
      quarantined.add(
          new QuarantinedEntry(id, key, fault.unsupported(), fault.in(field).describe()));
      return false;
    }

    /**
     * The pool an entry speaks of; null if it is one that only a newer version can name, which is
     * then none of those we know.
     */
    private static @Nullable PoolId poolId(
        boolean hasProducer, ProducerIdentity producer, String field) {
      WireFault fault =
          hasProducer && producer.hasPoolId()
              ? WireValidator.poolId(producer.getPoolId())
              : WireFault.missing("producer.pool_id");
      if (fault == null) {
        return KvRelayWire.fromWire(producer.getPoolId());
      }
      if (fault.unsupported()) {
        return null;
      }
      throw violation(fault.in(field));
    }

    private static String oneLine(KvPoolId id) {
      return id.toString().strip().replace('\n', ' ');
    }
  }

  private static RelayException violation(WireFault fault) {
    return violation(fault.describe());
  }

  private static RelayException violation(String text) {
    return new RelayException(RelayErrorReason.PROTOCOL_VIOLATION, text);
  }
}
