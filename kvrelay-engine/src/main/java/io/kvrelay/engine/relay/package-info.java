/** The producing half put together: one relay per data center, and the pools that it publishes. */
@NullMarked
package io.kvrelay.engine.relay;

import org.jspecify.annotations.NullMarked;
