package io.kvrelay.engine.view;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransport;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** {@code scripted:NAME}: connects to what a test has put under the name. */
public final class ScriptedTransport implements RelayTransport {
  static final Map<String, Target> TARGETS = new ConcurrentHashMap<>();

  /** What connecting to one name does. */
  static final class Target {
    /** Answers to the next attempts; the last one stays. */
    final Deque<Object> answers = new ArrayDeque<>();

    final List<Connection> connections = new ArrayList<>();
    int attempts;

    Target then(ScriptedRelay relay) {
      answers.add(relay);
      return this;
    }

    Target then(Throwable failure) {
      answers.add(failure);
      return this;
    }

    private CompletionStage<ConnectedSource> connect(URI address) {
      attempts++;
      Object answer = answers.size() > 1 ? answers.remove() : answers.element();
      if (answer instanceof Throwable failure) {
        return CompletableFuture.failedFuture(failure);
      }
      Connection connection = new Connection(address, (ScriptedRelay) answer);
      connections.add(connection);
      return CompletableFuture.completedFuture(connection);
    }
  }

  /** A connection: the scripted relay, and whether it was closed. */
  static final class Connection implements ConnectedSource {
    private final URI address;
    private final RelayPublicationSource source;
    private boolean closed;

    private Connection(URI address, RelayPublicationSource source) {
      this.address = address;
      this.source = source;
    }

    boolean isClosed() {
      return closed;
    }

    @Override
    public URI address() {
      return address;
    }

    @Override
    public RelayIdentity relayIdentity() {
      return source.relayIdentity();
    }

    @Override
    public Flow.Publisher<PoolCatalog> catalog() {
      return source.catalog();
    }

    @Override
    public Flow.Publisher<TopologySnapshot> readiness() {
      return source.readiness();
    }

    @Override
    public Flow.Publisher<LoadSnapshot> load() {
      return source.load();
    }

    @Override
    public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
      return source.pool(expected);
    }

    @Override
    public CompletionStage<Void> shutdown() {
      return source.shutdown();
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  static Target at(String name) {
    return TARGETS.computeIfAbsent(name, n -> new Target());
  }

  /** Found by the service loader. */
  public ScriptedTransport() {}

  @Override
  public String scheme() {
    return "scripted";
  }

  @Override
  public RelayExport export(RelayPublicationSource source, URI address, ExportOptions options) {
    throw new UnsupportedOperationException("only connects");
  }

  @Override
  public CompletionStage<ConnectedSource> connect(URI address, ConnectOptions options) {
    @Nullable Target target = TARGETS.get(address.getSchemeSpecificPart());
    if (target == null) {
      throw new IllegalStateException("nothing under " + address);
    }
    return target.connect(address);
  }
}
