/** What {@code bin/kvrelay} runs. */
@NullMarked
package io.kvrelay.cli;

import org.jspecify.annotations.NullMarked;
