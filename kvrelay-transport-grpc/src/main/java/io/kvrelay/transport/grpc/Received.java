package io.kvrelay.transport.grpc;

import org.jspecify.annotations.Nullable;

/**
 * What arrived: a message, or why its bytes are none. Marshallers report malformed bytes as a value
 * because a gRPC marshaller that throws ends its call with a status of the library's choosing.
 */
record Received<T>(@Nullable T message, @Nullable Exception fault) {}
