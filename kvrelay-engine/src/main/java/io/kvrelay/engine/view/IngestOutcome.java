package io.kvrelay.engine.view;

import org.jspecify.annotations.Nullable;

/**
 * A result with what it is about.
 *
 * @param result the result
 * @param installedSequence the installed sequence (unsigned); only meaningful where the result says
 *     the lane is ready
 * @param fault what was wrong, or null unless the lane was deactivated
 * @param disposition where it failed, or null unless the lane was deactivated
 */
record IngestOutcome(
    IngestResult result,
    long installedSequence,
    @Nullable LaneFault fault,
    @Nullable FailurePoint disposition) {}
