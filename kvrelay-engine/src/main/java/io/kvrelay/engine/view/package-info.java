/**
 * The consuming half: one table of lanes per indexer domain, the streams that feed them, and the
 * prefix search over them. Source of the rules: {@code docs/view.md}.
 */
@NullMarked
package io.kvrelay.engine.view;

import org.jspecify.annotations.NullMarked;
