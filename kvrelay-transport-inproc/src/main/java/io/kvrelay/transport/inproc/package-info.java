/**
 * The in-process transport: scheme {@code inproc}, address {@code inproc:NAME}. It keeps every rule
 * of a transport between processes (admission, limits, heartbeats, load windows, typed errors) and
 * passes frames by reference; {@link io.kvrelay.transport.inproc.InprocFaults} makes it fail on
 * command.
 */
@NullMarked
package io.kvrelay.transport.inproc;

import org.jspecify.annotations.NullMarked;
