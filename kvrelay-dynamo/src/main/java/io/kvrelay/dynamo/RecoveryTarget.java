package io.kvrelay.dynamo;

/**
 * Whom to ask for a rank's history.
 *
 * @param host a host or an IP address, IPv6 without brackets
 * @param port its port
 * @param path the endpoint's path, opaque
 * @param codec how request and answer are encoded
 */
record RecoveryTarget(String host, int port, String path, Codec codec) {
  private static final String SCHEME = "tcp://";
  private static final int MAX_PORT = 0xFFFF;
  private static final int MAX_PATH_BYTES = 0xFFFF;

  /** Encodings of the request plane. */
  enum Codec {
    MSGPACK("msgpack"),
    JSON("json");

    private final String wireName;

    Codec(String wireName) {
      this.wireName = wireName;
    }

    String wireName() {
      return wireName;
    }

    static Codec ofWireName(String name) throws MalformedException {
      for (Codec codec : values()) {
        if (codec.wireName.equals(name)) {
          return codec;
        }
      }
      throw MalformedException.of("request_plane_codec", name, "must be msgpack or json");
    }
  }

  /** Reads {@code HOST:PORT/PATH}, with or without {@code tcp://}. */
  static RecoveryTarget parse(String transport, Codec codec) throws MalformedException {
    String rest = transport.startsWith(SCHEME) ? transport.substring(SCHEME.length()) : transport;
    int slash = rest.indexOf('/');
    String address = slash < 0 ? rest : rest.substring(0, slash);
    int colon = address.lastIndexOf(':');
    if (slash < 0 || colon <= 0 || slash + 1 == rest.length()) {
      throw MalformedException.of("transport.tcp", transport, "must be HOST:PORT/PATH");
    }
    String host = address.substring(0, colon);
    boolean bracketed = host.startsWith("[") && host.endsWith("]");
    return new RecoveryTarget(
        bracketed ? host.substring(1, host.length() - 1) : host,
        port(transport, address.substring(colon + 1)),
        path(transport, rest.substring(slash + 1)),
        codec);
  }

  private static int port(String transport, String digits) throws MalformedException {
    try {
      int port = Integer.parseInt(digits);
      if (port > 0 && port <= MAX_PORT) {
        return port;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw MalformedException.of("transport.tcp", transport, "must have a port from 1 to 65535");
  }

  private static String path(String transport, String path) throws MalformedException {
    if (path.getBytes(java.nio.charset.StandardCharsets.UTF_8).length > MAX_PATH_BYTES) {
      throw MalformedException.of("transport.tcp", transport, "has a path of over 65535 bytes");
    }
    return path;
  }

  /** As an advertisement carries it; {@link #ofText} reads it. */
  String toText() {
    String shown = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return codec.wireName() + " " + shown + ":" + port + "/" + path;
  }

  static RecoveryTarget ofText(String text) throws MalformedException {
    int blank = text.indexOf(' ');
    if (blank < 0) {
      throw MalformedException.of("recoveryTarget", text, "must be CODEC HOST:PORT/PATH");
    }
    return parse(text.substring(blank + 1), Codec.ofWireName(text.substring(0, blank)));
  }
}
