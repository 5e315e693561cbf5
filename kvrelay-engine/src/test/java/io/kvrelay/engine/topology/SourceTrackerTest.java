package io.kvrelay.engine.topology;

import static io.kvrelay.engine.topology.Cards.E1;
import static io.kvrelay.engine.topology.Cards.E2;
import static io.kvrelay.engine.topology.Cards.base;
import static io.kvrelay.engine.topology.Cards.source;
import static io.kvrelay.engine.topology.Cards.view;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.Member;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.EndpointSources;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.deployment.SourceStatus;
import java.util.List;
import org.junit.jupiter.api.Test;

class SourceTrackerTest {
  private final SourceTracker tracker = new SourceTracker();
  private final MembershipView oneRank = view(base(E1, 7, "m").build());
  private static final Member RANK = new Member(7, 0);

  private EndpointSources sources(MembershipView view, EventSourceAdvertisement... advertised) {
    return tracker.update(view, List.of(advertised)).get(E1);
  }

  private SourceStatus status(EventSourceAdvertisement... advertised) {
    return sources(oneRank, advertised).ranks().get(RANK).status();
  }

  @Test
  void everyExpectedRankHasAStatusAndNoOther() {
    MembershipView view = view(base(E1, 7, "m").runtime(RuntimeConfig.ranks(2, 3, 1)).build());

    EndpointSources sources = sources(view, source(E1, 7, 3, 11), source(E1, 7, 5, 12));

    assertThat(sources.ranks().keySet())
        .containsExactly(new Member(7, 2), new Member(7, 3), new Member(7, 4));
    assertThat(sources.ranks().get(new Member(7, 2)).status()).isEqualTo(SourceStatus.MISSING);
    assertThat(sources.ranks().get(new Member(7, 3)).status())
        .isEqualTo(SourceStatus.ACTIVE_RECOVERABLE);
    assertThat(sources.hasActiveSource()).isTrue();
    assertThat(tracker.problems().toString()).contains("1 belong to no expected rank");
  }

  @Test
  void aSourceWithoutARecoveryTargetIsLiveOnly() {
    assertThat(status(new EventSourceAdvertisement(E1, RANK, 1, null, null)))
        .isEqualTo(SourceStatus.ACTIVE_LIVE_ONLY);
    assertThat(status()).isEqualTo(SourceStatus.MISSING);
  }

  @Test
  void twoPublishersOfARankAreAmbiguousUntilOneIsGone() {
    assertThat(status(source(E1, 7, 0, 1), source(E1, 7, 0, 2))).isEqualTo(SourceStatus.AMBIGUOUS);
    assertThat(sources(oneRank, source(E1, 7, 0, 2)).ranks().get(RANK).source().publisherId())
        .isEqualTo(2);
  }

  @Test
  void aDescriptorThatChangesUnderOnePublisherIsAmbiguousUntilThePublisherIsGone() {
    EventSourceAdvertisement changed = new EventSourceAdvertisement(E1, RANK, 1, "other", null);

    assertThat(status(source(E1, 7, 0, 1))).isEqualTo(SourceStatus.ACTIVE_RECOVERABLE);
    assertThat(status(changed)).isEqualTo(SourceStatus.AMBIGUOUS);
    assertThat(status(source(E1, 7, 0, 1))).isEqualTo(SourceStatus.AMBIGUOUS);
    assertThat(status()).isEqualTo(SourceStatus.MISSING);
    assertThat(status(changed)).isEqualTo(SourceStatus.ACTIVE_RECOVERABLE);
  }

  @Test
  void aLiveAddressMayChange() {
    assertThat(status(new EventSourceAdvertisement(E1, RANK, 1, "t", "a")))
        .isEqualTo(SourceStatus.ACTIVE_RECOVERABLE);
    assertThat(status(new EventSourceAdvertisement(E1, RANK, 1, "t", "b")))
        .isEqualTo(SourceStatus.ACTIVE_RECOVERABLE);
  }

  @Test
  void aPublisherThatNamesTwoRanksSpeaksForNeither() {
    MembershipView view = view(base(E1, 7, "m").runtime(RuntimeConfig.ranks(0, 2, 1)).build());

    EndpointSources sources = sources(view, source(E1, 7, 0, 1), source(E1, 7, 1, 1));

    assertThat(sources.ranks().values())
        .allSatisfy(rank -> assertThat(rank.status()).isEqualTo(SourceStatus.AMBIGUOUS));
  }

  @Test
  void cardsThatDisagreeOnTheKvStateEndpointMakeEveryRankAmbiguous() {
    MembershipView view =
        view(
            base(E1, 7, "m").build(),
            base(E1, 8, "m").runtime(RuntimeConfig.DEFAULT.withKvStateEndpoint(E2)).build());

    EndpointSources sources = sources(view, source(E1, 7, 0, 1), source(E2, 8, 0, 2));

    assertThat(sources.kvStateEndpoint()).isNull();
    assertThat(sources.ranks().values())
        .allSatisfy(rank -> assertThat(rank.status()).isEqualTo(SourceStatus.AMBIGUOUS));
    assertThat(PoolPlan.of(view.endpoints().get(E1), sources)).isNull();
  }

  @Test
  void anAgreedOverrideIsWhereSourcesAreLookedUp() {
    MembershipView view =
        view(base(E1, 7, "m").runtime(RuntimeConfig.DEFAULT.withKvStateEndpoint(E2)).build());

    EndpointSources sources = sources(view, source(E1, 7, 0, 1), source(E2, 7, 0, 2));

    assertThat(sources.kvStateEndpoint()).isEqualTo(E2);
    assertThat(sources.ranks().get(RANK).source().publisherId()).isEqualTo(2);
  }

  @Test
  void aSuppressedWorkersSourceIsNotRead() {
    MembershipView view =
        view(base(E1, 7, "m").runtime(RuntimeConfig.DEFAULT.withEventsSuppressed(true)).build());

    assertThat(sources(view, source(E1, 7, 0, 1)).ranks().get(RANK).status())
        .isEqualTo(SourceStatus.SUPPRESSED);
  }

  @Test
  void aWorkerWhoseRanksCannotBeEnumeratedHasNoneAndIsNamed() {
    MembershipView view = view(base(E1, 7, "m").runtime(RuntimeConfig.ranks(0, -1, 1)).build());

    assertThat(sources(view, source(E1, 7, 0, 1)).ranks()).isEmpty();
    assertThat(tracker.problems().toString()).contains("dataParallelSize = 4294967295");
  }

  @Test
  void anEndpointHasAPoolOnceARankHasASource() {
    MembershipView encode = view(base(E1, 7, "m").role(WorkerRole.ENCODE).build());
    EndpointMembership member = encode.endpoints().get(E1);

    assertThat(PoolPlan.of(member, sources(encode))).isNull();
    PoolPlan plan = PoolPlan.of(member, sources(encode, source(E1, 7, 0, 1)));
    assertThat(plan.endpoint()).isEqualTo(E1);
    assertThat(plan.kvStateEndpoint()).isEqualTo(E1);
    assertThat(plan.roles()).containsExactly(WorkerRole.ENCODE);
  }
}
