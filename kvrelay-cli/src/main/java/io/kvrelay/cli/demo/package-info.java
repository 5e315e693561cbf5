/**
 * The demo: data centers full of simulated engines, a relay in each, and a router that sees them
 * only through what the relays publish.
 */
@NullMarked
package io.kvrelay.cli.demo;

import org.jspecify.annotations.NullMarked;
