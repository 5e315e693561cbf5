package io.kvrelay.api;

import org.jspecify.annotations.Nullable;

/**
 * An entry of a complete snapshot that this version must not use. Its neighbours stay usable; its
 * own earlier state does not.
 *
 * @param poolId the pool it speaks of, or null if that is not known or the entry is keyed otherwise
 * @param key what is known of its key, for people
 * @param unsupported true if a newer version may understand it, false if it is malformed
 * @param detail what is wrong, naming the field and the value
 */
public record QuarantinedEntry(
    @Nullable PoolId poolId, String key, boolean unsupported, String detail) {}
