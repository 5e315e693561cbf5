package io.kvrelay.transport.inproc;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayTransport;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Connects a source and its consumers within one JVM, by name. Names are shared by the whole JVM
 * (of one class loader). Thread safe; nothing blocks.
 */
public final class InprocTransport implements RelayTransport {
  /** The scheme of its addresses. */
  public static final String SCHEME = "inproc";

  private static final Map<String, InprocExport> EXPORTS = new ConcurrentHashMap<>();

  /** Creates the transport; all instances share the names. */
  public InprocTransport() {}

  @Override
  public String scheme() {
    return SCHEME;
  }

  @Override
  public InprocExport export(RelayPublicationSource source, URI address, ExportOptions options) {
    String name;
    try {
      name = nameOf(address);
    } catch (RelayException malformed) {
      throw new RelayException(RelayErrorReason.INVALID_CONFIGURATION, malformed.getMessage());
    }
    InprocExport export = new InprocExport(name, source, options);
    if (EXPORTS.putIfAbsent(name, export) != null) {
      throw new RelayException(
          RelayErrorReason.ADDRESS_UNAVAILABLE, "address = " + address + ": the name is taken");
    }
    try {
      export.start();
    } catch (RuntimeException | Error e) {
      export.close(); // the name is free again, and the source is let go of
      throw e;
    }
    return export;
  }

  @Override
  public CompletionStage<ConnectedSource> connect(URI address, ConnectOptions options) {
    try {
      return InprocConnection.open(address, nameOf(address), options);
    } catch (RelayException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** The running export of a name, or null. */
  static @Nullable InprocExport find(String name) {
    return EXPORTS.get(name);
  }

  static void free(InprocExport export) {
    EXPORTS.remove(export.name(), export);
  }

  private static String nameOf(URI address) {
    String name = address.getSchemeSpecificPart();
    boolean valid =
        SCHEME.equalsIgnoreCase(address.getScheme())
            && address.isOpaque()
            && address.getFragment() == null
            && name.chars().noneMatch(Character::isWhitespace);
    if (!valid) {
      throw new RelayException(
          RelayErrorReason.ADDRESS_UNAVAILABLE,
          "address = " + address + ": must be inproc:NAME, a name without white space");
    }
    return name;
  }
}
