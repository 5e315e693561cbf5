package io.kvrelay.engine.topology;

/**
 * A contradiction among the cards of an endpoint, or between endpoints. Lasts as long as its cause.
 *
 * @param scope how far it reaches
 * @param detail what contradicts what, naming the field and the value
 */
public record Conflict(ConflictScope scope, String detail) implements Comparable<Conflict> {
  @Override
  public int compareTo(Conflict other) {
    int byScope = scope.compareTo(other.scope);
    return byScope != 0 ? byScope : detail.compareTo(other.detail);
  }
}
