/**
 * The event source service interface: how a relay reads the KV-cache events of its workers, and how
 * it asks for what it missed.
 */
@NullMarked
package io.kvrelay.api.events;

import org.jspecify.annotations.NullMarked;
