/**
 * How full the caches of a pool are: declared capacity, the latest report of each rank, and what of
 * it may be published. Sources of the rules: {@code docs/topology-and-load.md}.
 */
@NullMarked
package io.kvrelay.engine.load;

import org.jspecify.annotations.NullMarked;
