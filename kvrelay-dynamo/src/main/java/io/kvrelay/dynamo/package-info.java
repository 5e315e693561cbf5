/**
 * A running Dynamo deployment as a relay's provider: model cards, workers and event sources from
 * its discovery, events and load from its event plane, history from its workers. {@link
 * io.kvrelay.dynamo.DynamoDeployment} is the way in; {@code docs/dynamo.md} says what is read and
 * how.
 */
@NullMarked
package io.kvrelay.dynamo;

import org.jspecify.annotations.NullMarked;
