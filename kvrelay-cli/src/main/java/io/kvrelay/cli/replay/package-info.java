/** Recorded events: the two file forms, and their way through a pool. */
@NullMarked
package io.kvrelay.cli.replay;

import org.jspecify.annotations.NullMarked;
