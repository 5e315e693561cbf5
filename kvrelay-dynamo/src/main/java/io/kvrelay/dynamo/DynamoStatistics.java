package io.kvrelay.dynamo;

/**
 * Counters of a {@link DynamoDeployment}; they only grow.
 *
 * @param snapshots looks at discovery that showed something new
 * @param losses times that discovery could not be read
 * @param malformedRecords values of records that could not be read, each once
 * @param forbiddenChanges values that came in place of one that may not change, ignored
 * @param messages messages of the event plane that were what they claim to be
 * @param malformedMessages messages that were dropped
 * @param skippedSequences messages that publishers sent and that never arrived
 * @param disconnects connections to publishers that broke
 * @param failedSockets sockets for publishers that could not be had, each tried again
 * @param queries questions to workers
 * @param answeredQueries questions that were answered
 * @param failedQueries questions that were not, or were refused, or timed out, or were cancelled
 * @param strangers connections to the door for answers that nobody waited for
 * @param failedAccepts callers at that door that could not be let in, for want of descriptors say
 */
public record DynamoStatistics(
    long snapshots,
    long losses,
    long malformedRecords,
    long forbiddenChanges,
    long messages,
    long malformedMessages,
    long skippedSequences,
    long disconnects,
    long failedSockets,
    long queries,
    long answeredQueries,
    long failedQueries,
    long strangers,
    long failedAccepts) {}
