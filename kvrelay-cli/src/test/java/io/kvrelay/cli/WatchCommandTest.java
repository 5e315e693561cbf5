package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.transport.grpc.GrpcTls;
import io.kvrelay.transport.grpc.GrpcTransport;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WatchCommandTest {

  private static RelayExport export(TestRelay relay, String address) {
    return export(relay, address, ExportOptions.defaults(relay.runtime));
  }

  private static RelayExport export(TestRelay relay, String address, ExportOptions options) {
    return RelayTransports.export(relay.source, URI.create(address), options);
  }

  private static void stop(RelayExport export) {
    export.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"inproc:watch-json", "grpc://127.0.0.1:0"})
  void everyLineOfJsonIsOneThingThatArrived(String address) {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, address)) {
      CommandRun watch = CommandRun.start("watch", "--json", export.address().toString());

      assertThat(watch.await("\"type\":\"info\""))
          .contains("\"instance_id\":18446744073709551615", "\"incarnation\":7");
      assertThat(watch.await("\"type\":\"snapshot_chunk\""))
          .contains("\"sequence\":0,", "\"chunk\":0", "\"chunks\":1", "\"images\":0")
          .contains("\"dc_id\":" + Long.toUnsignedString(relay.pool.poolId().dcId().value()));
      relay.delta(new int[] {3, 9}, new long[] {1, 2});
      assertThat(watch.await("\"type\":\"delta\""))
          .contains("\"base_sequence\":0", "\"sequence\":1", "\"images\":2", "\"total_deltas\":1");
      relay.delta(new int[] {3}, new long[] {7});
      assertThat(watch.await("\"type\":\"delta\""))
          .contains("\"base_sequence\":1", "\"sequence\":2", "\"images\":1", "\"total_images\":3");
      assertThat(watch.awaitOnce("\"type\":\"catalog\""))
          .contains("\"endpoint\":\"ns.backend.generate\"", "\"roles\":[\"LEGACY\"]")
          .contains("\"aliases\":[\"alias\"]");
      assertThat(watch.awaitOnce("\"type\":\"readiness\""))
          .contains("\"state\":\"READY\"", "\"legacy_fallback_active\":true");
      assertThat(watch.awaitOnce("\"used_blocks\":5"))
          .contains("\"type\":\"load\"", "\"total_blocks\":100");
      relay.withdraw();
      assertThat(watch.await("\"type\":\"withdrawn\"")).contains("\"layout_generation\":1");

      stop(export);
      assertThat(watch.lines()).allSatisfy(CommandRun::assertJson);
    }
  }

  @Test
  void aRelayThatIsLostIsOneLineAndExitCodeOne() {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "grpc://127.0.0.1:0")) {
      CommandRun watch = CommandRun.start("watch", export.address().toString());
      watch.await("snapshot");

      stop(export);

      assertThat(watch.exitCode()).isEqualTo(1);
      assertThat(watch.errors())
          .hasLineCount(1)
          .startsWith("kvrelay watch: " + export.address())
          .contains("PUBLICATION_UNAVAILABLE");
    }
  }

  @Test
  void aRelayThatShutsDownInOrderEndsIt() {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:watch-shutdown")) {
      CommandRun watch = CommandRun.start("watch", export.address().toString());
      watch.await("snapshot");

      relay.shutDown();

      assertThat(watch.exitCode()).isZero();
      assertThat(watch.errors()).isEmpty();
    }
  }

  @Test
  void aStreamThatLeavesADeltaOutIsReportedAndOpenedAgain() {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:watch-gap")) {
      CommandRun watch = CommandRun.start("watch", "--json", export.address().toString());
      watch.await("snapshot_chunk");

      relay.gap();

      assertThat(watch.await("\"type\":\"ended\""))
          .contains("\"stream\":\"pool\"", "PROTOCOL_VIOLATION", "\"retry_ms\":500");
      watch.await("snapshot_chunk");
    }
  }

  @Test
  void peopleGetLinesWithTheTime() {
    try (TestRelay relay = new TestRelay("dc-a");
        RelayExport export = export(relay, "inproc:watch-text")) {
      CommandRun watch = CommandRun.start("watch", export.address().toString());

      assertThat(watch.await("info")).matches("\\d\\d:\\d\\d:\\d\\d\\.\\d{3} info .*inproc:.*");
      watch.await("snapshot");
      relay.delta(new int[] {3}, new long[] {7});
      assertThat(watch.await("delta"))
          .contains("ns.backend.generate@" + relay.pool.poolId().dcId(), "0 -> 1", "1 image,");
    }
  }

  @Test
  void anAddressThatNobodyServesIsOneLineAndExitCodeOne() {
    CommandRun watch = CommandRun.start("watch", "inproc:nobody");

    assertThat(watch.exitCode()).isEqualTo(1);
    assertThat(watch.errors()).hasLineCount(1).contains("inproc:nobody", "ADDRESS_UNAVAILABLE");
    assertThat(watch.lines()).isEmpty();
  }

  @Test
  void aRefusedConnectionIsSaidToBeOne() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }

    CommandRun watch = CommandRun.start("watch", "grpc://127.0.0.1:" + port);

    assertThat(watch.exitCode()).isEqualTo(1);
    assertThat(watch.errors()).hasLineCount(1).contains("127.0.0.1:" + port, "refused");
  }

  @ParameterizedTest
  @ValueSource(strings = {"carrier-pigeon:home", "grpc://nowhere", "grpc://a b:1", "plain"})
  void aBadAddressIsOneLineThatNamesItAndExitCodeTwo(String address) {
    CommandRun watch = CommandRun.start("watch", address);

    assertThat(watch.exitCode()).isEqualTo(2);
    assertThat(watch.errors()).hasLineCount(1).startsWith("kvrelay watch: ").contains(address);
  }

  @Test
  void tlsIsSpokenWithTheGivenFiles(@TempDir Path directory) throws Exception {
    TestCertificates tls = TestCertificates.create(directory);
    try (TestRelay relay = new TestRelay("dc-a")) {
      ExportOptions options =
          ExportOptions.defaults(relay.runtime)
              .with(
                  GrpcTransport.SERVER_CREDENTIALS,
                  GrpcTls.server(tls.certificate(), tls.key(), tls.certificate()));
      try (RelayExport export = export(relay, "grpc://localhost:0", options)) {
        String address = export.address().toString();
        String ca = tls.certificate().toString();

        CommandRun mutual =
            CommandRun.start(
                "watch", address, "--tls-ca", ca, "--tls-cert", ca, "--tls-key", "" + tls.key());
        mutual.await("snapshot");
        CommandRun plain = CommandRun.start("watch", address);
        assertThat(plain.exitCode()).isEqualTo(1);
        CommandRun anonymous = CommandRun.start("watch", address, "--tls-ca", ca);
        assertThat(anonymous.exitCode()).isEqualTo(1);
      }
    }
  }

  @Test
  void tlsFilesThatDoNotFitAreOneLineAndExitCodeTwo(@TempDir Path directory) {
    String missing = directory.resolve("missing.pem").toString();

    assertRefused("--tls-ca", "watch", "inproc:x", "--tls-ca", missing);
    assertRefused(missing, "watch", "grpc://localhost:1", "--tls-ca", missing);
    assertRefused("--tls-key", "watch", "grpc://localhost:1", "--tls-cert", "pom.xml");
    assertRefused("localhost:1", "watch", "grpc://localhost:1", "--tls-ca", "pom.xml");
  }

  private static void assertRefused(String named, String... args) {
    CommandRun run = CommandRun.start(args);
    assertThat(run.exitCode()).as("%s", run.errors()).isEqualTo(2);
    assertThat(run.errors()).hasLineCount(1).contains(named);
  }
}
