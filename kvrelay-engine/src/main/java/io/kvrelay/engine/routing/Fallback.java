package io.kvrelay.engine.routing;

import io.kvrelay.api.DcId;
import java.util.Objects;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** What to do with a request for which no pool has a usable prefix. Immutable. */
public final class Fallback {
  /** How a pool is picked. */
  enum Kind {
    NONE,
    NEAREST,
    ROUND_ROBIN
  }

  private static final Fallback NONE = new Fallback(Kind.NONE, null);
  private static final Fallback ROUND_ROBIN = new Fallback(Kind.ROUND_ROBIN, null);

  private final Kind kind;
  private final @Nullable ToDoubleFunction<DcId> distance;

  private Fallback(Kind kind, @Nullable ToDoubleFunction<DcId> distance) {
    this.kind = kind;
    this.distance = distance;
  }

  /**
   * No fallback: the decision chooses nothing.
   *
   * @return the fallback
   */
  public static Fallback none() {
    return NONE;
  }

  /**
   * The nearest ready pool.
   *
   * @param distance how far a data center is, in any unit; thread safe
   * @return the fallback
   */
  public static Fallback nearestReady(ToDoubleFunction<DcId> distance) {
    return new Fallback(Kind.NEAREST, Objects.requireNonNull(distance, "distance"));
  }

  /**
   * Ready pools in turn.
   *
   * @return the fallback
   */
  public static Fallback roundRobin() {
    return ROUND_ROBIN;
  }

  Kind kind() {
    return kind;
  }

  double distance(DcId dcId) {
    return distance == null ? 0 : distance.applyAsDouble(dcId);
  }
}
