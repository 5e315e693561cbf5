package io.kvrelay.engine.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.runtime.SerialExecutor;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Flow;
import org.junit.jupiter.api.Test;

class ReopenedStreamTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final SerialExecutor mailbox = new SerialExecutor(runtime.executor());
  private final List<Flow.Subscriber<? super Integer>> openings = new ArrayList<>();
  private final List<Long> requests = new ArrayList<>();
  private final List<Object> heard = new ArrayList<>();
  private boolean broken;

  private ReopenedStream<Integer> follow(int demand) {
    ReopenedStream<Integer> stream =
        new ReopenedStream<>(runtime, mailbox, demand, new Listening());
    mailbox.execute(stream::open);
    runtime.runUntilIdle();
    return stream;
  }

  @Test
  void whatIsTakenIsAskedForAgainInBatches() {
    follow(4);
    for (int i = 1; i <= 5; i++) {
      send(i);
    }
    assertThat(heard).containsExactly(1, 2, 3, 4, 5);
    assertThat(requests).containsExactly(4L, 2L, 2L);
  }

  @Test
  void aSourceThatSendsMoreThanWasAskedForIsLeftAndOpenedAgain() {
    ReopenedStream<Integer> stream = follow(1);
    for (int i = 1; i <= 5; i++) {
      openings.get(0).onNext(i);
    }
    runtime.runUntilIdle();
    assertThat(heard).containsExactly(1, "sent more than 1 items at a time");
    runtime.advance(Duration.ofMillis(100));
    assertThat(openings).hasSize(2);
    assertThat(stream.lost()).isEqualTo(1);
  }

  @Test
  void anOwnerThatThrowsWhileItLosesTheStreamStillGetsItAgain() {
    follow(1);
    broken = true;
    openings.get(0).onComplete();
    try (RecordedLog log = RecordedLog.of(SerialExecutor.class)) {
      runtime.runUntilIdle();
      assertThat(log.thrown()).hasSize(1);
    }
    runtime.advance(Duration.ofMillis(100));
    assertThat(openings).hasSize(2);
  }

  private void send(int item) {
    openings.get(openings.size() - 1).onNext(item);
    runtime.runUntilIdle();
  }

  private final class Listening implements ReopenedStream.Follower<Integer> {
    @Override
    public Flow.Publisher<Integer> publisher() {
      return subscriber -> {
        openings.add(subscriber);
        subscriber.onSubscribe(
            new Flow.Subscription() {
              @Override
              public void request(long n) {
                requests.add(n);
              }

              @Override
              public void cancel() {}
            });
      };
    }

    @Override
    public boolean take(Integer item) {
      heard.add(item);
      return true;
    }

    @Override
    public void lost(String how) {
      heard.add(how);
      if (broken) {
        throw new IllegalStateException("on purpose");
      }
    }
  }
}
