/**
 * Turns what a view knows into a choice: {@link io.kvrelay.engine.routing.KvRouter} ranks pools and
 * says why. The rules stand in {@code docs/routing.md}.
 */
@NullMarked
package io.kvrelay.engine.routing;

import org.jspecify.annotations.NullMarked;
