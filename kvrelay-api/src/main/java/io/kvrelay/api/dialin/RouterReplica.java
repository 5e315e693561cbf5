package io.kvrelay.api.dialin;

import java.net.URI;

/**
 * A router that wants a pool's publication.
 *
 * @param address where it listens
 */
public record RouterReplica(URI address) {}
