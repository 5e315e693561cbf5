package io.kvrelay.transport.grpc;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.net.URI;
import java.net.URISyntaxException;

/**
 * {@code grpc://HOST:PORT}: a host name, an IPv4 address or an IPv6 address in brackets, and a
 * port; nothing else.
 */
record GrpcAddress(String host, int port) {
  static final String SCHEME = "grpc";

  static GrpcAddress parse(URI uri) {
    String rest = uri.getRawPath() == null ? "" : uri.getRawPath();
    boolean bare =
        SCHEME.equalsIgnoreCase(uri.getScheme())
            && (rest.isEmpty() || rest.equals("/"))
            && uri.getRawQuery() == null
            && uri.getRawFragment() == null
            && uri.getRawUserInfo() == null;
    String authority = uri.getRawAuthority();
    if (!bare || authority == null) {
      throw malformed(uri);
    }
    // Not URI.getHost: it knows no host names with an underscore, which clusters do.
    int colon = authority.lastIndexOf(':');
    if (colon <= 0 || authority.indexOf('@') >= 0) {
      throw malformed(uri);
    }
    String host = authority.substring(0, colon);
    if (host.startsWith("[") != host.endsWith("]")
        || (host.indexOf(':') >= 0 && !host.startsWith("["))) {
      throw malformed(uri);
    }
    return new GrpcAddress(
        host.startsWith("[") ? host.substring(1, host.length() - 1) : host,
        port(authority.substring(colon + 1), uri));
  }

  private static int port(String digits, URI uri) {
    try {
      int port = Integer.parseInt(digits);
      if (port >= 0 && port <= 65_535 && Character.isDigit(digits.charAt(0))) {
        return port;
      }
    } catch (NumberFormatException e) {
      // reported below
    }
    throw malformed(uri);
  }

  private static RelayException malformed(URI uri) {
    return new RelayException(
        RelayErrorReason.INVALID_CONFIGURATION, "address = " + uri + ": must be grpc://HOST:PORT");
  }

  GrpcAddress withPort(int actual) {
    return new GrpcAddress(host, actual);
  }

  URI toUri() {
    String shown = host.indexOf(':') >= 0 ? "[" + host + "]" : host;
    try {
      return new URI(SCHEME + "://" + shown + ":" + port);
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e); // came from a URI
    }
  }
}
