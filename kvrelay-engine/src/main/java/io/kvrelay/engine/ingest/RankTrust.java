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
  private @Nullable String subscriptionProblem;
  private @Nullable String incomplete;
  private @Nullable String unanswered;

  /** A source is taken up. */
  void open(TrustReport byProvider, @Nullable String subscription) {
    provider = byProvider;
    subscriptionProblem = subscription;
  }

  void provider(TrustReport report) {
    provider = report;
  }

  void subscription(@Nullable String problem) {
    subscriptionProblem = problem;
  }

  /** Something is missing that only a whole state brings back. */
  void lost(String reason) {
    incomplete = reason;
  }

  /** Something is missing that the next history brings back. */
  void unanswered(String reason) {
    unanswered = reason;
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

  boolean isReachable() {
    return reach().level() != SourceTrust.UNKNOWN;
  }

  private TrustReport reach() {
    String problem = subscriptionProblem;
    return problem == null ? provider : TrustReport.unknown(problem).worse(provider);
  }

  /** What holds now, given what is under way. */
  TrustReport report(@Nullable String underWay) {
    TrustReport own = TrustReport.EXACT;
    if (incomplete != null) {
      own = TrustReport.degraded(incomplete);
    } else if (underWay != null) {
      own = TrustReport.degraded(underWay);
    } else if (unanswered != null) {
      own = TrustReport.degraded(unanswered);
    }
    return reach().worse(own);
  }
}
