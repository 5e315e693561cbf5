/**
 * From one pool's deltas to many subscribers' streams: the registry of pool generations, one hub
 * per generation that encodes each delta once, and the relay's {@link
 * io.kvrelay.api.RelayPublicationSource}. Sources of the rules: {@code docs/publication.md}.
 */
@NullMarked
package io.kvrelay.engine.publication;

import org.jspecify.annotations.NullMarked;
