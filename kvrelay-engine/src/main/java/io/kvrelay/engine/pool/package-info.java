/**
 * The producer of one pool: exact ownership, the filter that projects it, the dirty window, and the
 * actor that publishes. Sources of the rules: {@code docs/producer.md}.
 */
@NullMarked
package io.kvrelay.engine.pool;

import org.jspecify.annotations.NullMarked;
