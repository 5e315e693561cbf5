/**
 * The packed cuckoo filter (CKF): addressing, bucket words, sizing, and the producer's mutable
 * filter.
 *
 * <p>A filter is one {@code long[]}: a word is a bucket of four 16-bit fingerprints. {@link
 * io.kvrelay.engine.ckf.CkfAddressing} says where a sequence hash may lie, {@link
 * io.kvrelay.engine.ckf.CkfBuckets} reads and writes one word, and {@link
 * io.kvrelay.engine.ckf.CkfFilter} is the one writer of a producer's words. Producer and view share
 * the first two, so that a hash is found in the view exactly where the producer put it.
 */
@NullMarked
package io.kvrelay.engine.ckf;

import org.jspecify.annotations.NullMarked;
