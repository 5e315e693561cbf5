/**
 * From deployment facts to what can be served: which endpoints there are and under which names,
 * whether each may have a pool, the life of an endpoint's pool, and the readiness of every model.
 * Derivations are pure functions of complete snapshots; what remembers anything is a serial state
 * machine. Sources of the rules: {@code docs/topology-and-load.md}.
 */
@NullMarked
package io.kvrelay.engine.topology;

import org.jspecify.annotations.NullMarked;
