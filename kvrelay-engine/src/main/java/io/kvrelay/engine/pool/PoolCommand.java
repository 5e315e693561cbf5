package io.kvrelay.engine.pool;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.Member;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** What waits in a pool's mailbox. */
abstract sealed class PoolCommand {
  /** Block permits it holds from admission until it was processed. */
  int cost() {
    return 0;
  }

  /** It will never be processed. */
  abstract void refuse(RuntimeException reason);

  /** One event of one publisher. Nobody waits for its effect. */
  static final class Event extends PoolCommand {
    final KvEvent event;
    final long publisherId;

    Event(KvEvent event, long publisherId) {
      this.event = event;
      this.publisherId = publisherId;
    }

    @Override
    int cost() {
      return costOf(Math.max(1, event.length()));
    }

    @Override
    void refuse(RuntimeException reason) {
      // Admission was all that it promised.
    }
  }

  /** A command whose effect somebody waits for. */
  abstract static sealed class Awaited<T> extends PoolCommand {
    final CompletableFuture<T> done = new CompletableFuture<>();

    @Override
    void refuse(RuntimeException reason) {
      done.completeExceptionally(reason);
    }
  }

  /** Publishes what is pending. */
  static final class Flush extends Awaited<Long> {}

  /** Copies the filter. */
  static final class CopyFilter extends Awaited<long[]> {}

  /** Removes all of a rank. */
  static final class Reset extends Awaited<Void> {
    final Member member;

    Reset(Member member) {
      this.member = member;
    }
  }

  /** Removes all ranks of a worker. */
  static final class RemoveWorker extends Awaited<Void> {
    final long workerId;

    RemoveWorker(long workerId) {
      this.workerId = workerId;
    }
  }

  /** Replaces ranks. Takes the replacements over: who made them cannot push to them any more. */
  static final class Replace extends Awaited<Void> {
    final Map<Member, RankReplacement> replacements;
    private final int cost;

    Replace(Map<Member, RankReplacement> replacements) {
      this.replacements = Map.copyOf(replacements);
      RankReplacement.handOver(this.replacements);
      long sum = this.replacements.values().stream().mapToLong(RankReplacement::cost).sum();
      this.cost = costOf(Math.max(1, sum));
    }

    @Override
    int cost() {
      return cost;
    }
  }

  /** Takes a barrier snapshot for a new lease. */
  static final class Subscribe extends Awaited<PoolSnapshot> {
    final LaneLease lease;

    Subscribe(LaneLease lease) {
      this.lease = lease;
    }
  }

  /** Retires a lease. */
  static final class Retire extends Awaited<Void> {
    final LaneLease lease;
    final boolean stalled;

    Retire(LaneLease lease, boolean stalled) {
      this.lease = lease;
      this.stalled = stalled;
    }
  }

  private static int costOf(long blocks) {
    return (int) Math.min(AdmissionGate.PERMITS, blocks);
  }
}
