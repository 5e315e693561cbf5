package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What the demo must show, on the built-in workload. */
class DemoTest {
  private static Workload builtIn(int requests, int blocksPerId) {
    return new Workload("built-in", BuiltInWorkload.generate(requests, 1), blocksPerId);
  }

  private static DemoReport run(Workload workload, DemoSettings settings, PolicyName... policies) {
    return new Demo(workload, settings, null, () -> false).run(List.of(policies));
  }

  private static DemoSettings defaults(Workload workload, String transport) {
    return DemoSettings.of(workload, 4, 4, null, 1, transport);
  }

  private static KvResult kvOf(DemoReport report) {
    return Objects.requireNonNull(report.results().get(0).kv());
  }

  @Test
  void routingByWhatTheViewKnowsIsNearlyAsGoodAsKnowingEverything() {
    Workload workload = builtIn(BuiltInWorkload.DEFAULT_REQUESTS, 1);
    DemoReport report = run(workload, defaults(workload, "inproc"), PolicyName.values());
    List<PolicyResult> results = report.results();
    assertThat(results)
        .extracting(PolicyResult::name)
        .containsExactly("kv", "round-robin", "random", "exact");
    PolicyResult kv = results.get(0);
    assertThat(kv.hitRatio()).isGreaterThan(1.3 * results.get(1).hitRatio());
    assertThat(kv.hitRatio()).isGreaterThan(1.3 * results.get(2).hitRatio());
    assertThat(kv.hitRatio()).isGreaterThan(0.98 * results.get(3).hitRatio());
    assertThat(results).allSatisfy(DemoTest::assertComplete);

    KvResult measured = kvOf(report);
    assertThat(measured.converged()).isTrue();
    assertThat(measured.omissions()).isZero();
    assertThat(measured.depthChecks()).isEqualTo(4L * workload.requests().size());
    assertThat(measured.depthMissed()).isZero();
    assertThat(measured.depthInflated()).isLessThan(measured.depthChecks() / 1_000);
    assertThat(measured.snapshotBytes()).isGreaterThanOrEqualTo(4 * 1024 * 8);
    assertThat(measured.images()).isGreaterThan(measured.deltas());
    assertThat(measured.deltaBytes()).isEqualTo(60 * measured.deltas() + 12 * measured.images());
    assertThat(Objects.requireNonNull(measured.freshnessMicros()).p50())
        .as("a lone event waits out the publication delay")
        .isGreaterThan(1_000);
    assertThat(measured.routeMicros()).isNotNull();
  }

  private static void assertComplete(PolicyResult result) {
    assertThat(result.requests()).isEqualTo(BuiltInWorkload.DEFAULT_REQUESTS);
    assertThat(Collections.max(result.dcRequests()))
        .as("requests at the busiest data center")
        .isLessThan(result.requests() * 4 / 10);
  }

  @Test
  void smallBlocksOverManyDataCentersConvergeToo() {
    Workload workload = builtIn(400, 8);
    DemoSettings settings = DemoSettings.of(workload, 9, 2, null, 3, "inproc");
    KvResult kv = kvOf(run(workload, settings, PolicyName.KV));
    assertThat(kv.converged()).isTrue();
    assertThat(kv.depthMissed()).isZero();
  }

  @Test
  void whatIsLostOnTheWayComesBack() {
    Workload workload = builtIn(800, 1);
    DemoSettings settings = DemoSettings.of(workload, 3, 2, null, 5, "inproc").withFaults(7, 10);
    KvResult kv = kvOf(run(workload, settings, PolicyName.KV));
    assertThat(kv.restarts()).isEqualTo(7);
    assertThat(kv.lostBatches()).isGreaterThan(30);
    assertThat(kv.gaps()).isPositive().isLessThanOrEqualTo(kv.lostBatches());
    assertThat(kv.recoveries()).as("the first ones, restarts, and gaps").isGreaterThan(6 + 7);
    assertThat(kv.converged()).isTrue();
    assertThat(kv.depthMissed()).isZero();
  }

  @Test
  void aWorldThatLosesEverythingComesBackToo() {
    Workload workload = builtIn(60, 1);
    DemoSettings settings = DemoSettings.of(workload, 2, 1, null, 5, "inproc").withFaults(0, 100);
    KvResult kv = kvOf(run(workload, settings, PolicyName.KV));
    assertThat(kv.lostBatches()).isGreaterThan(50);
    assertThat(kv.converged()).isTrue();
    assertThat(kv.depthMissed()).isZero();
  }

  @Test
  void theSmallestWorldWorks() {
    Workload workload = builtIn(30, 1);
    KvResult kv = kvOf(run(workload, new DemoSettings(1, 1, 1, 1, "inproc"), PolicyName.KV));
    assertThat(kv.converged()).isTrue();
    assertThat(kv.depthMissed()).isZero();
  }

  @Test
  void socketsCarryTheSame() {
    Workload workload = builtIn(600, 1);
    KvResult kv = kvOf(run(workload, defaults(workload, "grpc"), PolicyName.KV));
    assertThat(kv.converged()).isTrue();
    assertThat(kv.depthMissed()).isZero();
  }

  @Test
  void anInterruptLeavesWhatWasMeasured() {
    Workload workload = builtIn(2_000, 1);
    AtomicInteger asked = new AtomicInteger();
    DemoReport report =
        new Demo(workload, defaults(workload, "inproc"), null, () -> asked.incrementAndGet() > 500)
            .run(List.of(PolicyName.values()));
    assertThat(report.interrupted()).isTrue();
    assertThat(report.results()).singleElement().satisfies(DemoTest::assertPartial);
  }

  private static void assertPartial(PolicyResult result) {
    assertThat(result.requests()).isBetween(490L, 500L);
    KvResult kv = Objects.requireNonNull(result.kv());
    assertThat(kv.converged()).isTrue();
    assertThat(kv.depthChecks()).isEqualTo(4 * result.requests());
    assertThat(kv.freshnessMicros()).isNotNull();
  }

  @Test
  void leavesNoThreadBehind() throws InterruptedException {
    Set<Thread> before = threads();
    Workload workload = builtIn(50, 1);
    run(workload, defaults(workload, "inproc"), PolicyName.KV);
    Set<Thread> left = threads();
    left.removeAll(before);
    for (Thread thread : left) {
      thread.join(10_000); // its pool has ended; the thread itself needs a moment more
      assertThat(thread.isAlive()).as("%s is alive", thread).isFalse();
    }
  }

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("kvrelay-"))
        .collect(Collectors.toSet());
  }
}
