package io.kvrelay.api;

/**
 * How tokens become sequence hashes. A closed set: an unknown format never falls back to a known
 * one.
 */
public enum QueryHashFormat {
  /** Windows of one block. */
  DYNAMO_STANDARD_V1(1),
  /** Windows of one block and one token, with a stride of one block. */
  DYNAMO_EAGLE_V1(2);

  private final int number;

  QueryHashFormat(int number) {
    this.number = number;
  }

  /**
   * The format's number on the wire and in identity material.
   *
   * @return the number
   */
  public int number() {
    return number;
  }
}
