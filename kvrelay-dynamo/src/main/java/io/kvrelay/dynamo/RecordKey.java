package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import org.jspecify.annotations.Nullable;

/**
 * Where a record lies in discovery.
 *
 * @param bucket its bucket
 * @param key its key inside the bucket, decoded
 */
record RecordKey(Bucket bucket, String key) {
  /** The four collections that a relay reads. */
  enum Bucket {
    INSTANCES("instances", "Endpoint"),
    CARDS("mdc", "Model"),
    CHANNELS("event_channels", "EventChannel"),
    SOURCES("event_sources", "EventSource");

    private final String folder;
    private final String type;

    Bucket(String folder, String type) {
      this.folder = folder;
      this.type = type;
    }

    /** Its name below {@code v1}. */
    String folder() {
      return folder;
    }

    /** The {@code type} of its records. */
    String type() {
      return type;
    }

    String prefix() {
      return "v1/" + folder + "/";
    }
  }

  /** Reads {@code v1/mdc/…}; null if it lies in none of the buckets. */
  static @Nullable RecordKey parse(String path) {
    for (Bucket bucket : Bucket.values()) {
      if (path.startsWith(bucket.prefix())) {
        return new RecordKey(bucket, path.substring(bucket.prefix().length()));
      }
    }
    return null;
  }

  static RecordKey instance(EndpointId endpoint, long id) {
    return new RecordKey(Bucket.INSTANCES, served(endpoint, id));
  }

  static RecordKey card(EndpointId endpoint, long id, @Nullable String suffix) {
    return new RecordKey(Bucket.CARDS, served(endpoint, id) + (suffix == null ? "" : "/" + suffix));
  }

  private static String served(EndpointId e, long id) {
    return e.namespace() + "/" + e.component() + "/" + e.endpoint() + "/" + Long.toHexString(id);
  }

  static RecordKey event(Bucket bucket, String scopePath, String topic, long publisherId) {
    return new RecordKey(
        bucket,
        scopePath + "/topic/" + Segments.encode(topic) + "/" + Long.toHexString(publisherId));
  }

  /** The namespace that the key names, or null if it has another form. */
  @Nullable String namespace() {
    String[] parts = key.split("/", -1);
    boolean events = bucket == Bucket.CHANNELS || bucket == Bucket.SOURCES;
    int at = events ? 1 : 0;
    if (parts.length <= at || (events && !parts[0].equals("namespace"))) {
      return null;
    }
    try {
      return events ? Segments.decode(parts[at]) : parts[at];
    } catch (MalformedException e) {
      return null;
    }
  }

  @Override
  public String toString() {
    return bucket.prefix() + key;
  }
}
