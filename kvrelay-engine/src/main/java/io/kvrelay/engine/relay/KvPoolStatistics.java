package io.kvrelay.engine.relay;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.pool.PoolActorStatistics;

/**
 * What one pool holds now and has done so far.
 *
 * @param producer the generation
 * @param actor the exact state's and the publisher's numbers
 * @param rejectedEvents events refused because their publisher had drifted apart
 * @param rejectedSources publishers that had
 * @param recoveredRanks ranks emptied because memory could not be reserved for an event
 */
public record KvPoolStatistics(
    ProducerIdentity producer,
    PoolActorStatistics actor,
    long rejectedEvents,
    long rejectedSources,
    long recoveredRanks) {}
