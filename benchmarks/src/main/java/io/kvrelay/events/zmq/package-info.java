/** Benchmarks of the engine event adapter; they stand in its package to reach its parts. */
@NullMarked
package io.kvrelay.events.zmq;

import org.jspecify.annotations.NullMarked;
