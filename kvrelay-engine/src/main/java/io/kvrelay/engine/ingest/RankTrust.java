package io.kvrelay.engine.ingest;

import io.kvrelay.api.events.SourceTrust;
import org.jspecify.annotations.Nullable;

/**
 * What the pool's picture of one active source is worth: the worst of what the provider says, of
 * whether live events come at all, and of what ingest knows to be missing. Belongs to the rank's
 * turn.
 *
 * <p>A loss stays until a state is known to be whole again: a dump, an answer to a full request, or
 * a clear, after which the rank holds nothing and that is the truth.
 */
final class RankTrust {
  private TrustReport provider = TrustReport.EXACT;
  private @Nullable TrustReport subscription;
  private @Nullable TrustReport incomplete;
  private @Nullable TrustReport unanswered;

  /** A source is taken up. */
  void open(TrustReport byProvider, @Nullable String subscriptionProblem) {
    provider = byProvider;
    subscription(subscriptionProblem);
  }

  void provider(TrustReport report) {
    provider = report;
  }

  void subscription(@Nullable String problem) {
    subscription = problem == null ? null : TrustReport.unknown(problem);
  }

  /** Something is missing that only a whole state brings back. */
  void lost(String reason) {
    incomplete = TrustReport.degraded(reason);
  }

  /** Something is missing that the next history brings back. */
  void unanswered(String reason) {
    unanswered = TrustReport.degraded(reason);
  }

  /** History was applied. */
  void answered() {
    unanswered = null;
  }

  /** The whole state is known. */
  void whole() {
    incomplete = null;
    unanswered = null;
  }

  /** Whether nothing is missing that only a whole state would bring back. */
  boolean isWhole() {
    return incomplete == null;
  }

  boolean isReachable() {
    return reach().level() != SourceTrust.UNKNOWN;
  }

  private TrustReport reach() {
    TrustReport problem = subscription;
    return problem == null ? provider : problem.worse(provider);
  }

  /** What holds now, given what is under way; allocates nothing. */
  TrustReport report(@Nullable TrustReport underWay) {
    TrustReport own = TrustReport.EXACT;
    if (incomplete != null) {
      own = incomplete;
    } else if (underWay != null) {
      own = underWay;
    } else if (unanswered != null) {
      own = unanswered;
    }
    return reach().worse(own);
  }
}
