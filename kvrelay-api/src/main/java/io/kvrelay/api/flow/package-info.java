/** Reactive Streams building blocks for implementers of sources and transports. */
@NullMarked
package io.kvrelay.api.flow;

import org.jspecify.annotations.NullMarked;
