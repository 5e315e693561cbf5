package io.kvrelay.engine.order.lower;

import io.kvrelay.engine.order.upper.Upper;

/** A look upwards, for the rule to find. */
public final class Lower {
  /** The look. */
  public Upper upper = new Upper();
}
