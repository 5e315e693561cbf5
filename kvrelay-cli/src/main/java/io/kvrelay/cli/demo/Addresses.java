package io.kvrelay.cli.demo;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.cli.InputException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Where the relays export. {@code inproc} takes fresh names, another bare scheme takes free ports
 * of this host, and an address with a port takes that one and those that follow it. Immutable.
 */
public final class Addresses {
  private static final AtomicLong NAMES = new AtomicLong();
  private static final int LARGEST_PORT = 65_535;

  private final String transport;
  private final URI first;

  private Addresses(String transport, URI first) {
    this.transport = transport;
    this.first = first;
  }

  /**
   * Refuses what cannot be a transport, before anything else is done.
   *
   * @param transport a scheme, or an address with a port
   * @param dcs how many addresses are needed
   * @return the first of them
   * @throws InputException if no such transport exists or the address has no usable port
   */
  public static URI check(String transport, int dcs) {
    return parse(transport, dcs).of(0);
  }

  /**
   * Reads {@code --transport}.
   *
   * @param transport a scheme, or an address with a port
   * @param dcs how many addresses are needed
   * @return the addresses
   * @throws InputException if no such transport exists or the address has no usable port
   */
  static Addresses parse(String transport, int dcs) {
    try {
      URI first = new URI(complete(transport));
      RelayTransports.forAddress(first);
      boolean named = first.isOpaque();
      if (!named && (first.getPort() < 0 || first.getPort() + dcs - 1 > LARGEST_PORT)) {
        throw fault(transport, "needs " + dcs + " ports from the one it gives");
      }
      return new Addresses(transport, first);
    } catch (URISyntaxException e) {
      throw fault(transport, e.getReason());
    } catch (RelayException e) {
      throw fault(transport, String.valueOf(e.getMessage()));
    }
  }

  private static InputException fault(String transport, String rule) {
    return new InputException("--transport = " + transport + ": " + rule);
  }

  private static String complete(String transport) {
    if (transport.equals("inproc")) {
      return "inproc:demo-" + NAMES.incrementAndGet();
    }
    return transport.contains(":") ? transport : transport + "://127.0.0.1:0";
  }

  /** A failure to export or to connect, told as the fault of the option. */
  InputException unusable(RelayException failure) {
    return fault(transport, String.valueOf(failure.getMessage()));
  }

  /**
   * Where one data center exports.
   *
   * @param dc its index
   * @return the address
   */
  URI of(int dc) {
    if (first.isOpaque()) {
      return URI.create(first + "-" + dc);
    }
    int port = first.getPort() == 0 ? 0 : first.getPort() + dc;
    return URI.create(first.getScheme() + "://" + first.getHost() + ":" + port);
  }
}
