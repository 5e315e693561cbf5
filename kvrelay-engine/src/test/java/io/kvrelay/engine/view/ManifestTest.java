package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.CONSUMER;
import static io.kvrelay.engine.view.LaneFixtures.DOMAIN;
import static io.kvrelay.engine.view.LaneFixtures.FORMAT;
import static io.kvrelay.engine.view.LaneFixtures.domain;
import static io.kvrelay.engine.view.LaneFixtures.errorOf;
import static io.kvrelay.engine.view.LaneFixtures.pool;
import static io.kvrelay.engine.view.LaneFixtures.pools;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.DcId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.PoolId;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

class ManifestTest {

  @Test
  void aSecondDomainIsRefusedAndTheLaneIsNamed() {
    PoolId foreign = new PoolId(domain(9, IdentitySource.EXPLICIT), new DcId(2));
    assertThatThrownBy(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT, pool(1), foreign))
        .isInstanceOfSatisfying(
            LaneException.class,
            e -> assertThat(e.error()).isEqualTo(LaneError.MIXED_INDEXER_DOMAIN))
        .hasMessageContaining("lane 1");
  }

  @Test
  void theSourceOfADigestBelongsToTheDomain() {
    PoolId derived = new PoolId(domain(1, IdentitySource.DEFAULT_DERIVED), new DcId(2));
    assertThat(errorOf(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT, pool(1), derived)))
        .isEqualTo(LaneError.MIXED_INDEXER_DOMAIN);
  }

  @Test
  void aRepeatedPoolIsRefusedAsAPoolBeforeItsDataCenterIs() {
    assertThat(errorOf(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT, pool(1), null, pool(1))))
        .isEqualTo(LaneError.DUPLICATE_POOL);
  }

  @Test
  void theLowestFaultyLaneIsReported() {
    PoolId foreign = new PoolId(domain(9, IdentitySource.EXPLICIT), new DcId(2));
    assertThat(errorOf(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT, pool(1), pool(1), foreign)))
        .isEqualTo(LaneError.DUPLICATE_POOL);
    assertThat(errorOf(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT, pool(1), foreign, pool(1))))
        .isEqualTo(LaneError.MIXED_INDEXER_DOMAIN);
  }

  @Test
  void aFixedManifestNeedsALane() {
    assertThat(errorOf(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT, null, null)))
        .isEqualTo(LaneError.NO_CONFIGURED_LANES);
    assertThat(errorOf(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT)))
        .isEqualTo(LaneError.INVALID_LANE);
    assertThat(errorOf(() -> Manifest.of(CONSUMER, DOMAIN, FORMAT, pools(65))))
        .isEqualTo(LaneError.INVALID_LANE);
  }

  @Test
  void freeLanesStayOutOfTheMask() {
    Manifest manifest = Manifest.of(CONSUMER, DOMAIN, FORMAT, pool(1), null, pool(3), null);
    assertThat(manifest.configuredLanes()).isEqualTo(0b0101);
    assertThat(manifest.capacity()).isEqualTo(4);
    assertThat(manifest.laneOf(pool(3))).isEqualTo(2);
    assertThat(manifest.laneOf(new DcId(9))).isEqualTo(-1);
  }

  @Test
  void severalDataCentersOfADerivedDomainAreAcceptedWithAWarning() {
    IndexerDomainId derived = domain(1, IdentitySource.DEFAULT_DERIVED);
    PoolId first = new PoolId(derived, new DcId(1));
    PoolId second = new PoolId(derived, new DcId(2));

    List<String> warnings =
        warnings(
            () ->
                assertThat(Manifest.of(CONSUMER, derived, FORMAT, first, second).configuredLanes())
                    .isEqualTo(0b11));
    assertThat(warnings).singleElement().asString().contains("cache_semantics, routing_scope");

    assertThat(warnings(() -> Manifest.of(CONSUMER, derived, FORMAT, first))).isEmpty();
    assertThat(
            warnings(
                () ->
                    Manifest.empty(CONSUMER, derived, FORMAT, 4)
                        .withLane(0, first)
                        .withLane(2, second)))
        .hasSize(1);
  }

  private static List<String> warnings(Runnable action) {
    List<String> messages = new ArrayList<>();
    Handler handler =
        new Handler() {
          @Override
          public void publish(LogRecord logged) {
            messages.add(
                java.text.MessageFormat.format(logged.getMessage(), logged.getParameters()));
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger(Manifest.class.getName());
    boolean parents = logger.getUseParentHandlers();
    logger.setUseParentHandlers(false);
    logger.addHandler(handler);
    try {
      action.run();
    } finally {
      logger.removeHandler(handler);
      logger.setUseParentHandlers(parents);
    }
    return messages;
  }

  @Test
  void lanesBoundLaterAreCheckedAlike() {
    Manifest manifest = Manifest.empty(CONSUMER, DOMAIN, FORMAT, 4).withLane(2, pool(1));
    assertThat(errorOf(() -> manifest.withLane(0, pool(1)))).isEqualTo(LaneError.DUPLICATE_POOL);
    assertThat(
            errorOf(
                () ->
                    manifest.withLane(
                        0, new PoolId(domain(9, IdentitySource.EXPLICIT), new DcId(2)))))
        .isEqualTo(LaneError.MIXED_INDEXER_DOMAIN);
    assertThat(manifest.withoutLane(2).withLane(0, pool(1)).configuredLanes()).isEqualTo(1);
  }
}
