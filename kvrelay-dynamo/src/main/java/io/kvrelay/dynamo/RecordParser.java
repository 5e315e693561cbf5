package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.dynamo.RecordKey.Bucket;
import io.kvrelay.dynamo.RecoveryTarget.Codec;
import org.jspecify.annotations.Nullable;

/** From a record's bytes to what it says. A record whose key does not follow from it is refused. */
final class RecordParser {
  private RecordParser() {}

  static DiscoveryRecord parse(RecordKey key, byte[] json) throws MalformedException {
    JsonObject record = Json.parseObject(json);
    String type = record.text("type");
    if (!type.equals(key.bucket().type())) {
      throw MalformedException.of("type", type, "must be " + key.bucket().type());
    }
    return switch (key.bucket()) {
      case INSTANCES -> instance(key, record);
      case CARDS -> CardParser.card(key, record);
      case CHANNELS -> channel(key, record);
      case SOURCES -> source(key, record);
    };
  }

  private static DiscoveryRecord instance(RecordKey key, JsonObject record)
      throws MalformedException {
    EndpointId endpoint = endpoint(record, "endpoint");
    long id = record.u64("instance_id");
    checkKey(key, RecordKey.instance(endpoint, id));
    return new DiscoveryRecord.Instance(endpoint, id);
  }

  private static DiscoveryRecord channel(RecordKey key, JsonObject record)
      throws MalformedException {
    Scope scope = scope(record.object("scope"));
    String name = record.text("topic");
    long publisher = record.u64("instance_id");
    checkKey(key, RecordKey.event(Bucket.CHANNELS, scope.path(), name, publisher));
    Topic topic = Topic.ofWireName(name);
    EndpointId endpoint = scope.endpoint();
    if (topic == null || endpoint == null) {
      return DiscoveryRecord.Other.IRRELEVANT;
    }
    JsonObject transport = record.object("transport");
    String kind = transport.text("kind");
    String address = kind.equals("Zmq") ? zmqAddress(transport.object("config")) : null;
    return new DiscoveryRecord.Channel(key, endpoint, topic, publisher, address, kind);
  }

  private static String zmqAddress(JsonObject config) throws MalformedException {
    String address = config.text("endpoint");
    if (!address.startsWith("tcp://") || address.lastIndexOf(':') <= "tcp://".length()) {
      throw MalformedException.of("endpoint", address, "must be tcp://HOST:PORT");
    }
    return address;
  }

  private static DiscoveryRecord source(RecordKey key, JsonObject record)
      throws MalformedException {
    Scope scope = scope(record.object("scope"));
    String name = record.text("topic");
    long publisher = record.u64("publisher_id");
    checkKey(key, RecordKey.event(Bucket.SOURCES, scope.path(), name, publisher));
    EndpointId endpoint = scope.endpoint();
    if (endpoint == null || Topic.ofWireName(name) != Topic.KV_EVENTS) {
      return DiscoveryRecord.Other.IRRELEVANT;
    }
    JsonObject metadata = record.object("metadata");
    EndpointId stated = endpoint(metadata.object("kv_state_endpoint"), "name");
    if (!stated.equals(endpoint)) {
      throw MalformedException.of(
          "metadata.kv_state_endpoint", stated, "must be the scope's " + endpoint);
    }
    long speaker = metadata.u64("publisher_id");
    if (speaker != publisher) {
      throw MalformedException.of(
          "metadata.publisher_id",
          Long.toUnsignedString(speaker),
          "must be the record's " + Long.toUnsignedString(publisher));
    }
    JsonObject worker = metadata.object("worker");
    Member member = new Member(worker.u64("worker_id"), worker.u32("dp_rank", 0));
    return new DiscoveryRecord.Source(
        endpoint, member, publisher, target(metadata.optionalObject("recovery_target")));
  }

  private static @Nullable RecoveryTarget target(@Nullable JsonObject target)
      throws MalformedException {
    if (target == null) {
      return null;
    }
    JsonObject transport = target.object("transport");
    String tcp = transport.optionalText("tcp");
    if (tcp == null) {
      throw MalformedException.of(
          "metadata.recovery_target.transport",
          transport.names(),
          "only tcp can be asked for history");
    }
    String codec = target.optionalText("request_plane_codec");
    return RecoveryTarget.parse(tcp, codec == null ? Codec.JSON : Codec.ofWireName(codec));
  }

  /** Where events belong; the endpoint is null for a namespace's or a component's. */
  private record Scope(String path, @Nullable EndpointId endpoint) {}

  private static Scope scope(JsonObject scope) throws MalformedException {
    String kind = scope.text("kind");
    return switch (kind) {
      case "namespace" -> new Scope("namespace/" + Segments.encode(scope.text("name")), null);
      case "component" ->
          new Scope(componentPath(scope.text("namespace"), scope.text("component")), null);
      case "endpoint" -> {
        EndpointId endpoint = endpoint(scope.object("endpoint"), "name");
        yield new Scope(
            componentPath(endpoint.namespace(), endpoint.component())
                + "/endpoint/"
                + Segments.encode(endpoint.endpoint()),
            endpoint);
      }
      default ->
          throw MalformedException.of(
              "scope.kind", kind, "must be namespace, component or endpoint");
    };
  }

  private static String componentPath(String namespace, String component) {
    return "namespace/" + Segments.encode(namespace) + "/component/" + Segments.encode(component);
  }

  /** Three texts; the third field's name differs from place to place. */
  static EndpointId endpoint(JsonObject object, String nameField) throws MalformedException {
    try {
      return new EndpointId(
          object.text("namespace"), object.text("component"), object.text(nameField));
    } catch (IllegalArgumentException e) {
      throw new MalformedException(String.valueOf(e.getMessage()));
    }
  }

  static void checkKey(RecordKey key, RecordKey expected) throws MalformedException {
    if (!key.equals(expected)) {
      throw MalformedException.of("key", key, "the record belongs under " + expected);
    }
  }
}
