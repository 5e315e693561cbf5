package io.kvrelay.dynamo;

import io.kvrelay.api.runtime.RelayRuntime;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Where workers call back with their answers: one listener, each connection recognised by the
 * subject of its hello. Opens with the first question. Thread safe.
 */
final class QueryDoor implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(QueryDoor.class.getName());
  private static final int BACKLOG = 64;
  private static final Duration HELLO = Duration.ofSeconds(10);

  private final RelayRuntime runtime;
  private final InetSocketAddress bind;
  private final Executor io;
  private final Map<String, CompletableFuture<Socket>> expected = new ConcurrentHashMap<>();
  private final LongAdder strangers = new LongAdder();
  private @Nullable ServerSocket door;
  private boolean closed;

  /**
   * Creates a door that is not open yet.
   *
   * @param runtime timer
   * @param bind where to listen
   * @param io runs what blocks; refuses what is too much
   */
  QueryDoor(RelayRuntime runtime, InetSocketAddress bind, Executor io) {
    this.runtime = runtime;
    this.bind = bind;
    this.io = io;
  }

  /** The port it listens on; opens it if need be. */
  synchronized int port() throws IOException {
    if (closed) {
      throw new IOException("closed");
    }
    ServerSocket open = door;
    if (open == null) {
      open = new ServerSocket();
      try {
        open.bind(bind, BACKLOG);
      } catch (IOException e) {
        open.close();
        throw new IOException("cannot listen at " + bind + ": " + e.getMessage(), e);
      }
      door = open;
      ServerSocket listening = open;
      Thread thread = new Thread(() -> accept(listening), "kvrelay-dynamo-answers");
      thread.setDaemon(true);
      thread.start();
    }
    return open.getLocalPort();
  }

  /** Waits for the caller who names a subject; the stage holds its connection, after the hello. */
  CompletableFuture<Socket> expect(String subject) {
    CompletableFuture<Socket> caller = new CompletableFuture<>();
    expected.put(subject, caller);
    var unused = caller.whenComplete((socket, failure) -> expected.remove(subject, caller));
    return caller;
  }

  private void accept(ServerSocket listening) {
    while (!listening.isClosed()) {
      try {
        Socket caller = listening.accept();
        try {
          io.execute(() -> greet(caller));
        } catch (RejectedExecutionException full) {
          strangers.increment();
          caller.close();
        }
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "no caller", e);
      }
    }
  }

  private void greet(Socket caller) {
    RelayRuntime.Timer patience = runtime.schedule(HELLO.toNanos(), () -> closeQuietly(caller));
    boolean expectedCaller = false;
    try {
      caller.setTcpNoDelay(true);
      TwoPart hello = TwoPart.read(caller.getInputStream(), 0);
      CompletableFuture<Socket> waiting =
          hello == null ? null : expected.get(AnswerStream.subject(hello));
      expectedCaller = waiting != null && waiting.complete(caller);
    } catch (IOException | MalformedException e) {
      LOG.log(Level.DEBUG, "a caller did not introduce itself", e);
    } finally {
      patience.cancel();
      if (!expectedCaller) {
        strangers.increment();
        closeQuietly(caller);
      }
    }
  }

  static void closeQuietly(AutoCloseable socket) {
    try {
      socket.close();
    } catch (Exception e) {
      LOG.log(Level.DEBUG, "a socket cannot be closed", e);
    }
  }

  /** Connections that nobody waited for. */
  long strangers() {
    return strangers.sum();
  }

  @Override
  public void close() {
    ServerSocket open;
    synchronized (this) {
      closed = true;
      open = door;
    }
    if (open != null) {
      closeQuietly(open);
    }
    expected.values().forEach(waiting -> waiting.completeExceptionally(new IOException("closed")));
  }
}
