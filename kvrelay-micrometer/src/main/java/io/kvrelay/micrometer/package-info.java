/**
 * A relay's and a view's statistics as Micrometer meters: {@link
 * io.kvrelay.micrometer.KvRelayMetrics} and {@link io.kvrelay.micrometer.KvViewMetrics}. Every
 * meter is listed in {@code docs/operations.md}.
 */
@NullMarked
package io.kvrelay.micrometer;

import org.jspecify.annotations.NullMarked;
