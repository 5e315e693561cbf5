package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DemoCommandTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir private Path folder;

  private int demo(String arguments) {
    return Main.run(
        new PrintWriter(out), new PrintWriter(err), ("demo " + arguments).trim().split(" "));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--dcs 0                | --dcs = 0: must lie in 1..64",
        "--dcs 65               | --dcs = 65: must lie in 1..64",
        "--workers -1           | --workers = -1: must lie in 1..1024",
        "--requests -5          | --requests = -5: must lie in 1..2147483647",
        "--cache-blocks 0       | --cache-blocks = 0: must lie in 1..2147483647",
        "--blocks-per-id 3      | --blocks-per-id = 3: must be a power of two in 1..512",
        "--blocks-per-id -2147483648 | --blocks-per-id = -2147483648: must be a power of two",
        "--restarts -1          | --restarts = -1: must lie in 0..100000",
        "--loss 101             | --loss = 101.0: must lie in 0..100",
        "--loss NaN             | --loss = NaN: must lie in 0..100",
        "--policy best          | --policy = best: must be kv, round-robin, random, exact or all",
        "--transport pigeon     | --transport = pigeon",
        "--requests many        | --requests",
        "--requests 99999999999 | 99999999999",
        "--trace /no/such/file  | --trace = /no/such/file: no such file",
        "--no-such-option       | --no-such-option",
        "surplus                | surplus",
      })
  void badInputIsOneLineThatNamesTheOptionAndTheValue(String arguments, String message) {
    assertThat(demo(arguments)).isEqualTo(2);
    assertThat(err.toString())
        .hasLineCount(1)
        .startsWith("kvrelay demo: ")
        .contains(message.trim());
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void aBrokenLineIsNamed() throws IOException {
    Path trace = Files.writeString(folder.resolve("t.jsonl"), "{\"timestamp\":0,\n");
    assertThat(demo("--trace " + trace)).isEqualTo(2);
    assertThat(err.toString()).hasLineCount(1).contains(trace + ":1: ");
  }

  @Test
  void printsATable() {
    assertThat(demo("--requests 50 --policy random")).isZero();
    assertThat(out.toString()).contains("built-in: 50 requests").containsPattern("random +50 ");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void printsNothingButOneJsonObject() {
    assertThat(demo("--requests 50 --json --policy exact --dcs 2 --workers 1 --cache-blocks 64"))
        .isZero();
    assertThat(out.toString())
        .hasLineCount(1)
        .startsWith("{\"input\":{\"source\":\"built-in\",\"requests\":50,")
        .contains("\"dcs\":2,\"workers\":1,\"cache_blocks\":64")
        .contains("\"policies\":[{\"name\":\"exact\",\"requests\":50,");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void oneSeedIsOneResult() {
    demo("--requests 300 --json --policy random --seed 7");
    String first = out.toString();
    out.getBuffer().setLength(0);
    demo("--requests 300 --json --policy random --seed 7");
    assertThat(out.toString()).isEqualTo(first);
    out.getBuffer().setLength(0);
    demo("--requests 300 --json --policy random --seed 8");
    assertThat(out.toString()).isNotEqualTo(first);
  }

  @Test
  void relaysAndRouterSpeakTls() throws Exception {
    TestCertificates files = TestCertificates.create(folder);
    String tls =
        " --tls-ca " + files.certificate() + " --tls-cert " + files.certificate() + " --tls-key ";
    String world =
        "--requests 20 --dcs 2 --workers 1 --policy kv --json --transport grpc://localhost:0";
    assertThat(demo(world + tls + files.key())).as("%s", err).isZero();
    assertThat(out.toString()).contains("\"converged\":true");
    String without = " --tls-cert " + files.certificate() + " --tls-key " + files.key();
    assertThat(demo(world + without)).as("a router that does not know the authority").isEqualTo(2);
    assertThat(err.toString()).contains("--transport = grpc://localhost:0");
  }

  @Test
  void tlsFilesThatDoNotFitAreRefused() {
    assertThat(demo("--transport grpc --tls-cert pom.xml")).isEqualTo(2);
    assertThat(err.toString()).hasLineCount(1).contains("--tls-key");
    assertThat(demo("--tls-ca pom.xml")).isEqualTo(2);
    assertThat(err.toString()).contains("inproc").contains("knows no TLS");
  }

  @Test
  void helpListsEveryOption() {
    assertThat(demo("--help")).isZero();
    assertThat(out.toString())
        .contains(
            "--trace",
            "--blocks-per-id",
            "--requests",
            "--policy",
            "--dcs",
            "--workers",
            "--cache-blocks",
            "--transport",
            "--restarts",
            "--loss",
            "--seed",
            "--json",
            "--tls-cert",
            "--tls-key",
            "--tls-ca");
  }
}
