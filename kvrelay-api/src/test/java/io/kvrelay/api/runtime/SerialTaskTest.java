package io.kvrelay.api.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.testing.RecordedLog;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SerialTaskTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private int runs;

  @Test
  void anyNumberOfWakesBeforeARunIsOneRun() {
    SerialTask task = new SerialTask(runtime.executor(), () -> runs++);
    task.wake();
    task.wake();
    assertThat(runtime.readyTasks()).isEqualTo(1);
    runtime.runUntilIdle();
    assertThat(runs).isEqualTo(1);
    task.wake();
    runtime.runUntilIdle();
    assertThat(runs).isEqualTo(2);
  }

  @Test
  void aWakeDuringARunIsOneMoreRun() {
    SerialTask[] task = new SerialTask[1];
    task[0] =
        new SerialTask(
            runtime.executor(),
            () -> {
              if (runs++ == 0) {
                task[0].wake();
                task[0].wake();
              }
            });
    task[0].wake();
    assertThat(runtime.runOne()).isTrue();
    assertThat(runs).isEqualTo(1); // not within the first run
    runtime.runUntilIdle();
    assertThat(runs).isEqualTo(2);
  }

  @Test
  void aTaskThatThrowsStaysUsable() {
    SerialTask task =
        new SerialTask(
            runtime.executor(),
            () -> {
              if (runs++ == 0) {
                throw new IllegalStateException("on purpose");
              }
            });
    try (RecordedLog log = RecordedLog.of(SerialTask.class)) {
      task.wake();
      runtime.runUntilIdle();
      assertThat(log.thrown()).singleElement().isInstanceOf(IllegalStateException.class);
    }
    task.wake();
    runtime.runUntilIdle();
    assertThat(runs).isEqualTo(2);
  }

  @Test
  void aWakeAfterARejectedOneRunsIt() {
    RejectingExecutor target = new RejectingExecutor(runtime.executor());
    SerialTask task = new SerialTask(target, () -> runs++);
    target.rejectNext();
    task.wake();
    runtime.runUntilIdle();
    assertThat(runs).isZero();

    task.wake();
    runtime.runUntilIdle();

    assertThat(runs).isEqualTo(1);
  }

  @Test
  void aWakeAfterARejectionOfItsOwnNextRunRunsIt() {
    RejectingExecutor target = new RejectingExecutor(runtime.executor());
    SerialTask[] task = new SerialTask[1];
    task[0] =
        new SerialTask(
            target,
            () -> {
              if (runs++ == 0) {
                target.rejectNext();
                task[0].wake();
              }
            });
    task[0].wake();
    runtime.runUntilIdle();
    assertThat(runs).isEqualTo(1);

    task[0].wake();
    runtime.runUntilIdle();

    assertThat(runs).isEqualTo(2);
  }

  @Test
  void anExecutorThatFailsThoughItTookTheTaskDoesNotMakeItRunTwiceForOneWake() {
    RejectingExecutor target = new RejectingExecutor(runtime.executor());
    SerialTask task = new SerialTask(target, () -> runs++);
    target.takeNextAndThrow(new OutOfMemoryError("on purpose: no thread for the queued task"));
    try (RecordedLog log = RecordedLog.of(SerialTask.class)) {
      task.wake();
      assertThat(log.thrown()).singleElement().isInstanceOf(OutOfMemoryError.class);
    }
    task.wake();
    assertThat(runtime.readyTasks()).isEqualTo(2);

    runtime.runUntilIdle();

    assertThat(runs).isEqualTo(1);
  }

  @Test
  void aStoppedExecutorEndsItQuietly() {
    ExecutorService stopped = Executors.newSingleThreadExecutor();
    stopped.shutdown();
    int[] told = new int[1];
    SerialTask task = new SerialTask(stopped, () -> runs++, () -> told[0]++);
    task.wake();
    task.wake();
    assertThat(runs).isZero();
    assertThat(told[0]).isEqualTo(1);
  }

  @Test
  void itNeverRunsTwiceAtATimeAndMissesNoWake() throws InterruptedException {
    int wakers = 4;
    int wakes = 20_000;
    ExecutorService threads = Executors.newFixedThreadPool(wakers + 2);
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger overlaps = new AtomicInteger();
    int[] written = new int[wakers]; // plain: the wake orders it before the run
    CountDownLatch complete = new CountDownLatch(1);
    SerialTask task =
        new SerialTask(
            threads,
            () -> {
              if (inside.getAndIncrement() != 0) {
                overlaps.incrementAndGet();
              }
              int sum = 0;
              for (int each : written) {
                sum += each;
              }
              if (sum == wakers * wakes) {
                complete.countDown();
              }
              inside.decrementAndGet();
            });
    for (int i = 0; i < wakers; i++) {
      int mine = i;
      threads.execute(
          () -> {
            for (int n = 1; n <= wakes; n++) {
              written[mine] = n;
              task.wake();
            }
          });
    }
    assertThat(complete.await(30, TimeUnit.SECONDS)).isTrue();
    assertThat(overlaps).hasValue(0);
    threads.shutdown();
  }
}
