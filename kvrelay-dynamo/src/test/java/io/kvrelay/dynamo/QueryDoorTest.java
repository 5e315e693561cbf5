package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.runtime.VirtualRuntime;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who is let in at the door for answers; time is virtual, so nobody is sent away by the clock. */
@Timeout(60)
class QueryDoorTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final ExecutorService io = Executors.newCachedThreadPool();
  private final AtomicInteger failures = new AtomicInteger();
  private final List<Socket> callers = new ArrayList<>();
  private final QueryDoor door =
      new QueryDoor(
          runtime,
          new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
          io,
          this::shortOfDescriptors);

  /** A listener whose first accepts fail as they do when a process has no descriptors left. */
  private ServerSocket shortOfDescriptors() throws IOException {
    return new ServerSocket() {
      @Override
      public Socket accept() throws IOException {
        if (failures.getAndDecrement() > 0) {
          throw new IOException("Too many open files");
        }
        return super.accept();
      }
    };
  }

  @AfterEach
  void close() throws IOException {
    door.close();
    for (Socket caller : callers) {
      caller.close();
    }
    io.shutdownNow();
  }

  private Socket call() throws IOException {
    Socket caller = new Socket(InetAddress.getLoopbackAddress(), door.port());
    caller.setSoTimeout(20_000);
    callers.add(caller);
    return caller;
  }

  private void introduce(Socket caller, String subject) throws IOException {
    String hello = "{\"subject\":\"" + subject + "\",\"stream_type\":\"response\"}";
    caller
        .getOutputStream()
        .write(QueryMessages.twoPart(hello.getBytes(StandardCharsets.UTF_8), new byte[0]));
  }

  private static boolean isClosed(Socket caller) throws IOException {
    try {
      return caller.getInputStream().read() < 0;
    } catch (java.net.SocketTimeoutException stillThere) {
      return false;
    } catch (IOException reset) {
      return true;
    }
  }

  @Test
  void theOneThatHasBeenSilentForLongestMakesRoom() throws Exception {
    for (int i = 0; i < 16; i++) {
      call();
    }
    CompletableFuture<Socket> expected = door.expect("known");
    Socket caller = call();
    assertThat(isClosed(callers.get(0))).isTrue();
    introduce(caller, "known");
    expected.get(20, TimeUnit.SECONDS).close();
    callers.get(1).setSoTimeout(50);
    assertThat(isClosed(callers.get(1))).as("there is room for sixteen").isFalse();
    assertThat(door.strangers()).isEqualTo(1);
  }

  @Test
  void whoIntroducesThemselvesIsNotSilentAnyMore() throws Exception {
    for (int i = 0; i < 40; i++) {
      CompletableFuture<Socket> expected = door.expect("s" + i);
      introduce(call(), "s" + i);
      expected.get(20, TimeUnit.SECONDS);
    }
    assertThat(door.strangers()).isZero();
    callers.get(0).setSoTimeout(50);
    assertThat(isClosed(callers.get(0))).isFalse();
  }

  @Test
  void aDoorThatCannotLetAnybodyInTriesAgain() throws Exception {
    failures.set(3);
    CompletableFuture<Socket> expected = door.expect("known");
    introduce(call(), "known");
    assertThat(expected.get(20, TimeUnit.SECONDS)).isNotNull();
    assertThat(door.failedAccepts()).isEqualTo(3);
  }

  @Test
  void aDoorThatFailsForEverDoesNotSpinAndCloses() throws Exception {
    failures.set(Integer.MAX_VALUE);
    long before = System.nanoTime();
    call();
    while (door.failedAccepts() < 4) {
      Thread.onSpinWait();
    }
    assertThat(System.nanoTime() - before)
        .as("10 + 20 + 40 ms at least")
        .isGreaterThan(TimeUnit.MILLISECONDS.toNanos(69));
    door.close();
    assertThat(io.shutdownNow()).isEmpty();
  }
}
