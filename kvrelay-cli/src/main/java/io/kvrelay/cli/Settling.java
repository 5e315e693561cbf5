package io.kvrelay.cli;

import io.kvrelay.engine.view.Attachment;
import io.kvrelay.engine.view.PlaneKind;
import io.kvrelay.engine.view.PlaneStatus;
import io.kvrelay.engine.view.SourceState;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Waits until a view is worth asking: every catalogued pool is installed, readiness and load have
 * arrived, and nothing has moved for a while. One thread.
 */
final class Settling {
  static final Duration QUIET = Duration.ofSeconds(1);
  private static final long POLL_MILLIS = 20;

  private final List<Attachment> attachments;
  private final LongSupplier nanoTime;
  private Map<String, OptionalLong> last = Map.of();
  private long changedNanos;

  Settling(List<Attachment> attachments, LongSupplier nanoTime) {
    this.attachments = attachments;
    this.nanoTime = nanoTime;
    this.changedNanos = nanoTime.getAsLong();
  }

  /**
   * Waits.
   *
   * @param limit the longest time
   * @return true once all is quiet; false if the time is over and all is there but still moves
   * @throws FailureException if the time is over and something is missing, or a relay was lost
   */
  boolean await(Duration limit) throws InterruptedException {
    long end = nanoTime.getAsLong() + limit.toNanos();
    while (true) {
      String missing = look();
      long now = nanoTime.getAsLong();
      if (missing == null && now - changedNanos >= QUIET.toNanos()) {
        return true;
      }
      if (now - end >= 0) {
        if (missing != null) {
          throw new FailureException(missing + ", after " + limit.toSeconds() + " s");
        }
        return false;
      }
      TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
    }
  }

  /** What is missing, or null. Notes whether something has moved. */
  @Nullable String look() {
    Map<String, OptionalLong> sequences = new LinkedHashMap<>();
    String missing = null;
    for (Attachment attachment : attachments) {
      SourceState state = attachment.state();
      if (attachment.detached().toCompletableFuture().isDone()) {
        throw new FailureException(attachment.label() + ": the relay was lost");
      }
      for (SourceState.PoolState pool : state.pools()) {
        sequences.put(pool.producer(), pool.installedSequence());
      }
      missing = missing == null ? missing(state) : missing;
    }
    if (!sequences.equals(last)) {
      last = sequences;
      changedNanos = nanoTime.getAsLong();
    }
    return missing;
  }

  private static @Nullable String missing(SourceState state) {
    for (PlaneKind kind : List.of(PlaneKind.CATALOG, PlaneKind.READINESS, PlaneKind.LOAD)) {
      SourceState.PlaneState plane = state.planes().get(kind);
      if (plane == null) {
        return state.label() + ": not connected, " + state.connection();
      }
      boolean settled =
          plane.status() == PlaneStatus.CURRENT
              || (kind != PlaneKind.CATALOG && plane.status() == PlaneStatus.STOPPED);
      if (!settled) {
        return state.label() + ": no " + kind + ", " + plane.status() + " " + plane.reason();
      }
    }
    if (state.pools().isEmpty()) {
      return state.label() + ": no pool in its catalog";
    }
    for (SourceState.PoolState pool : state.pools()) {
      if (pool.installedSequence().isEmpty()) {
        SourceState.PlaneState replica = pool.replica();
        String where = replica.status() + " " + replica.reason();
        return state.label() + ": pool " + pool.poolId() + " is not installed, " + where;
      }
    }
    return null;
  }
}
