/**
 * The one place from which everything asynchronous takes its clock, executor, timer and random
 * source, so that a host can supply its own and a simulation can own time.
 */
@NullMarked
package io.kvrelay.api.runtime;

import org.jspecify.annotations.NullMarked;
