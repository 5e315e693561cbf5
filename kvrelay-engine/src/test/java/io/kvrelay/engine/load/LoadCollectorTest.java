package io.kvrelay.engine.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.LoadReportSource;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

class LoadCollectorTest {
  private static final EndpointId ENDPOINT = EndpointId.parse("ns.comp.ep");

  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final List<PoolLoad> published = new ArrayList<>();
  private boolean defective;
  private final PoolLoadAccount account =
      new PoolLoadAccount(
          PoolLoadAccountTest.PRODUCER,
          load -> {
            if (defective) {
              throw new IllegalStateException("a defect");
            }
            published.add(load);
          });
  private final List<Flow.Subscriber<? super LoadReport>> subscribers = new ArrayList<>();
  private long requested;
  private int cancelled;
  private boolean refuse;
  private final LoadReportSource source =
      endpoint -> {
        assertThat(endpoint).isEqualTo(ENDPOINT);
        if (refuse) {
          subscribers.add(null);
          throw new IllegalStateException("no stream");
        }
        return subscriber -> {
          subscribers.add(subscriber);
          subscriber.onSubscribe(
              new Flow.Subscription() {
                @Override
                public void request(long n) {
                  requested += n;
                }

                @Override
                public void cancel() {
                  cancelled++;
                }
              });
        };
      };
  private final LoadCollector collector = new LoadCollector(runtime, source, ENDPOINT, account);
  private final CompletableFuture<String> failed = collector.failed().toCompletableFuture();

  private void start() {
    account.capacity(Map.of(1L, RuntimeConfig.ranks(0, 1, 100)));
    collector.start();
    runtime.runUntilIdle();
  }

  private void report(long used) {
    subscribers.get(subscribers.size() - 1).onNext(LoadReport.kvUsed(new Member(1, 0), used));
    runtime.runUntilIdle();
  }

  @Test
  void reportsReachTheAccountAndDemandIsRenewed() {
    start();
    assertThat(requested).isEqualTo(256);
    for (int i = 1; i <= 1000; i++) {
      report(i);
    }

    assertThat(account.load().kvUsedBlocks()).hasValue(1000);
    assertThat(requested).isEqualTo(256 + 7 * 128);
  }

  @Test
  void aStreamThatEndsOrFailsIsForgottenAndOpenedAgain() {
    start();
    report(40);
    subscribers.get(0).onComplete();
    runtime.runUntilIdle();
    assertThat(account.load().kvObservedRanks()).isZero();
    assertThat(account.load().kvExpectedRanks()).isEqualTo(1);

    runtime.advance(Duration.ofMillis(100));
    report(41);
    subscribers.get(1).onError(new IllegalStateException("broken"));
    runtime.runUntilIdle();
    assertThat(account.load().kvObservedRanks()).isZero();
    assertThat(collector.statistics().lost()).isEqualTo(2);
    assertThat(failed).isNotDone();
  }

  @Test
  void delaysDoubleAndAReportResetsThem() {
    start();
    refuse = true;
    subscribers.get(0).onComplete();
    for (int millis : new int[] {100, 200, 400, 800, 1600, 3200, 5000}) {
      int before = subscribers.size();
      runtime.advance(Duration.ofMillis(millis - 1));
      assertThat(subscribers).hasSize(before);
      runtime.advance(Duration.ofMillis(1));
      assertThat(subscribers).hasSize(before + 1);
    }
    refuse = false;
    runtime.advance(Duration.ofSeconds(5));
    report(1);
    subscribers.get(subscribers.size() - 1).onComplete();
    int before = subscribers.size();
    runtime.advance(Duration.ofMillis(100));
    assertThat(subscribers).hasSize(before + 1);
  }

  @Test
  void aLateSignalOfAnOldStreamIsIgnored() {
    start();
    subscribers.get(0).onComplete();
    runtime.advance(Duration.ofMillis(100));
    subscribers.get(0).onNext(LoadReport.kvUsed(new Member(1, 0), 7));
    subscribers.get(0).onComplete();
    runtime.runUntilIdle();

    assertThat(account.load().kvObservedRanks()).isZero();
    assertThat(collector.statistics().late()).isEqualTo(2);
    assertThat(subscribers).hasSize(2);
  }

  @Test
  void aSourceThatSendsMoreThanAskedForLosesItsStream() {
    start();
    for (int i = 0; i < 300; i++) {
      subscribers.get(0).onNext(LoadReport.kvUsed(new Member(1, 0), i));
    }
    runtime.runUntilIdle();

    assertThat(cancelled).isEqualTo(1);
    assertThat(account.load().kvObservedRanks()).isZero();
    assertThat(collector.statistics().lost()).isEqualTo(1);
  }

  @Test
  void aStoppedCollectorLeavesNothingAndHasNotFailed() {
    start();
    CompletableFuture<Void> stopped = collector.stop().toCompletableFuture();
    runtime.runUntilIdle();

    assertThat(stopped).isCompleted();
    assertThat(cancelled).isEqualTo(1);
    subscribers.get(0).onComplete();
    runtime.advance(Duration.ofSeconds(10));
    assertThat(runtime.pendingTimers()).isZero();
    assertThat(subscribers).hasSize(1);
    assertThat(failed).isNotDone();
  }

  @Test
  void aCollectorThatEndsByItselfSaysSo() {
    start();
    defective = true;
    try (RecordedLog log = RecordedLog.of(LoadCollector.class)) {
      report(40);
      assertThat(log.thrown()).singleElement().isInstanceOf(IllegalStateException.class);
    }

    assertThat(failed).isCompletedWithValueMatching(reason -> reason.contains("a defect"));
    assertThat(cancelled).isEqualTo(1);
    assertThat(collector.stop().toCompletableFuture()).isNotDone();
    runtime.runUntilIdle();
    assertThat(collector.stop().toCompletableFuture()).isDone();
  }

  @Test
  void aPoolWithoutReportsHasCapacityOnly() {
    account.capacity(Map.of(1L, RuntimeConfig.ranks(0, 1, 100)));
    LoadCollector silent = new LoadCollector(runtime, LoadReportSource.NONE, ENDPOINT, account);
    silent.start();
    runtime.runUntilIdle();

    assertThat(account.load().totalKvBlocks()).hasValue(100);
    assertThat(account.load().kvUsedBlocks()).isEmpty();
    assertThat(runtime.pendingTimers()).isZero();
  }
}
