package io.kvrelay.cli.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.load.HostLoadReports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class WatchedFileTest {
  private static final EndpointId E = EndpointId.parse("a.b.c");

  @TempDir private Path directory;
  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final FakeEngines engines = new FakeEngines();
  private final HostLoadReports loads = new HostLoadReports(time.executor());
  private final List<DeploymentFacts> seen = new ArrayList<>();
  private Path path;

  @BeforeEach
  void nameTheFile() {
    path = directory.resolve("relay.yaml");
  }

  private static String workers(String... workers) {
    return "endpoints:\n- {endpoint: a.b.c, model: m, block-size: 4, workers: ["
        + String.join(", ", workers)
        + "]}\n";
  }

  private WatchedFile open(String text) throws IOException {
    Files.writeString(path, text);
    WatchedFile file = WatchedFile.open(path, engines, loads, time.executor());
    file.facts(DiscoveryScope.ALL).subscribe(new Seen());
    time.runUntilIdle();
    return file;
  }

  private DeploymentFacts last() {
    time.runUntilIdle();
    return seen.get(seen.size() - 1);
  }

  @Test
  void aBadFirstVersionIsRefusedWithEverythingThatIsWrong() throws IOException {
    Files.writeString(path, "pools: 1\nrecovery: 2\n");
    assertThatThrownBy(() -> WatchedFile.open(path, engines, loads, time.executor()))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            path
                + ":1: pools = 1: must be a mapping\n"
                + path
                + ":2: recovery = 2: must be a mapping");
    assertThatThrownBy(
            () -> WatchedFile.open(directory.resolve("none"), engines, loads, time.executor()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("none:1: cannot be read");
  }

  @Test
  @Timeout(20)
  void whatIsNoRegularFileIsRefusedByNameAndHoldsNobodyUp() throws Exception {
    Path pipe = directory.resolve("pipe.yaml");
    assumeTrue(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor() == 0);
    for (Path wrong : List.of(pipe, directory)) {
      assertThatThrownBy(() -> WatchedFile.open(wrong, engines, loads, time.executor()))
          .isInstanceOf(ConfigException.class)
          .hasMessageContaining(wrong + ":1: cannot be read")
          .hasMessageContaining("is not a regular file");
    }
    WatchedFile file = open(workers("{id: 1}"));
    Files.move(pipe, path, StandardCopyOption.REPLACE_EXISTING);
    assertThat(file.poll()).isTrue();
    assertThat(file.statistics()).isEqualTo(new WatchedFile.Statistics(1, 1, false));
    assertThat(last().cards()).hasSize(1);
  }

  @Test
  void aSymbolicLinkToAFileIsAFile() throws IOException {
    Files.writeString(path, workers("{id: 1}"));
    Path link = Files.createSymbolicLink(directory.resolve("link.yaml"), path);
    WatchedFile file = WatchedFile.open(link, engines, loads, time.executor());
    assertThat(file.statistics().current()).isTrue();
  }

  @Test
  void aChangedFileIsANewRevision() throws IOException {
    WatchedFile file = open(workers("{id: 1}"));
    assertThat(last().cards()).hasSize(1);
    assertThat(file.poll()).isFalse();
    Files.writeString(
        path, workers("{id: 1}", "{id: 2, events: [{engine: vllm, live: 'tcp://h:1'}]}"));
    assertThat(file.poll()).isTrue();

    assertThat(last().cards()).hasSize(2);
    assertThat(last().eventSources()).hasSize(1);
    assertThat(last().revision()).isEqualTo(2);
    assertThat(file.statistics()).isEqualTo(new WatchedFile.Statistics(2, 0, true));
  }

  @Test
  void aBadVersionKeepsTheLastGoodOneAndSaysSo() throws IOException {
    WatchedFile file = open(workers("{id: 1, events: [{engine: vllm, live: 'tcp://h:1'}]}"));
    Files.writeString(path, workers("{id: x}"));
    assertThat(file.poll()).isTrue();
    assertThat(last().cards()).hasSize(1);
    assertThat(last().eventSources()).hasSize(1);
    assertThat(last().refused())
        .singleElement()
        .satisfies(
            refused -> {
              assertThat(refused.key()).isEqualTo(path + ":2");
              assertThat(refused.detail()).contains("last good version", "id = x");
            });
    assertThat(file.statistics()).isEqualTo(new WatchedFile.Statistics(1, 1, false));
    assertThat(engines.followed).hasSize(1);

    Files.delete(path);
    assertThat(file.poll()).isTrue();
    assertThat(file.poll()).as("told once").isFalse();
    assertThat(last().refused()).singleElement().asString().contains("cannot be read");

    Files.writeString(path, workers("{id: 3}"));
    assertThat(file.poll()).isTrue();
    assertThat(last().refused()).isEmpty();
    assertThat(file.statistics()).isEqualTo(new WatchedFile.Statistics(2, 2, true));
  }

  @Test
  void aFileThatIsBeingWrittenIsNotTakenForOneThatNamesLess() throws IOException {
    WatchedFile file = open(workers("{id: 1}"));
    String next = workers("{id: 1}", "{id: 2}");
    Files.writeString(path, "");
    file.look();
    assertThat(last().cards()).as("truncated").hasSize(1);
    Files.writeString(path, next.substring(0, "endpoints:\n".length()));
    file.look();
    assertThat(last().cards()).as("half written").hasSize(1);
    Files.writeString(path, next);
    file.look();
    file.look();
    assertThat(last().cards()).hasSize(2);
    assertThat(file.statistics()).isEqualTo(new WatchedFile.Statistics(2, 0, true));

    Files.writeString(path, "");
    file.look();
    file.look();
    assertThat(last().cards()).as("meant so").isEmpty();
  }

  @Test
  void aVersionThatCannotBeAppliedDoesNotEndTheWatch() throws IOException {
    WatchedFile file = open(workers("{id: 1}"));
    for (Throwable failure :
        List.of(new IllegalStateException("why"), new OutOfMemoryError("why"))) {
      engines.failure = failure;
      Files.writeString(path, workers("{id: 1}", "{id: 2}") + "# " + failure + "\n");
      file.look();
      file.look();
      assertThat(last().cards()).as("the last good one").hasSize(1);
      assertThat(last().refused()).singleElement().asString().contains("could not be applied");
      assertThat(file.statistics().current()).isFalse();
    }
    engines.failure = null;
    Files.writeString(path, workers("{id: 1}", "{id: 2}"));
    file.look();
    file.look();
    assertThat(last().cards()).hasSize(2);
    assertThat(last().refused()).isEmpty();
  }

  @Test
  void aFileThatIsTooLongIsNotRead() throws IOException {
    WatchedFile file = open(workers("{id: 1}"));
    try (var channel =
        java.nio.channels.FileChannel.open(path, java.nio.file.StandardOpenOption.WRITE)) {
      channel.write(java.nio.ByteBuffer.wrap(new byte[] {'#'}), 1L << 32); // sparse
    }
    file.look();
    assertThat(last().cards()).hasSize(1);
    assertThat(last().refused()).singleElement().asString().contains("has more than");
  }

  @Test
  void settingsOfTheProcessChangeWithTheNextStart() throws IOException {
    WatchedFile file = open(workers("{id: 1}"));
    Files.writeString(path, workers("{id: 1}") + "pools: {expected-blocks: 5}\n");
    file.poll();
    assertThat(last().refused()).singleElement().asString().contains("next start");
    assertThat(file.settings().config().filterFormat().bucketCount()).isGreaterThan(1000);
  }

  @Test
  void statedLoadIsReportedAndTakenBack() throws IOException {
    WatchedFile file = open(workers("{id: 1, load: [{kv-used-blocks: 7}]}"));
    List<LoadReport> reports = new ArrayList<>();
    loads.reports(E).subscribe(new Reports(reports));
    time.runUntilIdle();
    assertThat(reports).containsExactly(LoadReport.kvUsed(new Member(1, 0), 7));
    Files.writeString(path, workers("{id: 1}"));
    file.poll();
    List<LoadReport> later = new ArrayList<>();
    loads.reports(E).subscribe(new Reports(later));
    time.runUntilIdle();
    assertThat(later).isEmpty();
  }

  @Test
  void whatIsNotUtf8IsRefused() throws IOException {
    WatchedFile file = open(workers("{id: 1}"));
    Files.write(path, new byte[] {(byte) 0xff, (byte) 0xfe, 0});
    file.poll();
    assertThat(last().refused()).singleElement().asString().contains("is not UTF-8");
  }

  private final class Seen implements Flow.Subscriber<DeploymentFacts> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(DeploymentFacts facts) {
      seen.add(facts);
    }

    @Override
    public void onError(Throwable failure) {}

    @Override
    public void onComplete() {}
  }

  private record Reports(List<LoadReport> into) implements Flow.Subscriber<LoadReport> {
    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(LoadReport report) {
      into.add(report);
    }

    @Override
    public void onError(Throwable failure) {}

    @Override
    public void onComplete() {}
  }
}
