/**
 * CBI1, the payload of publication frames: absolute images of a filter's buckets, as snapshot
 * chunks and deltas. The layout and the order of the checks are in {@code docs/cbi1.md}.
 */
@NullMarked
package io.kvrelay.engine.cbi1;

import org.jspecify.annotations.NullMarked;
