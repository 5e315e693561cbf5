package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.ModelCard;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a record of discovery says, as far as a relay wants to know. */
sealed interface DiscoveryRecord {
  /** Whether a later value of the same key may take this one's place. */
  default boolean mayBecome(DiscoveryRecord next) {
    return equals(next);
  }

  /** A live worker. */
  record Instance(EndpointId endpoint, long workerId) implements DiscoveryRecord {
    @Override
    public boolean mayBecome(DiscoveryRecord next) {
      return true;
    }
  }

  /** A model that a worker serves. */
  record Card(ModelCard card) implements DiscoveryRecord {
    /** Only taints may change in a card's life. */
    @Override
    public boolean mayBecome(DiscoveryRecord next) {
      return next instanceof Card other && untainted().equals(other.untainted());
    }

    private ModelCard untainted() {
      return card.toBuilder().runtime(card.runtime().withTaints(Set.of())).build();
    }
  }

  /**
   * Where a publisher is heard.
   *
   * @param key where the record lies
   * @param endpoint the endpoint of its scope
   * @param topic {@code kv-events} or {@code kv_metrics}
   * @param publisherId the publisher
   * @param address a ZeroMQ address, or null if it publishes another way
   * @param kind how it publishes
   */
  record Channel(
      RecordKey key,
      EndpointId endpoint,
      Topic topic,
      long publisherId,
      @Nullable String address,
      String kind)
      implements DiscoveryRecord {}

  /**
   * Which publisher speaks for a rank.
   *
   * @param endpoint the KV-state endpoint
   * @param member the rank
   * @param publisherId the publisher
   * @param target where its history is asked for, or null
   */
  record Source(
      EndpointId endpoint, Member member, long publisherId, @Nullable RecoveryTarget target)
      implements DiscoveryRecord {}

  /** Well formed and of no interest: another topic, or a wider scope. */
  enum Other implements DiscoveryRecord {
    IRRELEVANT;

    @Override
    public boolean mayBecome(DiscoveryRecord next) {
      return true;
    }
  }
}
