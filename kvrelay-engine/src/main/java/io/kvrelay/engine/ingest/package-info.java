/**
 * One rank's events in order: live batches, gaps, history, tree dumps and replacement, on their way
 * into a pool; and the reference event source of workers in the same JVM. Sources of the rules:
 * {@code docs/ingest.md}.
 */
@NullMarked
package io.kvrelay.engine.ingest;

import org.jspecify.annotations.NullMarked;
