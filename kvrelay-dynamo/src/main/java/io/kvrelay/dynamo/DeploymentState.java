package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.ModelCard;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What discovery holds, record by record. A record that cannot be read keeps the last good value of
 * its key; one whose value may not change keeps its first. Not thread safe, but for its counters.
 */
final class DeploymentState {
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Held(byte[] latest, @Nullable DiscoveryRecord good, @Nullable String complaint) {}

  private final LongAdder malformed = new LongAdder();
  private final LongAdder forbiddenChanges = new LongAdder();
  private Map<RecordKey, Held> held = Map.of();

  /** Serving endpoints that had an instance since their first card, in this life of the watch. */
  private final Set<EndpointId> seenAlive = new HashSet<>();

  /**
   * Takes the complete content of the store.
   *
   * @return false if nothing differs from before
   */
  boolean update(Map<RecordKey, byte[]> snapshot) {
    Map<RecordKey, Held> next = new HashMap<>();
    boolean changed = snapshot.size() != held.size();
    for (Map.Entry<RecordKey, byte[]> entry : snapshot.entrySet()) {
      Held before = held.get(entry.getKey());
      if (before != null && Arrays.equals(before.latest(), entry.getValue())) {
        next.put(entry.getKey(), before);
      } else {
        next.put(entry.getKey(), take(entry.getKey(), entry.getValue(), before));
        changed = true;
      }
    }
    held = next;
    rememberAlive();
    return changed;
  }

  /** The watch was lost: whether an endpoint without instances has none is unknown again. */
  void forgetLiveness() {
    seenAlive.clear();
  }

  private Held take(RecordKey key, byte[] value, @Nullable Held before) {
    DiscoveryRecord known = before == null ? null : before.good();
    DiscoveryRecord next;
    try {
      next = RecordParser.parse(key, value);
    } catch (MalformedException e) {
      malformed.increment();
      return new Held(value, known, e.getMessage());
    }
    if (known == null || known.mayBecome(next)) {
      return new Held(value, next, null);
    }
    forbiddenChanges.increment();
    return new Held(value, known, "changed in place, which it may not; its first value stands");
  }

  private void rememberAlive() {
    Set<EndpointId> served = new HashSet<>();
    of(DiscoveryRecord.Card.class).forEach(card -> served.add(card.card().endpoint()));
    of(DiscoveryRecord.Instance.class).forEach(instance -> seenAlive.add(instance.endpoint()));
    seenAlive.retainAll(served);
  }

  private <T extends DiscoveryRecord> List<T> of(Class<T> kind) {
    List<T> found = new ArrayList<>();
    for (Held one : held.values()) {
      if (kind.isInstance(one.good())) {
        found.add(kind.cast(one.good()));
      }
    }
    return found;
  }

  List<ModelCard> cards() {
    return inKeyOrder(DiscoveryRecord.Card.class, DiscoveryRecord.Card::card);
  }

  /** Absent for an endpoint that no instance was seen of yet; empty once all are gone. */
  Map<EndpointId, Set<Long>> liveWorkers() {
    Map<EndpointId, Set<Long>> live = new HashMap<>();
    seenAlive.forEach(endpoint -> live.put(endpoint, new HashSet<>()));
    for (DiscoveryRecord.Instance instance : of(DiscoveryRecord.Instance.class)) {
      Set<Long> workers = live.get(instance.endpoint());
      if (workers != null) {
        workers.add(instance.workerId());
      }
    }
    return live;
  }

  List<DiscoveryRecord.Channel> channels() {
    return inKeyOrder(DiscoveryRecord.Channel.class, Function.identity());
  }

  List<EventSourceAdvertisement> eventSources() {
    Map<Long, String> addresses = new HashMap<>();
    for (DiscoveryRecord.Channel channel : of(DiscoveryRecord.Channel.class)) {
      String address = channel.address();
      if (address != null) {
        addresses.put(channel.publisherId(), address);
      }
    }
    return inKeyOrder(
        DiscoveryRecord.Source.class,
        source -> {
          RecoveryTarget target = source.target();
          return new EventSourceAdvertisement(
              source.endpoint(),
              source.member(),
              source.publisherId(),
              target == null ? null : target.toText(),
              addresses.get(source.publisherId()));
        });
  }

  /** Records that are not used as they stand, with the reason. */
  Map<RecordKey, QuarantinedEntry> refused() {
    Map<RecordKey, QuarantinedEntry> refused = new HashMap<>();
    held.forEach(
        (key, one) -> {
          String complaint = one.complaint();
          if (complaint == null
              && one.good() instanceof DiscoveryRecord.Channel channel
              && channel.address() == null) {
            complaint = "transport.kind = " + channel.kind() + ": only Zmq is followed";
          }
          if (complaint != null) {
            refused.put(key, new QuarantinedEntry(null, key.toString(), false, complaint));
          }
        });
    return refused;
  }

  private <T extends DiscoveryRecord, R> List<R> inKeyOrder(Class<T> kind, Function<T, R> as) {
    Map<String, R> sorted = new TreeMap<>();
    held.forEach(
        (key, one) -> {
          if (kind.isInstance(one.good())) {
            sorted.put(key.toString(), as.apply(kind.cast(one.good())));
          }
        });
    return List.copyOf(sorted.values());
  }

  /** Values that were found unreadable, each once. */
  long malformed() {
    return malformed.sum();
  }

  /** Values that took the place of one that may not change. */
  long forbiddenChanges() {
    return forbiddenChanges.sum();
  }
}
