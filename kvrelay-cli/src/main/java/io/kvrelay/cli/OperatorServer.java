package io.kvrelay.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayHealth;
import io.micrometer.core.instrument.Counter;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The local endpoint for operators. Without authentication or encryption: it belongs on a loopback
 * address, or behind something that has both. What changes anything takes a JSON body, which a
 * browser does not send to a foreign site unasked.
 */
final class OperatorServer implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(OperatorServer.class.getName());
  private static final int THREADS = 8;
  private static final int REQUEST_SECONDS = 5;
  private static final int CONNECTIONS = 256;
  private static final int MAX_BODY_BYTES = 4096;
  private static final int CLEAR_SECONDS = 30;

  /** Clears that may be under way: each holds a thread, and the others are health's. */
  static final int CLEARS_AT_ONCE = THREADS / 2;

  private static final int ANSWER_SECONDS = CLEAR_SECONDS + 10;
  private static final String JSON = "application/json";
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  // The server knows no other way to be told. A peer that is slow to ask, or to read its answer,
  // holds a thread for that long at most, and no other peer for good.
  static {
    limit("sun.net.httpserver.maxReqTime", REQUEST_SECONDS);
    limit("sun.net.httpserver.maxRspTime", ANSWER_SECONDS);
    limit("jdk.httpserver.maxConnections", CONNECTIONS);
  }

  /** An answer. */
  private record Answer(int status, String type, String body) {}

  /** Clears a rank, as {@code KvDcRelay} does. */
  @FunctionalInterface
  interface Clears {
    CompletionStage<Void> clear(EndpointId endpoint, Member member);
  }

  @FunctionalInterface
  private interface Page {
    Answer answer(HttpExchange exchange) throws IOException;
  }

  private final HttpServer server;
  private final ExecutorService executor;
  private final RelayProcess process;
  private final Clears clears;
  private final Semaphore clearPermits = new Semaphore(CLEARS_AT_ONCE);
  private final Counter refusedClears;

  private OperatorServer(HttpServer server, RelayProcess process, Clears clears) {
    this.server = server;
    this.process = process;
    this.clears = clears;
    this.refusedClears =
        Counter.builder("kvrelay.http.clears.refused")
            .baseUnit("requests")
            .description("Clears refused because too many were under way")
            .register(process.meters());
    this.executor =
        Executors.newFixedThreadPool(
            THREADS,
            task -> {
              Thread thread = new Thread(task, "kvrelay-http");
              thread.setDaemon(true);
              return thread;
            });
  }

  static OperatorServer open(InetSocketAddress address, RelayProcess process) throws IOException {
    return open(address, process, process.relay()::clearRank);
  }

  static OperatorServer open(InetSocketAddress address, RelayProcess process, Clears clears)
      throws IOException {
    OperatorServer opened = new OperatorServer(HttpServer.create(address, 0), process, clears);
    opened.server.setExecutor(opened.executor);
    opened.page("/healthz", "GET", exchange -> opened.health());
    opened.page("/readyz", "GET", exchange -> opened.ready());
    opened.page("/metrics", "GET", exchange -> new Answer(200, TEXT, process.meters().scrape()));
    opened.page(
        "/diagnostics",
        "GET",
        exchange -> new Answer(200, JSON, Diagnostics.of(process.relay(), process.inputs())));
    opened.page("/ranks/clear", "POST", opened::clear);
    opened.server.start();
    return opened;
  }

  String address() {
    InetSocketAddress bound = server.getAddress();
    return bound.getHostString() + ":" + bound.getPort();
  }

  private static void limit(String property, int value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, Integer.toString(value));
    }
  }

  private void page(String path, String method, Page page) {
    server.createContext(
        path,
        exchange -> {
          try (exchange) {
            send(exchange, answer(exchange, path, method, page));
          }
        });
  }

  private static Answer answer(HttpExchange exchange, String path, String method, Page page) {
    try {
      if (!path.equals(exchange.getRequestURI().getPath())) {
        return error(404, "there is nothing at " + exchange.getRequestURI());
      }
      String wanted = exchange.getRequestMethod();
      if (!wanted.equals(method) && !(isHead(exchange) && method.equals("GET"))) {
        exchange.getResponseHeaders().set("Allow", method.equals("GET") ? "GET, HEAD" : method);
        return error(405, path + " takes " + method);
      }
      return page.answer(exchange);
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.WARNING, "request for " + path, e);
      return error(500, String.valueOf(e));
    }
  }

  private static Answer error(int status, String message) {
    return new Answer(
        status, JSON, JsonLine.of(json -> json.writeStringField("error", message)) + "\n");
  }

  private static boolean isHead(HttpExchange exchange) {
    return exchange.getRequestMethod().equals("HEAD");
  }

  private static void send(HttpExchange exchange, Answer answer) throws IOException {
    byte[] body = answer.body().getBytes(UTF_8);
    exchange.getResponseHeaders().set("Content-Type", answer.type());
    exchange.getResponseHeaders().set("Cache-Control", "no-store");
    if (isHead(exchange)) {
      exchange.sendResponseHeaders(answer.status(), -1);
    } else {
      exchange.sendResponseHeaders(answer.status(), body.length);
      exchange.getResponseBody().write(body);
    }
  }

  private Answer health() {
    RelayHealth health = process.relay().health();
    return new Answer(health.healthy() ? 200 : 503, JSON, Diagnostics.health(health));
  }

  /** Whether routers should be led here: facts are known, and what was asked for is served. */
  private Answer ready() {
    RelayHealth health = process.relay().health();
    boolean knowsFacts =
        process.relay().statistics().deployment() != null && health.factsError() == null;
    boolean ready =
        knowsFacts
            && !health.shuttingDown()
            && health.hostLastError() == null
            && (!health.wanEnabled() || health.wanServing());
    return new Answer(
        ready ? 200 : 503,
        JSON,
        JsonLine.of(json -> json.writeBooleanField("ready", ready)) + "\n");
  }

  private Answer clear(HttpExchange exchange) throws IOException {
    String type = String.valueOf(exchange.getRequestHeaders().getFirst("Content-Type"));
    if (!type.toLowerCase(Locale.ROOT).startsWith(JSON)) {
      return error(415, "Content-Type = " + type + ": must be " + JSON);
    }
    byte[] body = exchange.getRequestBody().readNBytes(MAX_BODY_BYTES + 1);
    if (body.length > MAX_BODY_BYTES) {
      return error(413, "the body has more than " + MAX_BODY_BYTES + " bytes");
    }
    ClearRequest request;
    try {
      request = ClearRequest.parse(new String(body, UTF_8));
    } catch (IllegalArgumentException e) {
      return error(400, String.valueOf(e.getMessage()));
    }
    if (!clearPermits.tryAcquire()) {
      refusedClears.increment();
      return error(503, CLEARS_AT_ONCE + " clears are under way: ask again");
    }
    try {
      return clear(request);
    } finally {
      clearPermits.release();
    }
  }

  private Answer clear(ClearRequest request) {
    try {
      clears
          .clear(request.endpoint(), request.member())
          .toCompletableFuture()
          .orTimeout(CLEAR_SECONDS, TimeUnit.SECONDS)
          .join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RelayException refused) {
        boolean unknown =
            refused.reason() == RelayErrorReason.POOL_NOT_FOUND
                || refused.reason() == RelayErrorReason.INVALID_REQUEST;
        return error(unknown ? 404 : 503, String.valueOf(refused.getMessage()));
      }
      return error(504, "was not done within " + CLEAR_SECONDS + " s");
    }
    LOG.log(
        Level.INFO, "rank {0} of {1} was cleared by hand", request.member(), request.endpoint());
    return new Answer(
        200,
        JSON,
        JsonLine.of(
                json -> {
                  json.writeStringField("endpoint", request.endpoint().toString());
                  json.writeStringField("rank", request.member().toString());
                  json.writeBooleanField("cleared", true);
                })
            + "\n");
  }

  @Override
  public void close() {
    server.stop(0);
    executor.shutdownNow();
  }
}
