package io.kvrelay.benchmarks;

/** Numbers among a benchmark's arguments. What is wrong with one is said with its name. */
final class Arguments {
  private Arguments() {}

  static int positive(String name, String value) {
    return (int) inRange(name, value, 1, Integer.MAX_VALUE);
  }

  static long inRange(String name, String value, long min, long max) {
    long number = number(name, value);
    if (number < min || number > max) {
      throw new IllegalArgumentException(name + " = " + value + ": must be in " + min + ".." + max);
    }
    return number;
  }

  static long number(String name, String value) {
    try {
      return Long.parseLong(value);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(name + " = " + value + ": is no number", e);
    }
  }
}
