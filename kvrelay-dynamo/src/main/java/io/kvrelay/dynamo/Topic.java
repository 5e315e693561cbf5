package io.kvrelay.dynamo;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The topics of the event plane that a relay follows. */
enum Topic {
  KV_EVENTS("kv-events"),
  KV_METRICS("kv_metrics");

  private final String wireName;

  Topic(String wireName) {
    this.wireName = wireName;
  }

  String wireName() {
    return wireName;
  }

  byte[] subscription() {
    return wireName.getBytes(StandardCharsets.US_ASCII);
  }

  boolean is(byte[] frame) {
    if (frame.length != wireName.length()) {
      return false;
    }
    for (int i = 0; i < frame.length; i++) {
      if (frame[i] != wireName.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  static @Nullable Topic ofWireName(String name) {
    for (Topic topic : values()) {
      if (topic.wireName.equals(name)) {
        return topic;
      }
    }
    return null;
  }
}
