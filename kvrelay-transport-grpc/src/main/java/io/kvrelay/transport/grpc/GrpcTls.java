package io.kvrelay.transport.grpc;

import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Credentials from PEM files, for those who let the relay speak TLS itself instead of putting a
 * proxy in front of it. Reads the files once, when called.
 */
public final class GrpcTls {
  private GrpcTls() {}

  /**
   * A server's credentials.
   *
   * @param certificate its certificate chain
   * @param key its private key, PKCS#8, not encrypted
   * @param clientAuthority what client certificates are checked against, which are then required;
   *     null to let anyone connect
   * @return the credentials
   * @throws RelayException with {@code INVALID_CONFIGURATION} if a file cannot be read
   */
  public static ServerCredentials server(
      Path certificate, Path key, @Nullable Path clientAuthority) {
    try {
      TlsServerCredentials.Builder tls =
          TlsServerCredentials.newBuilder().keyManager(file(certificate), file(key));
      if (clientAuthority != null) {
        tls.trustManager(file(clientAuthority)).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
      }
      return tls.build();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  /**
   * A client's credentials.
   *
   * @param certificate its certificate chain, or null if it has none
   * @param key its private key, PKCS#8, not encrypted; null exactly if there is no certificate
   * @param serverAuthority what the server's certificate is checked against; null for the JVM's own
   *     trust store
   * @return the credentials
   * @throws RelayException with {@code INVALID_CONFIGURATION} if a file cannot be read, or only one
   *     of certificate and key is given
   */
  public static ChannelCredentials client(
      @Nullable Path certificate, @Nullable Path key, @Nullable Path serverAuthority) {
    if ((certificate == null) != (key == null)) {
      throw new RelayException(
          RelayErrorReason.INVALID_CONFIGURATION,
          "certificate = " + certificate + ", key = " + key + ": give both or none");
    }
    try {
      TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
      if (certificate != null && key != null) {
        tls.keyManager(file(certificate), file(key));
      }
      if (serverAuthority != null) {
        tls.trustManager(file(serverAuthority));
      }
      return tls.build();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  private static File file(Path path) {
    return path.toFile();
  }

  private static RelayException unreadable(IOException e) {
    RelayErrorReason reason = RelayErrorReason.INVALID_CONFIGURATION;
    return new RelayException(reason, reason.action(), "TLS file: " + e.getMessage(), e);
  }
}
