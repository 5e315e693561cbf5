package io.kvrelay.cli;

import java.net.InetSocketAddress;

/** {@code HOST:PORT} on the command line. */
final class HttpAddress {
  private HttpAddress() {}

  static InetSocketAddress parse(String option, String text) {
    int colon = text.lastIndexOf(':');
    String host = colon < 0 ? "" : text.substring(0, colon);
    String port = text.substring(colon + 1);
    if (host.isEmpty() || !port.matches("\\d{1,5}") || Integer.parseInt(port) > 65_535) {
      throw new InputException(option + " = " + text + ": must be HOST:PORT");
    }
    if (host.startsWith("[") && host.endsWith("]")) {
      host = host.substring(1, host.length() - 1);
    }
    InetSocketAddress address = new InetSocketAddress(host, Integer.parseInt(port));
    if (address.isUnresolved()) {
      throw new InputException(option + " = " + text + ": no host has the name " + host);
    }
    return address;
  }
}
