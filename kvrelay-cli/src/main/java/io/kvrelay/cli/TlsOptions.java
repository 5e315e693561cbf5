package io.kvrelay.cli;

import io.kvrelay.api.RelayException;
import io.kvrelay.transport.grpc.GrpcTls;
import io.kvrelay.transport.grpc.GrpcTransport;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * {@code --tls-cert}, {@code --tls-key}, {@code --tls-ca}: TLS for the {@code grpc} scheme, either
 * side. Without any of them a connection is plaintext.
 */
final class TlsOptions {

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "PEM certificate chain of this side; needs --tls-key.")
  private @Nullable Path certificate;

  @Option(
      names = "--tls-key",
      paramLabel = "FILE",
      description = "PEM private key of this side, PKCS#8, not encrypted.")
  private @Nullable Path key;

  @Option(
      names = "--tls-ca",
      paramLabel = "FILE",
      description =
          "PEM certificates that the other side's certificate is checked against. A server that is"
              + " given them demands a certificate of its clients.")
  private @Nullable Path authority;

  /** The attributes of a connection to an address. */
  Map<String, Object> client(URI address) {
    if (!isGiven()) {
      return Map.of();
    }
    check(address);
    if ((certificate == null) != (key == null)) {
      throw new InputException(
          "--tls-cert = " + certificate + ", --tls-key = " + key + ": give both or none");
    }
    return attribute(
        GrpcTransport.CHANNEL_CREDENTIALS, () -> GrpcTls.client(certificate, key, authority));
  }

  /** The attributes of an export under an address. */
  Map<String, Object> server(URI address) {
    if (!isGiven()) {
      return Map.of();
    }
    check(address);
    Path ownCertificate = certificate;
    Path ownKey = key;
    if (ownCertificate == null || ownKey == null) {
      throw new InputException(
          "--tls-cert = " + certificate + ", --tls-key = " + key + ": a server needs both");
    }
    return attribute(
        GrpcTransport.SERVER_CREDENTIALS, () -> GrpcTls.server(ownCertificate, ownKey, authority));
  }

  /** Whether TLS is wanted. */
  boolean isGiven() {
    return certificate != null || key != null || authority != null;
  }

  private void check(URI address) {
    String scheme = String.valueOf(address.getScheme()).toLowerCase(Locale.ROOT);
    if (!scheme.equals("grpc")) {
      throw new InputException("--tls-cert, --tls-key, --tls-ca: " + address + " knows no TLS");
    }
    readable("--tls-cert", certificate);
    readable("--tls-key", key);
    readable("--tls-ca", authority);
  }

  private static void readable(String option, @Nullable Path file) {
    if (file != null && !(Files.isRegularFile(file) && Files.isReadable(file))) {
      throw new InputException(option + " = " + file + ": cannot be read");
    }
  }

  private interface Credentials {
    Object make();
  }

  private static Map<String, Object> attribute(String key, Credentials credentials) {
    try {
      return Map.of(key, credentials.make());
    } catch (RelayException | IllegalArgumentException e) {
      throw new InputException("--tls-cert, --tls-key, --tls-ca: " + e.getMessage(), e);
    }
  }
}
