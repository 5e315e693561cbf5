package io.kvrelay.transport.grpc;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.testkit.transport.ProbeSubscriber;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** TLS from PEM files, one-sided and mutual. The certificates are made by the JDK's keytool. */
@Timeout(60)
class GrpcTlsTest {
  private record Identity(Path certificate, Path key) {}

  @TempDir static Path directory;
  private static Identity relay;
  private static Identity router;
  private static Identity stranger;

  private final Loopback loopback = new Loopback();

  @BeforeAll
  static void makeCertificates() throws Exception {
    relay = identity("relay");
    router = identity("router");
    stranger = identity("stranger");
  }

  @AfterEach
  void close() throws Exception {
    loopback.close();
  }

  private static Identity identity(String name) throws Exception {
    Path store = directory.resolve(name + ".p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                name,
                "-keyalg",
                "EC",
                "-dname",
                "CN=" + name,
                "-ext",
                "san=ip:127.0.0.1",
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-storepass",
                "changeit",
                "-keystore",
                store.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertThat(keytool.waitFor(30, TimeUnit.SECONDS)).isTrue();
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, "changeit".toCharArray());
    }
    return new Identity(
        pem(name + ".crt", "CERTIFICATE", keys.getCertificate(name).getEncoded()),
        pem(
            name + ".key",
            "PRIVATE KEY",
            keys.getKey(name, "changeit".toCharArray()).getEncoded()));
  }

  private static Path pem(String file, String type, byte[] der) throws Exception {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return Files.writeString(
        directory.resolve(file),
        "-----BEGIN " + type + "-----\n" + body + "\n-----END " + type + "-----\n",
        US_ASCII);
  }

  private GrpcRelayExport export(Path clientAuthority) {
    ExportOptions options =
        loopback
            .exportOptions()
            .with(
                GrpcTransport.SERVER_CREDENTIALS,
                GrpcTls.server(relay.certificate(), relay.key(), clientAuthority));
    return loopback.export(options);
  }

  private ConnectOptions as(Identity identity, Path authority) {
    return loopback
        .connectOptions()
        .with(
            GrpcTransport.CHANNEL_CREDENTIALS,
            GrpcTls.client(
                identity == null ? null : identity.certificate(),
                identity == null ? null : identity.key(),
                authority));
  }

  private void assertRefused(GrpcRelayExport export, ConnectOptions options) {
    assertThatThrownBy(() -> loopback.connect(export.address(), options))
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.ADDRESS_UNAVAILABLE));
  }

  @Test
  void theServerProvesWhoItIs() {
    GrpcRelayExport export = export(null);
    GrpcConnectedSource remote = loopback.connect(export.address(), as(null, relay.certificate()));
    assertThat(ProbeSubscriber.to(remote.catalog()).ask()).isEqualTo(PoolCatalog.EMPTY);
    assertRefused(export, as(null, stranger.certificate()));
    assertRefused(export, as(null, null));
    assertRefused(export, loopback.connectOptions());
  }

  @Test
  void theClientHasToProveItToo() {
    GrpcRelayExport export = export(router.certificate());
    GrpcConnectedSource remote =
        loopback.connect(export.address(), as(router, relay.certificate()));
    assertThat(ProbeSubscriber.to(remote.catalog()).ask()).isEqualTo(PoolCatalog.EMPTY);
    assertRefused(export, as(stranger, relay.certificate()));
    assertRefused(export, as(null, relay.certificate()));
  }

  @Test
  void missingFilesAreNamed() {
    Path nowhere = directory.resolve("nowhere.pem");
    assertThatThrownBy(() -> GrpcTls.server(nowhere, relay.key(), null))
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.INVALID_CONFIGURATION))
        .hasMessageContaining("nowhere.pem");
    assertThatThrownBy(() -> GrpcTls.client(relay.certificate(), null, null))
        .isInstanceOf(RelayException.class)
        .hasMessageContaining("key = null");
  }
}
