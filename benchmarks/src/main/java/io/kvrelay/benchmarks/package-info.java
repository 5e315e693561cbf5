/** What {@code benchmarks/run} runs. */
@NullMarked
package io.kvrelay.benchmarks;

import org.jspecify.annotations.NullMarked;
