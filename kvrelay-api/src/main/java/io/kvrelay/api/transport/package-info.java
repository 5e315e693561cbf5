/**
 * The transport service interface: how a source is exported under a URI and how a URI is connected
 * to.
 */
@NullMarked
package io.kvrelay.api.transport;

import org.jspecify.annotations.NullMarked;
