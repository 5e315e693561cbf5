package io.kvrelay.engine.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

class HostLoadReportsTest {
  private static final EndpointId ENDPOINT = EndpointId.parse("ns.comp.ep");

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final HostLoadReports reports = new HostLoadReports(runtime.executor());

  private static final class Reader implements Flow.Subscriber<LoadReport> {
    private final List<LoadReport> received = new ArrayList<>();
    private Flow.Subscription subscription;
    private Throwable error;
    private boolean broken;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
    }

    @Override
    public void onNext(LoadReport report) {
      if (broken) {
        throw new IllegalStateException("broken");
      }
      received.add(report);
    }

    @Override
    public void onError(Throwable failure) {
      error = failure;
    }

    @Override
    public void onComplete() {}
  }

  private Reader subscribe(long demand) {
    Reader reader = new Reader();
    reports.reports(ENDPOINT).subscribe(reader);
    runtime.runUntilIdle();
    reader.subscription.request(demand);
    runtime.runUntilIdle();
    return reader;
  }

  private static LoadReport used(long worker, long blocks) {
    return LoadReport.kvUsed(new Member(worker, 0), blocks);
  }

  private void report(LoadReport report) {
    assertThat(reports.report(ENDPOINT, report)).isTrue();
    runtime.runUntilIdle();
  }

  @Test
  void aLateSubscriberGetsTheLatestOfEachRank() {
    report(used(1, 10));
    report(
        new LoadReport(
            new Member(1, 0), OptionalLong.empty(), OptionalLong.of(3), OptionalLong.empty()));
    report(used(1, 11));
    report(used(2, 20));

    assertThat(subscribe(10).received)
        .containsExactly(
            new LoadReport(
                new Member(1, 0), OptionalLong.of(11), OptionalLong.of(3), OptionalLong.empty()),
            used(2, 20));
  }

  @Test
  void aSlowSubscriberMissesValuesInBetweenButNotTheLatest() {
    Reader reader = subscribe(1);
    for (int i = 0; i < 100; i++) {
      report(used(1, i));
    }
    assertThat(reader.received).containsExactly(used(1, 0));
    reader.subscription.request(5);
    runtime.runUntilIdle();
    assertThat(reader.received).containsExactly(used(1, 0), used(1, 99));
  }

  @Test
  void aCancelledSubscriberIsForgottenAndSoIsAWorker() {
    Reader reader = subscribe(10);
    report(used(1, 1));
    reader.subscription.cancel();
    report(used(1, 2));
    assertThat(reader.received).hasSize(1);

    assertThat(reports.endpoints()).isEqualTo(1);
    reports.forget(ENDPOINT, 1);
    assertThat(reports.endpoints()).isZero();
  }

  @Test
  void aRequestThatIsNotPositiveEndsTheSubscription() {
    Reader reader = subscribe(0);

    assertThat(reader.error).hasMessageContaining("request(0)");
    assertThat(reports.endpoints()).isZero();
  }

  @Test
  void aSubscriberThatThrowsIsDroppedAlone() {
    Reader broken = subscribe(10);
    Reader sound = subscribe(10);
    broken.broken = true;
    try (RecordedLog log = RecordedLog.of(HostLoadReports.class)) {
      report(used(1, 1));
      assertThat(log.thrown()).singleElement().isInstanceOf(IllegalStateException.class);
    }
    report(used(1, 2));

    assertThat(sound.received).hasSize(2);
    sound.subscription.cancel();
    reports.forget(ENDPOINT, 1);
    assertThat(reports.endpoints()).isZero();
  }

  @Test
  void ranksBeyondTheBoundAreRefusedAndCounted() {
    for (int rank = 0; rank < HostLoadReports.MAX_RANKS; rank++) {
      reports.report(ENDPOINT, LoadReport.kvUsed(new Member(1, rank), 1));
    }

    assertThat(reports.report(ENDPOINT, used(2, 1))).isFalse();
    assertThat(reports.report(ENDPOINT, used(1, 7))).isTrue();
    assertThat(reports.refused()).isEqualTo(1);
  }

  @Test
  void theyFeedACollector() {
    PoolLoadAccount account = new PoolLoadAccount(PoolLoadAccountTest.PRODUCER, load -> {});
    account.capacity(Map.of(1L, RuntimeConfig.ranks(0, 1, 100)));
    report(used(1, 40));
    LoadCollector collector = new LoadCollector(runtime, reports, ENDPOINT, account);
    collector.start();
    runtime.runUntilIdle();
    assertThat(account.load().kvUsedBlocks()).hasValue(40);

    report(used(1, 41));
    assertThat(account.load().kvUsedBlocks()).hasValue(41);
    collector.stop();
    runtime.runUntilIdle();
    reports.forget(ENDPOINT, 1);
    assertThat(reports.endpoints()).isZero();
  }
}
