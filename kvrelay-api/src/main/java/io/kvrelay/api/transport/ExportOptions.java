package io.kvrelay.api.transport;

import io.kvrelay.api.runtime.RelayRuntime;
import java.util.HashMap;
import java.util.Map;

/**
 * Settings of an export. Immutable.
 *
 * @param runtime clock, executor, timer and random source of everything the export does
 * @param limits bounds and intervals
 * @param attributes settings that only one transport knows, by the key that transport documents
 */
public record ExportOptions(
    RelayRuntime runtime, TransportLimits limits, Map<String, Object> attributes) {
  /**
   * Copies the attributes.
   *
   * @param runtime clock, executor, timer and random source of everything the export does
   * @param limits bounds and intervals
   * @param attributes settings that only one transport knows, by the key that transport documents
   */
  public ExportOptions {
    attributes = Map.copyOf(attributes);
  }

  /**
   * Default limits.
   *
   * @param runtime the runtime
   * @return the settings
   */
  public static ExportOptions defaults(RelayRuntime runtime) {
    return new ExportOptions(runtime, TransportLimits.DEFAULTS, Map.of());
  }

  /**
   * The same settings with other limits.
   *
   * @param limits the limits
   * @return the settings
   */
  public ExportOptions withLimits(TransportLimits limits) {
    return new ExportOptions(runtime, limits, attributes);
  }

  /**
   * The same settings with one more attribute.
   *
   * @param key the key
   * @param value the value
   * @return the settings
   */
  public ExportOptions with(String key, Object value) {
    Map<String, Object> copy = new HashMap<>(attributes);
    copy.put(key, value);
    return new ExportOptions(runtime, limits, copy);
  }

  /**
   * The same settings with more attributes.
   *
   * @param more the attributes by key
   * @return the settings
   */
  public ExportOptions with(Map<String, Object> more) {
    Map<String, Object> copy = new HashMap<>(attributes);
    copy.putAll(more);
    return new ExportOptions(runtime, limits, copy);
  }
}
