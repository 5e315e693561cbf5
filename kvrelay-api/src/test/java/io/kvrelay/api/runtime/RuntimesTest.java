package io.kvrelay.api.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.testing.RecordedLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RuntimesTest {
  @Test
  void virtualTimersFireInOrderOfTimeAndOnlyWhenTimeReachesThem() {
    VirtualRuntime runtime = VirtualRuntime.inOrder(1);
    List<String> fired = new ArrayList<>();
    runtime.schedule(
        Duration.ofMillis(2).toNanos(), () -> fired.add("second@" + runtime.nanoTime()));
    runtime.schedule(
        Duration.ofMillis(1).toNanos(), () -> fired.add("first@" + runtime.nanoTime()));
    RelayRuntime.Timer cancelled = runtime.schedule(1, () -> fired.add("never"));
    cancelled.cancel();
    runtime.advance(Duration.ofNanos(999_999));
    assertThat(fired).isEmpty();
    runtime.advance(Duration.ofMillis(5));
    assertThat(fired).containsExactly("first@1000000", "second@2000000");
    assertThat(runtime.nanoTime()).isEqualTo(5_999_999);
    assertThat(runtime.pendingTimers()).isZero();
  }

  @Test
  void aTimerCancelledAfterItBecameDueButBeforeItRanDoesNotRun() {
    VirtualRuntime runtime = VirtualRuntime.inOrder(1);
    List<String> ran = new ArrayList<>();
    RelayRuntime.Timer[] second = new RelayRuntime.Timer[1];
    runtime.schedule(10, () -> second[0].cancel());
    second[0] = runtime.schedule(10, () -> ran.add("second"));
    runtime.advance(Duration.ofNanos(10));
    assertThat(ran).isEmpty();
  }

  @Test
  void aShufflingRuntimeRepeatsItsOrderForASeedAndDiffersBetweenSeeds() {
    assertThat(order(7)).isEqualTo(order(7)).isNotEqualTo(order(8));
  }

  private static List<Integer> order(long seed) {
    VirtualRuntime runtime = VirtualRuntime.shuffling(seed);
    List<Integer> order = new ArrayList<>();
    IntStream.range(0, 50).forEach(i -> runtime.executor().execute(() -> order.add(i)));
    runtime.runUntilIdle();
    assertThat(order).hasSize(50);
    return order;
  }

  @Test
  void aMailboxKeepsOrderAndNeverRunsTwoTasksAtOnce() throws InterruptedException {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    try {
      SerialExecutor mailbox = new SerialExecutor(pool);
      int writers = 4;
      int each = 20_000;
      AtomicInteger inside = new AtomicInteger();
      AtomicInteger overlaps = new AtomicInteger();
      List<List<Integer>> seen = new ArrayList<>();
      IntStream.range(0, writers).forEach(w -> seen.add(new ArrayList<>()));
      CountDownLatch done = new CountDownLatch(writers * each);
      Thread[] threads = new Thread[writers];
      for (int w = 0; w < writers; w++) {
        int writer = w;
        threads[w] =
            new Thread(
                () -> {
                  for (int i = 0; i < each; i++) {
                    int value = i;
                    mailbox.execute(
                        () -> {
                          if (inside.incrementAndGet() != 1) {
                            overlaps.incrementAndGet();
                          }
                          seen.get(writer).add(value);
                          inside.decrementAndGet();
                          done.countDown();
                        });
                  }
                });
        threads[w].start();
      }
      assertThat(done.await(20, TimeUnit.SECONDS)).isTrue();
      assertThat(overlaps).hasValue(0);
      seen.forEach(s -> assertThat(s).isSorted().hasSize(each));
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void aTaskThatThrowsDoesNotStopTheMailbox() {
    VirtualRuntime runtime = VirtualRuntime.inOrder(1);
    SerialExecutor mailbox = new SerialExecutor(runtime.executor());
    List<String> ran = new ArrayList<>();
    mailbox.execute(
        () -> {
          throw new IllegalStateException("expected by the test");
        });
    mailbox.execute(() -> ran.add("next"));
    try (RecordedLog log = RecordedLog.of(SerialExecutor.class)) {
      runtime.runUntilIdle();
      assertThat(log.thrown()).singleElement().isInstanceOf(IllegalStateException.class);
    }
    assertThat(ran).containsExactly("next");
  }

  @Test
  void theSystemRuntimeRunsTimersOnItsExecutorAndLeavesNoThreadBehind()
      throws InterruptedException {
    List<String> threads = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch ran = new CountDownLatch(1);
    SystemRuntime runtime = SystemRuntime.create(1);
    runtime.schedule(
        0,
        () -> {
          threads.add(Thread.currentThread().getName());
          ran.countDown();
        });
    assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();
    assertThat(threads).allMatch(name -> name.startsWith("kvrelay-worker-"));
    runtime.close();
    runtime.schedule(0, () -> threads.add("after close"));
    assertThat(threads).hasSize(1);
    assertThat(Thread.getAllStackTraces().keySet())
        .noneMatch(t -> t.isAlive() && t.getName().equals(threads.get(0)));
  }

  @Test
  void aHostsExecutorIsUsedAndLeftRunning() throws InterruptedException {
    ExecutorService host =
        Executors.newSingleThreadExecutor(task -> new Thread(task, "host-thread"));
    try {
      CountDownLatch ran = new CountDownLatch(1);
      String[] name = new String[1];
      try (SystemRuntime runtime =
          SystemRuntime.over(host, task -> new Thread(task, "host-timer"))) {
        runtime.schedule(
            0,
            () -> {
              name[0] = Thread.currentThread().getName();
              ran.countDown();
            });
        assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();
      }
      assertThat(name[0]).isEqualTo("host-thread");
      assertThat(host.isShutdown()).isFalse();
    } finally {
      host.shutdownNow();
    }
  }

  @Test
  void aTaskThatTheHostsFullExecutorRejectsRunsLaterWithoutAnotherWake()
      throws InterruptedException {
    ExecutorService host = Executors.newSingleThreadExecutor();
    RejectingExecutor full = new RejectingExecutor(host);
    CountDownLatch ran = new CountDownLatch(2);
    try (RecordedLog log = RecordedLog.of(SystemRuntime.class);
        SystemRuntime runtime = SystemRuntime.over(full, Thread::new)) {
      full.rejectNext(3);
      new SerialTask(runtime.executor(), ran::countDown).wake();
      runtime.schedule(0, ran::countDown);
      assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();
      assertThat(log.thrown()).singleElement().isInstanceOf(RejectedExecutionException.class);
    } finally {
      host.shutdownNow();
    }
  }

  @Test
  void aTaskThatIsCancelledWhileTheHostsExecutorRejectsItDoesNotRun() throws InterruptedException {
    CountDownLatch rejected = new CountDownLatch(2);
    AtomicBoolean full = new AtomicBoolean(true);
    CountDownLatch later = new CountDownLatch(1);
    AtomicInteger runs = new AtomicInteger();
    Executor host =
        task -> {
          if (full.get()) {
            rejected.countDown();
            throw new RejectedExecutionException("on purpose");
          }
          task.run();
          later.countDown();
        };
    try (RecordedLog log = RecordedLog.of(SystemRuntime.class);
        SystemRuntime runtime = SystemRuntime.over(host, Thread::new)) {
      RelayRuntime.Timer timer = runtime.schedule(0, runs::incrementAndGet);
      assertThat(rejected.await(10, TimeUnit.SECONDS)).isTrue();
      timer.cancel();
      full.set(false);
      assertThat(later.await(10, TimeUnit.SECONDS)).isTrue();
      assertThat(runs).hasValue(0);
      assertThat(log.thrown()).hasSize(1);
    }
  }

  @Test
  void aClosedRuntimeAndAStoppedHostRejectForGood() {
    SystemRuntime closed = SystemRuntime.create(1);
    closed.close();
    ExecutorService host = Executors.newSingleThreadExecutor();
    host.shutdown();
    try (SystemRuntime stopped = SystemRuntime.over(host, Thread::new)) {
      assertThatThrownBy(() -> closed.executor().execute(() -> {}))
          .isInstanceOf(ExecutorStoppedException.class);
      assertThatThrownBy(() -> stopped.executor().execute(() -> {}))
          .isInstanceOf(ExecutorStoppedException.class);
    }
  }
}
