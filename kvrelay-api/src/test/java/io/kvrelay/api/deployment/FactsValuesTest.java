package io.kvrelay.api.deployment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.WorkerRole;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FactsValuesTest {
  private static final EndpointId ENDPOINT = EndpointId.parse("ns.comp.ep");

  @Test
  void aPrefillModelWithoutARoleIsAPrefillWorkerThatNeedsADecodeWorker() {
    ModelCard card = ModelCard.builder(ENDPOINT, 1, "m").modelTypes("Prefill").build();

    assertThat(card.normalized().role()).isEqualTo(WorkerRole.PREFILL);
    assertThat(card.normalized().needs()).isEqualTo(List.of(List.of(WorkerRole.DECODE)));
  }

  @Test
  void statedNeedsAndRolesAreKept() {
    ModelCard needy =
        ModelCard.builder(ENDPOINT, 1, "m").modelTypes("prefill").need(WorkerRole.ENCODE).build();
    ModelCard typed =
        ModelCard.builder(ENDPOINT, 1, "m").modelTypes("prefill").role(WorkerRole.DECODE).build();

    assertThat(needy.normalized().role()).isEqualTo(WorkerRole.PREFILL);
    assertThat(needy.normalized().needs()).isEqualTo(List.of(List.of(WorkerRole.ENCODE)));
    assertThat(typed.normalized()).isSameAs(typed);
    assertThat(ModelCard.builder(ENDPOINT, 1, "m").modelTypes("chat").build().normalized().role())
        .isNull();
  }

  @Test
  void aCardSurvivesItsBuilder() {
    ModelCard card =
        ModelCard.builder(ENDPOINT, -1L, "served")
            .suffix("a")
            .sourcePath("path")
            .kvBlockSize(64)
            .explicitSemantics(Map.of("k", "v"))
            .explicitScope(Map.of("s", "t"))
            .modelTypes("Chat", "chat")
            .role(WorkerRole.AGGREGATED)
            .need(WorkerRole.ENCODE)
            .aliases("x")
            .lora(new ModelCard.Lora("runtime", OptionalInt.of(4)))
            .runtime(RuntimeConfig.ranks(2, 3, 4).withTaints(Set.of("t")))
            .build();

    assertThat(card.toBuilder().build()).isEqualTo(card);
    assertThat(card.modelTypes()).containsExactly("chat");
  }

  @Test
  void legacyIsNoDeclaredRole() {
    assertThatThrownBy(() -> ModelCard.builder(ENDPOINT, 1, "m").role(WorkerRole.LEGACY).build())
        .hasMessageContaining("role = LEGACY");
    assertThatThrownBy(() -> ModelCard.builder(ENDPOINT, 1, "m").need(WorkerRole.LEGACY).build())
        .hasMessageContaining("needs = LEGACY");
  }

  @Test
  void rankNumbersMustBeEnumerable() {
    assertThat(RuntimeConfig.ranks(0, 4096, 1).hasValidRanks()).isTrue();
    assertThat(RuntimeConfig.ranks(0, 4097, 1).hasValidRanks()).isFalse();
    assertThat(RuntimeConfig.ranks(0, 0, 1).hasValidRanks()).isFalse();
    assertThat(RuntimeConfig.ranks(-2, 1, 1).hasValidRanks()).isTrue();
    assertThat(RuntimeConfig.ranks(-2, 2, 1).hasValidRanks()).isFalse();
    assertThat(RuntimeConfig.ranks(0, -1, 1).hasValidRanks()).isFalse();
  }

  @Test
  void theLiveAddressIsNoPartOfADescriptor() {
    EventSourceAdvertisement source =
        new EventSourceAdvertisement(ENDPOINT, new Member(1, 0), 7, "target", "a");

    assertThat(
            source.describesTheSameAs(
                new EventSourceAdvertisement(ENDPOINT, new Member(1, 0), 7, "target", "b")))
        .isTrue();
    assertThat(
            source.describesTheSameAs(
                new EventSourceAdvertisement(ENDPOINT, new Member(1, 0), 7, null, "a")))
        .isFalse();
    assertThat(
            source.describesTheSameAs(
                new EventSourceAdvertisement(ENDPOINT, new Member(1, 1), 7, "target", "a")))
        .isFalse();
  }

  @Test
  void onlyASelectableRankHasASource() {
    EventSourceAdvertisement live =
        new EventSourceAdvertisement(ENDPOINT, new Member(1, 0), 7, null, null);

    assertThat(RankSource.of(live).status()).isEqualTo(SourceStatus.ACTIVE_LIVE_ONLY);
    assertThatThrownBy(() -> new RankSource(SourceStatus.AMBIGUOUS, live))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> RankSource.none(SourceStatus.ACTIVE_RECOVERABLE))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
