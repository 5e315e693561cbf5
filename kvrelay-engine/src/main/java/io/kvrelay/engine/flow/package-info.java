/** What the rooms that follow streams of the deployment have in common. */
@NullMarked
package io.kvrelay.engine.flow;

import org.jspecify.annotations.NullMarked;
