package io.kvrelay.api.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class SerialExecutorTest {
  @Test
  void whatWasQueuedWhileTheTargetRejectedRunsOnceItTakesATask() {
    VirtualRuntime runtime = VirtualRuntime.inOrder(1);
    RejectingExecutor target = new RejectingExecutor(runtime.executor());
    SerialExecutor mailbox = new SerialExecutor(target);
    List<Integer> ran = new ArrayList<>();
    target.rejectNext(2);
    mailbox.execute(() -> ran.add(1));
    mailbox.execute(() -> ran.add(2));
    runtime.runUntilIdle();
    assertThat(ran).isEmpty();

    mailbox.execute(() -> ran.add(3));
    runtime.runUntilIdle();

    assertThat(ran).containsExactly(1, 2, 3);
  }

  @Test
  void aRejectedLaterTurnIsTakenUpByTheNextTask() {
    VirtualRuntime runtime = VirtualRuntime.inOrder(1);
    RejectingExecutor target = new RejectingExecutor(runtime.executor());
    SerialExecutor mailbox = new SerialExecutor(target);
    List<Integer> ran = new ArrayList<>();
    IntStream.range(0, 100).forEach(i -> mailbox.execute(() -> ran.add(i)));
    target.rejectNext();
    runtime.runUntilIdle();
    assertThat(ran).as("one turn").hasSize(64);

    mailbox.execute(() -> ran.add(100));
    runtime.runUntilIdle();

    assertThat(ran).hasSize(101).isSorted();
  }

  @Test
  @Timeout(60)
  void aMailboxWhoseTargetWasShutDownKeepsNoTaskReachable() {
    ExecutorService stopped = Executors.newSingleThreadExecutor();
    stopped.shutdown();
    SerialExecutor mailbox = new SerialExecutor(stopped);
    List<WeakReference<Object>> given = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      given.add(giveTask(mailbox));
    }
    while (given.stream().anyMatch(task -> task.get() != null)) {
      System.gc();
      Thread.onSpinWait();
    }
    assertThat(mailbox).isNotNull();
  }

  private static WeakReference<Object> giveTask(SerialExecutor mailbox) {
    Object held = new Object();
    mailbox.execute(() -> assertThat(held).isNull());
    return new WeakReference<>(held);
  }
}
