package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DemoReportTest {
  private static final Workload WORKLOAD =
      new Workload("a \"trace\"", List.of(new Request(0, new long[] {1, 2})), 32);
  private static final DemoSettings SETTINGS = new DemoSettings(2, 3, 40, 5, "inproc");

  private static PolicyResult kv(KvResult.Latency freshness) {
    return new PolicyResult(
        "kv",
        10,
        200,
        50,
        List.of(6L, 4L),
        new KvResult(
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            10,
            11,
            12,
            13,
            freshness,
            new KvResult.Latency(0.5, 12.25),
            false));
  }

  private static DemoReport report(boolean interrupted, PolicyResult... results) {
    return new DemoReport(WORKLOAD, SETTINGS, List.of(results), interrupted);
  }

  @Test
  void jsonIsOneObjectWithEveryField() {
    PolicyResult plain = new PolicyResult("random", 0, 0, 0, List.of(0L, 0L), null);
    assertThat(report(false, kv(new KvResult.Latency(1000, 2000)), plain).toJson())
        .isEqualTo(
            "{\"input\":{\"source\":\"a \\\"trace\\\"\",\"requests\":1,\"blocks\":64,"
                + "\"distinct_blocks\":64,\"blocks_per_id\":32,\"block_tokens\":16,\"dcs\":2,"
                + "\"workers\":3,\"cache_blocks\":40,\"transport\":\"inproc\",\"seed\":5,"
                + "\"restarts\":0,\"loss_percent\":0.0,\"interrupted\":false},\"policies\":[{\"name\":\"kv\",\"requests\":10,"
                + "\"blocks\":200,\"hit_blocks\":50,\"dc_share\":[6,4],\"hit_ratio\":0.25,"
                + "\"snapshot_bytes\":1,\"delta_bytes\":2,\"deltas\":3,\"images\":4,"
                + "\"exact_event_bytes\":5,\"depth_checks\":6,\"depth_inflated\":7,"
                + "\"depth_missed\":8,\"omissions\":9,\"lost_batches\":10,\"restarts\":11,"
                + "\"gaps\":12,\"recoveries\":13,\"freshness_us\":{\"p50\":1000.0,"
                + "\"p99\":2000.0},\"route_us\":{\"p50\":0.5,\"p99\":12.25},\"converged\":false},"
                + "{\"name\":\"random\",\"requests\":0,\"blocks\":0,\"hit_blocks\":0,"
                + "\"dc_share\":[0,0],\"hit_ratio\":0.0}]}");
  }

  @Test
  void whatWasNotMeasuredIsNull() {
    assertThat(report(true, kv(null)).toJson())
        .contains("\"freshness_us\":{\"p50\":null,\"p99\":null}", "\"interrupted\":true");
  }

  @Test
  void textShowsTheSharesAndAdmitsAFailure() {
    assertThat(report(true, kv(null)).toText())
        .contains("interrupted: what was measured so far")
        .containsPattern("kv +10 +200 +50 +0\\.2500 +60\\.0% 40\\.0%")
        .contains("not measured", "NO: lanes differ", "7 too long, 8 too short; 9 blocks omitted");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "0     | 1000 | 1    | kv   0 %  0 of 1,000 requests  0/s",
        "250   | 1000 | 0.5  | kv  25 %  250 of 1,000 requests  500/s  ETA 0:02",
        "6000  | 9000 | 60   | kv  66 %  6,000 of 9,000 requests  100/s  ETA 0:30",
        "100   | 9000 | 10   | kv   1 %  100 of 9,000 requests  10/s  ETA 14:50",
      })
  void progressKnowsRateAndRest(int done, int total, double seconds, String expected) {
    assertThat(Progress.line("kv", done, total, seconds)).startsWith(expected);
  }
}
