package io.kvrelay.engine.topology;

import io.kvrelay.api.ModelTarget;
import java.util.Collections;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A served adapter name of an endpoint and the workers that carry the adapter.
 *
 * @param servedName the name requests ask for
 * @param target the base model and the adapter's name inside the engine
 * @param carriers worker id (unsigned order) to how many adapters the worker holds at once, if
 *     known
 */
public record AdapterBinding(
    String servedName, ModelTarget.Lora target, SortedMap<Long, OptionalInt> carriers) {
  /**
   * Copies the map.
   *
   * @param servedName the name requests ask for
   * @param target the base model and the adapter's name inside the engine
   * @param carriers worker id to capacity
   */
  public AdapterBinding {
    SortedMap<Long, OptionalInt> copy = new TreeMap<>(Long::compareUnsigned);
    copy.putAll(carriers);
    carriers = Collections.unmodifiableSortedMap(copy);
  }
}
