package io.kvrelay.dynamo;

import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.runtime.RelayRuntime;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Asks workers for history: the request goes out on one connection, the answer comes in on another.
 * One thread per question under way; each step has a limit of its own, the whole has one, too.
 */
final class QueryClient {
  private static final Duration STEP = Duration.ofSeconds(5);
  private static final int MAX_ACKNOWLEDGEMENT_BYTES = 64 << 10;

  private final RelayRuntime runtime;
  private final QueryDoor door;
  private final Executor io;
  private final @Nullable String answerHost;
  private final Duration timeout;
  private final long maxAnswerBytes;
  private final Set<Question> underWay = ConcurrentHashMap.newKeySet();
  private final LongAdder asked = new LongAdder();
  private final LongAdder answered = new LongAdder();
  private final LongAdder failed = new LongAdder();

  /**
   * Creates a client.
   *
   * @param runtime timer
   * @param door where answers arrive
   * @param io runs what blocks; refuses what is too much
   * @param answerHost under which name workers reach the door, or null for the address from which
   *     the request is sent
   * @param timeout of a whole question
   * @param maxAnswerBytes a longer frame of an answer is refused
   */
  QueryClient(
      RelayRuntime runtime,
      QueryDoor door,
      Executor io,
      @Nullable String answerHost,
      Duration timeout,
      long maxAnswerBytes) {
    this.runtime = runtime;
    this.door = door;
    this.io = io;
    this.answerHost = answerHost;
    this.timeout = timeout;
    this.maxAnswerBytes = maxAnswerBytes;
  }

  /** Asks; fails if no complete answer comes. Cancelling the answer closes the connections. */
  CompletableFuture<HistoryReply> ask(RecoveryTarget target, HistoryRequest request) {
    asked.increment();
    Question question = new Question(target, request);
    underWay.add(question);
    try {
      io.execute(question);
    } catch (RejectedExecutionException full) {
      question.answer.completeExceptionally(new IOException("too many questions under way"));
    }
    var unused =
        question.answer.whenComplete(
            (reply, failure) -> {
              underWay.remove(question);
              (failure == null ? answered : failed).increment();
            });
    return question.answer;
  }

  /** Those that are under way fail. */
  void close() {
    underWay.forEach(question -> question.answer.completeExceptionally(new IOException("closed")));
  }

  long asked() {
    return asked.sum();
  }

  long answered() {
    return answered.sum();
  }

  long failed() {
    return failed.sum();
  }

  private final class Question implements Runnable {
    private final RecoveryTarget target;
    private final HistoryRequest request;
    private final String id = UUID.randomUUID().toString();
    private final String subject = UUID.randomUUID().toString();
    private final CompletableFuture<HistoryReply> answer = new CompletableFuture<>();
    private final CompletableFuture<Socket> caller = door.expect(subject);
    private final Socket out = new Socket();

    private Question(RecoveryTarget target, HistoryRequest request) {
      this.target = target;
      this.request = request;
      RelayRuntime.Timer patience =
          runtime.schedule(
              timeout.toNanos(),
              () ->
                  answer.completeExceptionally(
                      new IOException("no complete answer within " + timeout)));
      var unused =
          answer.whenComplete(
              (reply, failure) -> {
                patience.cancel();
                abandon();
              });
    }

    /** Whatever is being waited for ends. */
    private void abandon() {
      QueryDoor.closeQuietly(out);
      caller.completeExceptionally(new IOException("nobody waits any more"));
      var unused = caller.thenAccept(QueryDoor::closeQuietly);
    }

    @Override
    public void run() {
      try {
        send();
        answer.complete(HistoryReplies.read(receive()));
      } catch (IOException | MalformedException e) {
        answer.completeExceptionally(e);
      } catch (ExecutionException e) {
        answer.completeExceptionally(e.getCause() == null ? e : e.getCause());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        answer.completeExceptionally(e);
      } catch (RuntimeException | Error e) {
        answer.completeExceptionally(e);
        throw e;
      }
    }

    private void send() throws IOException, MalformedException {
      int port = door.port();
      out.connect(new InetSocketAddress(target.host(), target.port()), (int) STEP.toMillis());
      out.setTcpNoDelay(true);
      out.setSoTimeout((int) STEP.toMillis());
      String address = hostPort(out.getLocalAddress(), port);
      out.getOutputStream().write(QueryMessages.request(target, request, id, subject, address));
      out.getOutputStream().flush();
      DataInputStream in = new DataInputStream(out.getInputStream());
      int length = in.readInt();
      if (length < 0 || length > MAX_ACKNOWLEDGEMENT_BYTES) {
        throw MalformedException.of(
            "acknowledgement", Integer.toUnsignedString(length) + " bytes", "is too long");
      }
      if (length > 0) {
        byte[] text = in.readNBytes(length);
        throw new MalformedException(
            "the worker refused: " + new String(text, StandardCharsets.UTF_8));
      }
    }

    private String hostPort(InetAddress own, int port) {
      String host = answerHost == null ? own.getHostAddress() : answerHost;
      return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
    }

    private byte[] receive()
        throws IOException, MalformedException, ExecutionException, InterruptedException {
      try (Socket back = caller.get()) {
        InputStream in = back.getInputStream();
        AnswerStream stream = new AnswerStream(target.codec());
        while (true) {
          TwoPart frame = next(in, stream);
          if (frame == null || stream.take(frame)) {
            return stream.complete();
          }
        }
      }
    }

    /** A connection that breaks after the final frame is as good as one that ends. */
    private @Nullable TwoPart next(InputStream in, AnswerStream stream)
        throws IOException, MalformedException {
      try {
        return TwoPart.read(in, maxAnswerBytes);
      } catch (IOException e) {
        if (stream.hasFinal()) {
          return null;
        }
        throw e;
      }
    }
  }
}
