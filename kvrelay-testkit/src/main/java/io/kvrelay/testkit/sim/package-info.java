/**
 * For those who test what they build on a relay: simulated workers with bounded caches, the facts
 * of their deployment, and faults on the way from a worker to its relay. Everything runs on a
 * {@link io.kvrelay.api.runtime.RelayRuntime}; on a virtual one a run is a function of its seed.
 */
@NullMarked
package io.kvrelay.testkit.sim;

import org.jspecify.annotations.NullMarked;
