package io.kvrelay.transport.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class QuietExecutorTest {
  @Test
  void aStoppedRuntimeDropsTasksInsteadOfThrowing() {
    ExecutorService stopped = Executors.newSingleThreadExecutor();
    stopped.shutdown();
    AtomicInteger ran = new AtomicInteger();
    assertThatThrownBy(() -> stopped.execute(ran::incrementAndGet))
        .isInstanceOf(RejectedExecutionException.class);
    new QuietExecutor(stopped).execute(ran::incrementAndGet);
    assertThat(ran).hasValue(0);
  }
}
