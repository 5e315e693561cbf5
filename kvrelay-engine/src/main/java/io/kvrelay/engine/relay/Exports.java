package io.kvrelay.engine.relay;

import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.topology.HealthTracker;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The exports that a relay opened for its host, and what health says of them: all that were not
 * closed must serve. Thread safe.
 */
final class Exports implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Exports.class.getName());

  private final HealthTracker health;
  // Guarded by this.
  private final List<RelayExport> open = new ArrayList<>();
  private boolean any;
  private boolean closed;

  Exports(HealthTracker health) {
    this.health = health;
  }

  RelayExport open(RelayPublicationSource source, URI address, ExportOptions options) {
    RelayExport inner;
    try {
      inner = RelayTransports.export(source, address, options);
    } catch (RuntimeException refused) {
      health.wanEnabled();
      health.wanStopped(address + ": " + refused.getMessage());
      throw refused;
    }
    Tracked export = new Tracked(inner);
    boolean late;
    synchronized (this) {
      late = closed;
      any = true;
      open.add(export);
    }
    if (late) {
      export.close();
    }
    refresh();
    return export;
  }

  /** Looks at every export and tells health. */
  synchronized void refresh() {
    if (!any) {
      return;
    }
    String failure = null;
    for (RelayExport export : open) {
      if (!export.isServing() && failure == null) {
        failure = export.address() + ": " + export.lastError();
      }
    }
    if (failure == null && !open.isEmpty()) {
      health.wanServing(
          open.stream().map(each -> each.address().toString()).collect(Collectors.joining(" ")));
    } else {
      health.wanStopped(failure);
    }
  }

  private synchronized void forget(RelayExport export) {
    open.remove(export);
  }

  @Override
  public void close() {
    List<RelayExport> all;
    synchronized (this) {
      closed = true;
      all = List.copyOf(open);
    }
    all.forEach(Exports::close);
  }

  /** One that fails to close keeps no other open. */
  private static void close(RelayExport export) {
    try {
      export.close();
    } catch (RuntimeException | Error e) {
      LOG.log(Level.WARNING, "the export " + export.address() + " did not close", e);
    }
  }

  private final class Tracked implements RelayExport {
    private final RelayExport inner;

    private Tracked(RelayExport inner) {
      this.inner = inner;
    }

    @Override
    public URI address() {
      return inner.address();
    }

    @Override
    public boolean isServing() {
      return inner.isServing();
    }

    @Override
    public @Nullable Throwable lastError() {
      return inner.lastError();
    }

    @Override
    public void close() {
      forget(this);
      inner.close();
    }
  }
}
