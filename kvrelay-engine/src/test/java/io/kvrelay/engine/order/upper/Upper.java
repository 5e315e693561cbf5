package io.kvrelay.engine.order.upper;

/** What {@link io.kvrelay.engine.order.lower.Lower} must not see. */
public final class Upper {}
