package io.kvrelay.engine.view;

import java.time.Duration;

/**
 * Bounds of an ingestion pool. Durations beyond 292 years are taken for 292 years. Immutable.
 *
 * @param workers serial workers that the lanes are spread over
 * @param queueCapacity commands that wait for one worker, all its lanes together
 * @param controlTimeout how long a control command may wait for a place in the queue, and again for
 *     its answer
 * @param maxOutstandingImages images of one lane that may wait; 0 means one full lane
 * @param maxDirtyToAppliedAge how long an admitted delta may wait to be applied
 */
record IngestionConfig(
    int workers,
    int queueCapacity,
    Duration controlTimeout,
    long maxOutstandingImages,
    Duration maxDirtyToAppliedAge) {
  private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE); // 292 years

  static final IngestionConfig DEFAULT =
      new IngestionConfig(4, 256, Duration.ofSeconds(10), 0, Duration.ofMillis(10));

  /**
   * Checks every value.
   *
   * @throws LaneException naming the value
   */
  IngestionConfig {
    check(workers > 0, LaneError.INVALID_WORKER_COUNT, "workers", workers);
    check(queueCapacity > 0, LaneError.INVALID_QUEUE_CAPACITY, "queueCapacity", queueCapacity);
    check(
        isPositive(controlTimeout),
        LaneError.INVALID_CONTROL_TIMEOUT,
        "controlTimeout",
        controlTimeout);
    check(
        maxOutstandingImages >= 0,
        LaneError.INVALID_OUTSTANDING_IMAGE_BOUND,
        "maxOutstandingImages",
        maxOutstandingImages);
    check(
        isPositive(maxDirtyToAppliedAge),
        LaneError.INVALID_DIRTY_TO_APPLIED_AGE,
        "maxDirtyToAppliedAge",
        maxDirtyToAppliedAge);
    controlTimeout = capped(controlTimeout);
    maxDirtyToAppliedAge = capped(maxDirtyToAppliedAge);
  }

  /** What a clock of nanoseconds can hold: more is for ever as well. */
  private static Duration capped(Duration duration) {
    return duration.compareTo(LONGEST) > 0 ? LONGEST : duration;
  }

  private static boolean isPositive(Duration duration) {
    return !duration.isNegative() && !duration.isZero();
  }

  private static void check(boolean valid, LaneError error, String name, Object value) {
    if (!valid) {
      throw new LaneException(error, name + " = " + value + ": must be positive");
    }
  }

  IngestionConfig withWorkers(int count) {
    return new IngestionConfig(
        count, queueCapacity, controlTimeout, maxOutstandingImages, maxDirtyToAppliedAge);
  }

  IngestionConfig withQueueCapacity(int capacity) {
    return new IngestionConfig(
        workers, capacity, controlTimeout, maxOutstandingImages, maxDirtyToAppliedAge);
  }

  IngestionConfig withControlTimeout(Duration timeout) {
    return new IngestionConfig(
        workers, queueCapacity, timeout, maxOutstandingImages, maxDirtyToAppliedAge);
  }

  /** With an explicit image bound, which has to be positive. */
  IngestionConfig withMaxOutstandingImages(long images) {
    check(images > 0, LaneError.INVALID_OUTSTANDING_IMAGE_BOUND, "maxOutstandingImages", images);
    return new IngestionConfig(
        workers, queueCapacity, controlTimeout, images, maxDirtyToAppliedAge);
  }

  IngestionConfig withMaxDirtyToAppliedAge(Duration age) {
    return new IngestionConfig(workers, queueCapacity, controlTimeout, maxOutstandingImages, age);
  }
}
