package io.kvrelay.dynamo;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;

/** As much of etcd's JSON gateway as a reader needs, with a will to misbehave. Thread safe. */
final class FakeEtcd implements AutoCloseable {
  private record Watcher(HttpExchange exchange, String prefix) {}

  private final HttpServer server;
  private final Map<String, String> keys = new TreeMap<>();
  private final List<Watcher> watchers = new ArrayList<>();
  private long revision = 100;
  private int listings;
  private boolean failing;
  private String wantedToken;

  FakeEtcd() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/v3/kv/txn", exchange -> answer(exchange, this::list));
    server.createContext("/v3/watch", this::watch);
    server.createContext("/v3/auth/authenticate", exchange -> answer(exchange, this::token));
    server.start();
  }

  EtcdAccess access() {
    return EtcdAccess.parse(address());
  }

  String address() {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  synchronized void requireToken(String token) {
    wantedToken = token;
  }

  synchronized void fail(boolean fails) {
    failing = fails;
  }

  synchronized int listings() {
    return listings;
  }

  /** Changes a key without telling the watchers. */
  synchronized void putSilently(String key, String value) {
    revision++;
    keys.put(key, value);
  }

  synchronized void put(String key, String value) throws IOException {
    putSilently(key, value);
    tell(key, event(key, value));
  }

  synchronized void delete(String key) throws IOException {
    revision++;
    keys.remove(key);
    tell(key, "{\"type\":\"DELETE\",\"kv\":{\"key\":\"" + base64(key) + "\"}}");
  }

  private void tell(String key, String event) throws IOException {
    for (Watcher watcher : watchers) {
      if (key.startsWith(watcher.prefix())) {
        send(watcher, "{\"result\":{\"header\":{},\"events\":[" + event + "]}}\n");
      }
    }
  }

  /** Sends one watcher a message and forgets them all: the reader is expected to begin anew. */
  synchronized void sendToOne(String message) throws IOException {
    Watcher first = watchers.get(0);
    watchers.clear();
    send(first, message + "\n");
  }

  synchronized void cutWatches() {
    watchers.forEach(watcher -> watcher.exchange().close());
    watchers.clear();
  }

  private static void send(Watcher watcher, String text) throws IOException {
    OutputStream out = watcher.exchange().getResponseBody();
    out.write(text.getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  synchronized int watches() {
    return watchers.size();
  }

  @FunctionalInterface
  private interface Answering {
    String to(JsonObject request) throws MalformedException;
  }

  private void answer(HttpExchange exchange, Answering answering) throws IOException {
    try (exchange) {
      byte[] body;
      int status = 200;
      synchronized (this) {
        if (refuses(exchange)) {
          status = 503;
          body = "{\"error\":\"etcdserver: no leader\"}".getBytes(StandardCharsets.UTF_8);
        } else {
          body =
              answering
                  .to(Json.parseObject(exchange.getRequestBody().readAllBytes()))
                  .getBytes(StandardCharsets.UTF_8);
        }
      }
      exchange.sendResponseHeaders(status, body.length);
      exchange.getResponseBody().write(body);
    } catch (MalformedException e) {
      throw new IOException(e);
    }
  }

  private boolean refuses(HttpExchange exchange) {
    boolean login = exchange.getRequestURI().getPath().startsWith("/v3/auth");
    String token = exchange.getRequestHeaders().getFirst("authorization");
    return failing || (wantedToken != null && !login && !wantedToken.equals(token));
  }

  private String token(JsonObject request) throws MalformedException {
    return "{\"token\":\"" + request.text("name") + "-" + request.text("password") + "\"}";
  }

  private String list(JsonObject request) throws MalformedException {
    listings++;
    StringBuilder responses = new StringBuilder();
    for (Object one : request.list("success")) {
      String prefix = prefix(JsonObject.of(one, "success").object("request_range"));
      StringBuilder kvs = new StringBuilder();
      keys.forEach(
          (key, value) -> {
            if (key.startsWith(prefix)) {
              kvs.append(kvs.isEmpty() ? "" : ",").append(kv(key, value));
            }
          });
      responses.append(responses.isEmpty() ? "" : ",");
      responses.append("{\"response_range\":{\"kvs\":[").append(kvs).append("]}}");
    }
    return "{\"header\":{\"revision\":\"" + revision + "\"},\"responses\":[" + responses + "]}";
  }

  private void watch(HttpExchange exchange) throws IOException {
    try {
      JsonObject request =
          Json.parseObject(exchange.getRequestBody().readAllBytes()).object("create_request");
      synchronized (this) {
        if (Long.parseLong(request.text("start_revision")) != revision + 1) {
          throw new IOException("the fake does not keep history");
        }
        exchange.sendResponseHeaders(200, 0);
        Watcher watcher = new Watcher(exchange, prefix(request));
        watchers.add(watcher);
        send(watcher, "{\"result\":{\"header\":{},\"created\":true}}\n");
      }
    } catch (MalformedException e) {
      throw new IOException(e);
    }
  }

  private static String prefix(JsonObject range) throws MalformedException {
    return new String(Base64.getDecoder().decode(range.text("key")), StandardCharsets.UTF_8);
  }

  private static String event(String key, String value) {
    return "{\"kv\":" + kv(key, value) + "}";
  }

  private static String kv(String key, String value) {
    return "{\"key\":\"" + base64(key) + "\",\"value\":\"" + base64(value) + "\"}";
  }

  private static String base64(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  @Override
  public void close() {
    cutWatches();
    server.stop(0);
  }
}
