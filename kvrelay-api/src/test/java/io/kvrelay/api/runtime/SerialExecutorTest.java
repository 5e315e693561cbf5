package io.kvrelay.api.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class SerialExecutorTest {
  @Test
  @Timeout(60)
  void aMailboxWhoseTargetRejectsKeepsNoTaskReachable() {
    SerialExecutor mailbox =
        new SerialExecutor(
            task -> {
              throw new RejectedExecutionException("on purpose");
            });
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
