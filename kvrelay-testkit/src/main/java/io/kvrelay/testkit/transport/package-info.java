/**
 * For those who write or test a transport: the suite that every transport passes, and the pieces it
 * is made of.
 */
@NullMarked
package io.kvrelay.testkit.transport;

import org.jspecify.annotations.NullMarked;
