package io.kvrelay.dynamo;

import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.RetryDelay;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Where workers call back with their answers: one listener, each connection recognised by the
 * subject of its hello. Opens with the first question. Thread safe.
 */
final class QueryDoor implements AutoCloseable {
  /** Makes a listener that is not bound yet. */
  interface Listeners {
    ServerSocket create() throws IOException;
  }

  private static final System.Logger LOG = System.getLogger(QueryDoor.class.getName());
  private static final int BACKLOG = 64;
  private static final Duration HELLO = Duration.ofSeconds(10);

  /** Callers that have not said who they are; each holds a thread. */
  private static final int MAX_SILENT = 16;

  private static final Duration FIRST_PAUSE = Duration.ofMillis(10);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

  private final RelayRuntime runtime;
  private final InetSocketAddress bind;
  private final Executor io;
  private final Listeners listeners;
  private final Map<String, CompletableFuture<Socket>> expected = new ConcurrentHashMap<>();
  private final Set<Socket> silent = new LinkedHashSet<>();
  private final LongAdder strangers = new LongAdder();
  private final LongAdder failedAccepts = new LongAdder();
  private final CountDownLatch closing = new CountDownLatch(1);
  private @Nullable ServerSocket door;

  /**
   * Creates a door that is not open yet.
   *
   * @param runtime timer
   * @param bind where to listen
   * @param io runs what blocks; refuses what is too much
   * @param listeners makes the listener
   */
  QueryDoor(RelayRuntime runtime, InetSocketAddress bind, Executor io, Listeners listeners) {
    this.runtime = runtime;
    this.listeners = listeners;
    this.bind = bind;
    this.io = io;
  }

  /** The port it listens on; opens it if need be. */
  synchronized int port() throws IOException {
    if (closing.getCount() == 0) {
      throw new IOException("closed");
    }
    ServerSocket open = door;
    if (open == null) {
      open = listeners.create();
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
    RetryDelay delay = new RetryDelay(FIRST_PAUSE, LONGEST_PAUSE);
    while (!listening.isClosed()) {
      try {
        letIn(listening.accept());
        delay.reset();
      } catch (IOException e) {
        if (!listening.isClosed()) {
          LOG.log(Level.DEBUG, "no caller", e);
          failedAccepts.increment();
          pause(delay.takeNanos());
        }
      }
    }
  }

  /** Whoever waits outside goes on failing while descriptors are short: not without a pause. */
  private void pause(long nanos) {
    try {
      var unused = closing.await(nanos, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The one that has been silent for longest makes room. */
  private void letIn(Socket caller) {
    Socket oldest = null;
    synchronized (silent) {
      silent.add(caller);
      if (silent.size() > MAX_SILENT) {
        oldest = silent.iterator().next();
        silent.remove(oldest);
      }
    }
    if (oldest != null) {
      closeQuietly(oldest);
    }
    try {
      io.execute(() -> greet(caller));
    } catch (RejectedExecutionException full) {
      strangers.increment();
      forget(caller);
      closeQuietly(caller);
    }
  }

  private void forget(Socket caller) {
    synchronized (silent) {
      silent.remove(caller);
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
      forget(caller);
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

  /** Times that a caller could not be let in. */
  long failedAccepts() {
    return failedAccepts.sum();
  }

  @Override
  public void close() {
    ServerSocket open;
    synchronized (this) {
      closing.countDown();
      open = door;
    }
    if (open != null) {
      closeQuietly(open);
    }
    expected.values().forEach(waiting -> waiting.completeExceptionally(new IOException("closed")));
  }
}
