/**
 * The vocabulary of kvrelay: identities, KV events, catalog, readiness and load values, publication
 * frames, errors, and the two service interfaces everything else meets at: {@link
 * io.kvrelay.api.RelayPublicationSource} and {@link io.kvrelay.api.transport.RelayTransport}.
 *
 * <p>Values are immutable records. Unless a type says otherwise no parameter, component or return
 * value is {@code null}, and every value may be shared between threads. 64-bit identifiers,
 * sequences, revisions and hashes are unsigned and carried in {@code long}; compare them with
 * {@link java.lang.Long#compareUnsigned} and print them with {@link
 * java.lang.Long#toUnsignedString(long)}.
 */
@NullMarked
package io.kvrelay.api;

import org.jspecify.annotations.NullMarked;
