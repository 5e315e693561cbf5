package io.kvrelay.api.transport;

import io.kvrelay.api.runtime.RelayRuntime;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Settings of a connection. Immutable.
 *
 * @param runtime clock, executor, timer and random source of everything the connection does
 * @param subscriberId diagnostic label of its streams: 1 to 128 UTF-8 bytes without control
 *     characters; no credential, no resume token, need not be unique
 * @param connectTimeout how long to wait for the first catalog
 * @param attributes settings that only one transport knows, by the key that transport documents
 */
public record ConnectOptions(
    RelayRuntime runtime,
    String subscriberId,
    Duration connectTimeout,
    Map<String, Object> attributes) {
  /** Longest label, in UTF-8 bytes. */
  public static final int MAX_SUBSCRIBER_ID_BYTES = 128;

  /**
   * Checks the label and the timeout.
   *
   * @param runtime clock, executor, timer and random source of everything the connection does
   * @param subscriberId diagnostic label of its streams: 1 to 128 UTF-8 bytes without control
   *     characters; no credential, no resume token, need not be unique
   * @param connectTimeout how long to wait for the first catalog
   * @param attributes settings that only one transport knows, by the key that transport documents
   * @throws IllegalArgumentException if the label or the timeout is out of bounds
   */
  public ConnectOptions {
    String fault = subscriberIdFault(subscriberId);
    if (!fault.isEmpty()) {
      throw new IllegalArgumentException("subscriberId = \"" + subscriberId + "\": " + fault);
    }
    if (connectTimeout.isNegative() || connectTimeout.isZero()) {
      throw new IllegalArgumentException(
          "connectTimeout = " + connectTimeout + ": must be positive");
    }
    attributes = Map.copyOf(attributes);
  }

  /**
   * Default settings: label {@code kvrelay}, 10 seconds to connect.
   *
   * @param runtime the runtime
   * @return the settings
   */
  public static ConnectOptions defaults(RelayRuntime runtime) {
    return new ConnectOptions(runtime, "kvrelay", Duration.ofSeconds(10), Map.of());
  }

  /**
   * The same settings under another label.
   *
   * @param subscriberId the label
   * @return the settings
   */
  public ConnectOptions withSubscriberId(String subscriberId) {
    return new ConnectOptions(runtime, subscriberId, connectTimeout, attributes);
  }

  /**
   * The same settings with another timeout.
   *
   * @param connectTimeout the timeout
   * @return the settings
   */
  public ConnectOptions withConnectTimeout(Duration connectTimeout) {
    return new ConnectOptions(runtime, subscriberId, connectTimeout, attributes);
  }

  /**
   * The same settings with one more attribute.
   *
   * @param key the key
   * @param value the value
   * @return the settings
   */
  public ConnectOptions with(String key, Object value) {
    Map<String, Object> copy = new HashMap<>(attributes);
    copy.put(key, value);
    return new ConnectOptions(runtime, subscriberId, connectTimeout, copy);
  }

  /**
   * The same settings with more attributes.
   *
   * @param more the attributes by key
   * @return the settings
   */
  public ConnectOptions with(Map<String, Object> more) {
    Map<String, Object> copy = new HashMap<>(attributes);
    copy.putAll(more);
    return new ConnectOptions(runtime, subscriberId, connectTimeout, copy);
  }

  /**
   * What is wrong with a label; the checks run in the order empty, length, control character.
   *
   * @param subscriberId the label
   * @return the fault, empty if there is none
   */
  public static String subscriberIdFault(String subscriberId) {
    if (subscriberId.isEmpty()) {
      return "must not be empty";
    }
    if (subscriberId.getBytes(StandardCharsets.UTF_8).length > MAX_SUBSCRIBER_ID_BYTES) {
      return "must not be longer than 128 UTF-8 bytes";
    }
    if (subscriberId.codePoints().anyMatch(Character::isISOControl)) {
      return "must not hold a control character";
    }
    return "";
  }
}
