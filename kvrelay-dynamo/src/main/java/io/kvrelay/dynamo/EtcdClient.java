package io.kvrelay.dynamo;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Calls of etcd's JSON gateway over HTTP. Thread safe; nothing blocks. */
final class EtcdClient {
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(5);
  private static final int MAX_DOCUMENT_BYTES = 64 << 20;
  private static final int MAX_ERROR_CHARS = 200;

  private final EtcdAccess access;
  private final HttpClient http;
  private int endpoint;
  private @Nullable String token;

  EtcdClient(EtcdAccess access, Executor executor) {
    this.access = access;
    HttpClient.Builder builder =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CALL_TIMEOUT)
            .executor(executor);
    if (access.tls() != null) {
      builder.sslContext(access.tls());
    }
    this.http = builder.build();
  }

  /** The next calls go to the next address, with a token of its own. */
  synchronized void tryNext() {
    endpoint = (endpoint + 1) % access.endpoints().size();
    token = null;
  }

  synchronized URI current() {
    return access.endpoints().get(endpoint);
  }

  /** Lists all records. */
  CompletionStage<EtcdMessages.Listing> list() {
    return authenticated()
        .thenCompose(nothing -> call("/v3/kv/txn", EtcdMessages.list()))
        .thenApply(answer -> parsed(() -> EtcdMessages.listing(answer)));
  }

  private CompletionStage<?> authenticated() {
    String user = access.user();
    String password = access.password();
    synchronized (this) {
      if (user == null || password == null || token != null) {
        return CompletableFuture.completedFuture(null);
      }
    }
    return call("/v3/auth/authenticate", EtcdMessages.authenticate(user, password))
        .thenAccept(answer -> remember(parsed(() -> EtcdMessages.token(answer))));
  }

  private synchronized void remember(String given) {
    token = given;
  }

  private HttpRequest.Builder request(String path, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(current().resolve(path))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body));
    synchronized (this) {
      if (token != null) {
        request.header("authorization", token);
      }
    }
    return request;
  }

  private CompletionStage<byte[]> call(String path, String body) {
    Lines answer = new Lines(document -> {});
    return http.sendAsync(request(path, body).timeout(CALL_TIMEOUT).build(), info -> answer)
        .thenApply(
            response -> {
              checkStatus(response, answer);
              return answer.first();
            })
        .orTimeout(CALL_TIMEOUT.toMillis() * 2, java.util.concurrent.TimeUnit.MILLISECONDS);
  }

  private static void checkStatus(HttpResponse<?> response, Lines answer) {
    if (response.statusCode() != 200) {
      String text = new String(answer.first(), java.nio.charset.StandardCharsets.UTF_8);
      throw new CompletionException(
          new MalformedException(
              "etcd answered "
                  + response.statusCode()
                  + ": "
                  + text.substring(0, Math.min(text.length(), MAX_ERROR_CHARS))));
    }
  }

  /** One watch. */
  interface Watching {
    void cancel();

    /** Completes when the watch has ended, always with a failure. */
    CompletionStage<Void> ended();
  }

  /**
   * Watches one bucket.
   *
   * @param bucket what to watch
   * @param revision the first revision wanted
   * @param sink takes the changes, one message at a time
   * @return the watch
   */
  Watching watch(RecordKey.Bucket bucket, long revision, Consumer<List<EtcdMessages.Change>> sink) {
    Lines lines = new Lines(document -> sink.accept(parsed(() -> EtcdMessages.changes(document))));
    CompletableFuture<HttpResponse<Void>> call =
        http.sendAsync(
            request("/v3/watch", EtcdMessages.watch(bucket, revision)).build(), info -> lines);
    CompletionStage<Void> ended =
        call.thenAccept(
            response -> {
              checkStatus(response, lines);
              throw new CompletionException(new MalformedException("the watch was closed"));
            });
    return new Watching() {
      @Override
      public void cancel() {
        lines.cancel();
        call.cancel(true);
      }

      @Override
      public CompletionStage<Void> ended() {
        return ended;
      }
    };
  }

  @FunctionalInterface
  private interface Parsing<T> {
    T parse() throws MalformedException;
  }

  private static <T> T parsed(Parsing<T> parsing) {
    try {
      return parsing.parse();
    } catch (MalformedException e) {
      throw new CompletionException(e);
    }
  }

  /** A body of documents, one a line; the first is kept for those who want one alone. */
  private static final class Lines implements HttpResponse.BodySubscriber<Void> {
    private final Consumer<byte[]> sink;
    private final Documents documents = new Documents(MAX_DOCUMENT_BYTES);
    private final CompletableFuture<Void> body = new CompletableFuture<>();
    private volatile Flow.@Nullable Subscription subscription;
    private volatile boolean cancelled;
    private volatile byte[] first = {};

    private Lines(Consumer<byte[]> sink) {
      this.sink = sink;
    }

    private byte[] first() {
      return first;
    }

    private void cancel() {
      cancelled = true;
      Flow.Subscription given = subscription;
      if (given != null) {
        given.cancel();
      }
    }

    @Override
    public CompletionStage<Void> getBody() {
      return body;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      if (cancelled) {
        given.cancel();
      } else {
        given.request(Long.MAX_VALUE);
      }
    }

    @Override
    public void onNext(List<java.nio.ByteBuffer> buffers) {
      try {
        for (java.nio.ByteBuffer buffer : buffers) {
          byte[] bytes = new byte[buffer.remaining()];
          buffer.get(bytes);
          for (byte[] document : documents.take(bytes)) {
            document(document);
          }
        }
      } catch (MalformedException | RuntimeException e) {
        cancel();
        body.completeExceptionally(e);
      }
    }

    private void document(byte[] document) {
      if (first.length == 0) {
        first = document;
      }
      sink.accept(document);
    }

    @Override
    public void onError(Throwable failure) {
      body.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
      byte[] rest = documents.end();
      if (rest.length > 0 && first.length == 0) {
        first = rest;
      }
      body.complete(null);
    }
  }
}
