package io.kvrelay.events.zmq;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** ZeroMQ addresses, as far as ports and ranks go. */
final class Addresses {
  private static final Pattern TCP = Pattern.compile("tcp://(.+):([0-9]{1,5})");
  private static final int MAX_PORT = 65_535;

  private Addresses() {}

  /** Refuses what cannot be an address. */
  static void check(String field, String address) {
    if (address.startsWith("ipc://") || address.startsWith("inproc://")) {
      if (address.indexOf("://") + 3 == address.length()) {
        throw new IllegalArgumentException(field + " = \"" + address + "\": the name is missing");
      }
      return;
    }
    port(field, address);
  }

  private static int port(String field, String address) {
    Matcher tcp = TCP.matcher(address);
    if (!tcp.matches()) {
      throw new IllegalArgumentException(
          field + " = \"" + address + "\": must be tcp://HOST:PORT, ipc://PATH or inproc://NAME");
    }
    int port = Integer.parseInt(tcp.group(2));
    if (port < 1 || port > MAX_PORT) {
      throw new IllegalArgumentException(
          field + " = \"" + address + "\": the port must be 1..65535");
    }
    return port;
  }

  /**
   * The address of a rank: engines add the rank to a port, and a suffix to an inproc name.
   *
   * @throws IllegalArgumentException if there is no such address
   */
  static String ofRank(String field, String address, int rank) {
    check(field, address);
    if (rank == 0) {
      return address;
    }
    if (address.startsWith("inproc://")) {
      return address + "_dp" + rank;
    }
    if (address.startsWith("ipc://")) {
      throw new IllegalArgumentException(
          field + " = \"" + address + "\": an ipc address has no rank " + rank);
    }
    int port = port(field, address) + rank;
    if (port > MAX_PORT) {
      throw new IllegalArgumentException(
          field + " = \"" + address + "\": rank " + rank + " would have port " + port);
    }
    return address.substring(0, address.lastIndexOf(':') + 1) + port;
  }

  /** Where a worker's publishers and replay sockets would meet; null if they do not. */
  static @Nullable String collision(String address, @Nullable String replayAddress, int ranks) {
    if (replayAddress == null) {
      return null;
    }
    for (int publish = 0; publish < ranks; publish++) {
      String taken = ofRank("address", address, publish);
      for (int replay = 0; replay < ranks; replay++) {
        if (taken.equals(ofRank("replayAddress", replayAddress, replay))) {
          return taken
              + " is the publisher of rank "
              + publish
              + " and the replay socket of rank "
              + replay;
        }
      }
    }
    return null;
  }
}
