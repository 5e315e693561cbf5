/**
 * The wire contract {@code dynamo.kvrelay.v1}: a server that exports any publication source under
 * {@code grpc://HOST:PORT}, a client that mirrors a remote one, and the mapping and validation of
 * wire messages for those who speak the contract themselves.
 */
@NullMarked
package io.kvrelay.transport.grpc;

import org.jspecify.annotations.NullMarked;
