package io.kvrelay.api;

import java.util.HashSet;
import java.util.List;

/** Argument checks of the value types; every message names the field and shows the value. */
final class Check {
  private Check() {}

  static void that(boolean condition, String field, Object value, String rule) {
    if (!condition) {
      throw new IllegalArgumentException(field + " = " + value + ": " + rule);
    }
  }

  static String text(String value, String field) {
    if (!Text.isValid(value)) {
      throw new IllegalArgumentException(
          field + " = \"" + value + "\": must not be empty or surrounded by white space");
    }
    return value;
  }

  static <T> List<T> unique(List<T> values, String field) {
    List<T> copy = List.copyOf(values);
    that(new HashSet<>(copy).size() == copy.size(), field, copy, "must not hold one value twice");
    return copy;
  }
}
