package io.kvrelay.transport.grpc;

/**
 * What a connection has received so far. Counters only grow.
 *
 * @param openStreams streams open now
 * @param messages messages delivered to subscribers
 * @param payloadBytes bytes of delivered filter frames
 * @param refusedMessages messages that violated the contract and ended their stream
 * @param quarantinedEntries entries of snapshots that were unusable, counted each time they came
 * @param endedStreams streams that ended without being asked to
 */
public record GrpcConnectionStatistics(
    int openStreams,
    long messages,
    long payloadBytes,
    long refusedMessages,
    long quarantinedEntries,
    long endedStreams) {}
