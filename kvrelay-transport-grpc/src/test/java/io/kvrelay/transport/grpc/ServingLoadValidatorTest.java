package io.kvrelay.transport.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.transport.grpc.WireFault.Kind;
import io.kvrelay.transport.grpc.v1.DataStatus;
import io.kvrelay.transport.grpc.v1.LoadView;
import io.kvrelay.transport.grpc.v1.ModelDeploymentStatus;
import io.kvrelay.transport.grpc.v1.ModelServingLoad;
import io.kvrelay.transport.grpc.v1.PoolDeploymentStatus;
import io.kvrelay.transport.grpc.v1.PoolServingLoad;
import io.kvrelay.transport.grpc.v1.RelayIdentity;
import io.kvrelay.transport.grpc.v1.RequestLifecycleStats;
import io.kvrelay.transport.grpc.v1.ServingLoadUpdate;
import io.kvrelay.transport.grpc.v1.TokenLoadStats;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ServingLoadValidatorTest {
  private static PoolServingLoad pool(Consumer<PoolServingLoad.Builder> change) {
    PoolServingLoad.Builder builder =
        PoolServingLoad.newBuilder()
            .setProducer(Messages.producer(p -> {}))
            .setLoad(
                LoadView.newBuilder()
                    .setTokens(
                        TokenLoadStats.newBuilder()
                            .setActivePrefillTokens(0)
                            .setActiveDecodeBlocks(3))
                    .setStatus(DataStatus.DATA_STATUS_COMPLETE))
            .setDeployment(PoolDeploymentStatus.getDefaultInstance());
    change.accept(builder);
    return builder.build();
  }

  private static ModelServingLoad model(Consumer<ModelServingLoad.Builder> change) {
    ModelServingLoad.Builder builder =
        ModelServingLoad.newBuilder()
            .setNamespace("ns")
            .setCanonicalModelId("llama")
            .setLoad(
                LoadView.newBuilder()
                    .setRequests(
                        RequestLifecycleStats.newBuilder()
                            .setRequestsAwaitingFirstToken(0)
                            .setRequestsGenerating(0))
                    .setTokens(
                        TokenLoadStats.newBuilder()
                            .setAwaitingFirstTokenInputTokens(0)
                            .setInflightInputTokens(0)
                            .setInputTokensTotal(0)
                            .setOutputTokensTotal(0))
                    .setStatus(DataStatus.DATA_STATUS_COMPLETE))
            .setDeployment(
                ModelDeploymentStatus.newBuilder()
                    .addServingPools(KvRelayWire.toWire(Fixtures.pool(0x11)))
                    .addServingPools(KvRelayWire.toWire(Fixtures.pool(0x21))));
    change.accept(builder);
    return builder.build();
  }

  private static ServingLoadUpdate window(Consumer<ServingLoadUpdate.Builder> change) {
    ServingLoadUpdate.Builder builder =
        ServingLoadUpdate.newBuilder()
            .setContractMarker(KvRelayWire.CONTRACT_MARKER)
            .setProtocolVersion(1)
            .setRelay(RelayIdentity.getDefaultInstance())
            .addPools(pool(p -> {}))
            .addModels(model(m -> {}));
    change.accept(builder);
    return builder.build();
  }

  @Test
  void validMessagesHaveNoFaultAndRoundTrip() throws Exception {
    assertThat(ServingLoadValidator.pool(pool(p -> {}))).isNull();
    assertThat(ServingLoadValidator.model(model(m -> {}))).isNull();
    assertThat(ServingLoadValidator.window(window(w -> {}))).isNull();
    assertThat(ServingLoadUpdate.parseFrom(window(w -> {}).toByteArray()))
        .isEqualTo(window(w -> {}));
  }

  static List<Arguments> pools() {
    Kind presence = Kind.LOAD_VIEW_FIELD;
    return List.of(
        rule(Kind.MISSING_FIELD, false, PoolServingLoad.Builder::clearProducer),
        rule(
            Kind.ZERO_LAYOUT_GENERATION, false, p -> p.getProducerBuilder().setLayoutGeneration(0)),
        rule(Kind.MISSING_FIELD, false, PoolServingLoad.Builder::clearLoad),
        rule(Kind.DATA_STATUS, false, p -> p.getLoadBuilder().setStatusValue(0)),
        rule(Kind.DATA_STATUS, true, p -> p.getLoadBuilder().setStatusValue(9)),
        rule(Kind.DATA_STATUS, true, p -> p.getLoadBuilder().setStatusValue(-1)),
        rule(presence, false, p -> p.getLoadBuilder().getRequestsBuilder()),
        rule(presence, false, p -> p.getLoadBuilder().clearTokens()),
        rule(presence, false, p -> tokens(p).clearActivePrefillTokens()),
        rule(presence, false, p -> tokens(p).clearActiveDecodeBlocks()),
        rule(presence, false, p -> p.getLoadBuilder().setStatusValue(2)),
        rule(presence, false, p -> tokens(p).setAwaitingFirstTokenInputTokens(0)),
        rule(presence, false, p -> tokens(p).setInflightInputTokens(0)),
        rule(presence, false, p -> tokens(p).setInputTokensTotal(0)),
        rule(presence, false, p -> tokens(p).setOutputTokensTotal(0)),
        rule(Kind.MISSING_FIELD, false, PoolServingLoad.Builder::clearDeployment));
  }

  private static TokenLoadStats.Builder tokens(PoolServingLoad.Builder pool) {
    return pool.getLoadBuilder().getTokensBuilder();
  }

  private static Arguments rule(
      Kind kind, boolean unsupported, Consumer<PoolServingLoad.Builder> change) {
    return Arguments.of(kind, unsupported, change);
  }

  @ParameterizedTest
  @MethodSource("pools")
  void eachPoolRule(Kind kind, boolean unsupported, Consumer<PoolServingLoad.Builder> change) {
    WireFault fault = ServingLoadValidator.pool(pool(change));
    assertThat(fault).isNotNull();
    assertThat(fault.kind()).as(fault.describe()).isEqualTo(kind);
    assertThat(fault.unsupported()).isEqualTo(unsupported);
  }

  static List<Arguments> models() {
    Kind presence = Kind.LOAD_VIEW_FIELD;
    return List.of(
        modelRule(Kind.INVALID_TEXT, false, ModelServingLoad.Builder::clearNamespace),
        modelRule(Kind.INVALID_TEXT, false, m -> m.setCanonicalModelId(" ")),
        modelRule(Kind.MISSING_FIELD, false, ModelServingLoad.Builder::clearLoad),
        modelRule(Kind.DATA_STATUS, true, m -> m.getLoadBuilder().setStatusValue(4)),
        modelRule(presence, false, m -> m.getLoadBuilder().clearRequests()),
        modelRule(presence, false, m -> requests(m).clearRequestsAwaitingFirstToken()),
        modelRule(presence, false, m -> requests(m).clearRequestsGenerating()),
        modelRule(presence, false, m -> m.getLoadBuilder().clearTokens()),
        modelRule(presence, false, m -> tokens(m).clearAwaitingFirstTokenInputTokens()),
        modelRule(presence, false, m -> tokens(m).clearInflightInputTokens()),
        modelRule(presence, false, m -> tokens(m).clearInputTokensTotal()),
        modelRule(presence, false, m -> tokens(m).clearOutputTokensTotal()),
        modelRule(presence, false, m -> tokens(m).setActivePrefillTokens(1)),
        modelRule(presence, false, m -> tokens(m).setActiveDecodeBlocks(1)),
        modelRule(presence, false, m -> m.getLoadBuilder().setStatusValue(3)),
        modelRule(Kind.MISSING_FIELD, false, ModelServingLoad.Builder::clearDeployment),
        modelRule(
            Kind.POOL_IDENTITY_VERSION,
            true,
            m -> m.getDeploymentBuilder().getServingPoolsBuilder(1).setIdentityVersion(2)),
        modelRule(
            Kind.DUPLICATE_SERVING_POOL,
            false,
            m ->
                m.getDeploymentBuilder().addServingPools(KvRelayWire.toWire(Fixtures.pool(0x11)))));
  }

  private static TokenLoadStats.Builder tokens(ModelServingLoad.Builder model) {
    return model.getLoadBuilder().getTokensBuilder();
  }

  private static RequestLifecycleStats.Builder requests(ModelServingLoad.Builder model) {
    return model.getLoadBuilder().getRequestsBuilder();
  }

  private static Arguments modelRule(
      Kind kind, boolean unsupported, Consumer<ModelServingLoad.Builder> change) {
    return Arguments.of(kind, unsupported, change);
  }

  @ParameterizedTest
  @MethodSource("models")
  void eachModelRule(Kind kind, boolean unsupported, Consumer<ModelServingLoad.Builder> change) {
    WireFault fault = ServingLoadValidator.model(model(change));
    assertThat(fault).isNotNull();
    assertThat(fault.kind()).as(fault.describe()).isEqualTo(kind);
    assertThat(fault.unsupported()).isEqualTo(unsupported);
  }

  @Test
  void aWindowToleratesUnsupportedKeysAndNothingElse() {
    PoolServingLoad newer =
        pool(p -> p.getProducerBuilder().getPoolIdBuilder().setIdentityVersion(2));
    assertThat(ServingLoadValidator.window(window(w -> w.addPools(newer).addPools(newer))))
        .isNull();
    assertThat(ServingLoadValidator.window(window(w -> w.addPools(pool(p -> {})))).kind())
        .isEqualTo(Kind.DUPLICATE_LOAD_POOL);
    assertThat(
            ServingLoadValidator.window(
                    window(w -> w.addPools(pool(p -> p.getProducerBuilder().clearCkfFormat()))))
                .kind())
        .isEqualTo(Kind.MISSING_FIELD);
    assertThat(ServingLoadValidator.window(window(w -> w.addModels(model(m -> {})))).kind())
        .isEqualTo(Kind.DUPLICATE_LOAD_MODEL);
    assertThat(ServingLoadValidator.window(window(ServingLoadUpdate.Builder::clearRelay)).kind())
        .isEqualTo(Kind.MISSING_FIELD);
    assertThat(ServingLoadValidator.window(window(w -> w.setContractMarker(0).clearRelay())).kind())
        .isEqualTo(Kind.CONTRACT_MARKER);
  }
}
