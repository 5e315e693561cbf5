package io.kvrelay.engine.pool;

/**
 * What one generation of a pool has done and holds.
 *
 * @param pool the exact state's numbers
 * @param appliedEvents events taken from the mailbox
 * @param droppedEvents events that were not applied because the pool ended: a fence discarded them,
 *     or they were not admitted any more, which their stages told
 * @param faults events that became a fault
 * @param lastSequence sequence of the latest publication (unsigned)
 * @param leased whether a lease is current
 * @param publishedBatches batches handed to a lease
 * @param batchesWithoutLease batches dropped because there was no lease
 * @param refusedBatches batches dropped because the publisher was fenced
 * @param undeliveredBatches batches whose hand-off failed or had no number
 * @param queuedCommands commands admitted and not yet processed, of {@code 256}
 * @param usedPermits block permits that they hold, of {@code 65,536}
 * @param waitingCommands commands that wait for admission
 */
public record PoolActorStatistics(
    PoolStatistics pool,
    long appliedEvents,
    long droppedEvents,
    long faults,
    long lastSequence,
    boolean leased,
    long publishedBatches,
    long batchesWithoutLease,
    long refusedBatches,
    long undeliveredBatches,
    int queuedCommands,
    int usedPermits,
    int waitingCommands) {}
