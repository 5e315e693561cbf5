/**
 * From tokens to the canonical name of a prefix: XXH3, local and sequence hashes with their salts,
 * multimodal objects and placeholder tokens, and the digests that identify a pool. See {@code
 * docs/hashing.md}.
 */
@NullMarked
package io.kvrelay.engine.hash;

import org.jspecify.annotations.NullMarked;
