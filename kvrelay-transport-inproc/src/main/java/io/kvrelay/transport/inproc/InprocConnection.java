package io.kvrelay.transport.inproc;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ConnectedSource;
import java.net.URI;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One client's mirror of an exported source; each subscription is one {@link Pipe}. */
final class InprocConnection implements ConnectedSource {
  private final URI address;
  private final String name;
  private final ConnectOptions options;
  private final InprocExport connectedTo;
  private final RelayIdentity identity;
  private final Set<Pipe<?>> pipes = ConcurrentHashMap.newKeySet();
  private final CompletableFuture<Void> shutdown = new CompletableFuture<>();
  private volatile boolean closed;

  private InprocConnection(URI address, String name, ConnectOptions options, InprocExport export) {
    this.address = address;
    this.name = name;
    this.options = options;
    this.connectedTo = export;
    this.identity = export.source().relayIdentity();
  }

  static CompletionStage<ConnectedSource> open(URI address, String name, ConnectOptions options) {
    InprocExport export = InprocTransport.find(name);
    if (export == null || export.faults().isCut()) {
      throw unreachable(address, export == null ? "is not exported" : "is cut off");
    }
    CompletableFuture<ConnectedSource> connected = new CompletableFuture<>();
    RelayRuntime.Timer timeout =
        options
            .runtime()
            .schedule(
                options.connectTimeout().toNanos(),
                () ->
                    connected.completeExceptionally(
                        unreachable(address, "sent no catalog in " + options.connectTimeout())));
    FirstValue first =
        new FirstValue(
            error -> {
              if (error != null) {
                connected.completeExceptionally(
                    unreachable(address, "ended: " + error.getMessage()));
                return;
              }
              InprocConnection connection = new InprocConnection(address, name, options, export);
              export.connected(connection);
              if (!connected.complete(connection)) {
                connection.close();
              }
            });
    export.catalogMirror().subscribe(first);
    var unused =
        connected.whenComplete(
            (connection, error) -> {
              timeout.cancel();
              first.cancel();
            });
    return connected;
  }

  private static RelayException unreachable(URI address, String why) {
    return new RelayException(
        RelayErrorReason.ADDRESS_UNAVAILABLE, "address = " + address + ": " + why);
  }

  static RelayException unavailable(String message) {
    return new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, message);
  }

  @Override
  public URI address() {
    return address;
  }

  @Override
  public RelayIdentity relayIdentity() {
    return identity;
  }

  @Override
  public Flow.Publisher<PoolCatalog> catalog() {
    return stream(StreamType.CATALOG, InprocExport::admitCatalog);
  }

  @Override
  public Flow.Publisher<TopologySnapshot> readiness() {
    return stream(StreamType.READINESS, InprocExport::admitReadiness);
  }

  @Override
  public Flow.Publisher<LoadSnapshot> load() {
    return stream(StreamType.LOAD, InprocExport::admitLoad);
  }

  @Override
  public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
    Objects.requireNonNull(expected, "expected");
    return stream(StreamType.POOL, export -> export.admitPool(expected));
  }

  private <T> Flow.Publisher<T> stream(StreamType type, Pipe.Admission<T> admission) {
    return subscriber ->
        new Pipe<>(this, type, admission, Objects.requireNonNull(subscriber, "subscriber")).start();
  }

  @Override
  public CompletionStage<Void> shutdown() {
    return shutdown.minimalCompletionStage();
  }

  @Override
  public void close() {
    closed = true;
    connectedTo.disconnected(this);
    pipes.forEach(pipe -> pipe.end(null));
    shutdown.complete(null);
  }

  // For pipes and the export.

  /**
   * The export that has the name now, which must be the life of the relay that this connection
   * mirrors.
   */
  InprocExport export() {
    InprocExport current = InprocTransport.find(name);
    if (closed) {
      throw new RelayException(RelayErrorReason.CLOSED, "the connection to " + name + " is closed");
    }
    if (current == null || current.faults().isCut()) {
      throw unavailable(name + (current == null ? " is not exported" : " is cut off"));
    }
    RelayIdentity found = current.source().relayIdentity();
    if (!found.equals(identity)) {
      throw unavailable(name + " is now relay " + found + " instead of " + identity);
    }
    return current;
  }

  RelayRuntime runtime() {
    return options.runtime();
  }

  String subscriberId() {
    return options.subscriberId();
  }

  void opened(Pipe<?> pipe) {
    pipes.add(pipe);
    if (closed) {
      pipe.end(null);
    }
  }

  void closed(Pipe<?> pipe) {
    pipes.remove(pipe);
  }

  void sourceEnded() {
    shutdown.complete(null);
  }

  /** Waits for one value and is told whether it came. */
  private static final class FirstValue implements Flow.Subscriber<PoolCatalog> {
    private final Consumer<@Nullable Throwable> answer;
    private volatile Flow.@Nullable Subscription subscription;
    private volatile boolean cancelled;

    private FirstValue(Consumer<@Nullable Throwable> answer) {
      this.answer = answer;
    }

    /** From any thread, also before there is a subscription. */
    private void cancel() {
      cancelled = true;
      Flow.Subscription held = subscription;
      if (held != null) {
        held.cancel();
      }
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      if (cancelled) {
        given.cancel();
      } else {
        given.request(1);
      }
    }

    @Override
    public void onNext(PoolCatalog catalog) {
      cancel();
      answer.accept(null);
    }

    @Override
    public void onError(Throwable error) {
      answer.accept(error);
    }

    @Override
    public void onComplete() {
      if (!cancelled) {
        answer.accept(unavailable("the source has ended"));
      }
    }
  }
}
