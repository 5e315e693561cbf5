package io.kvrelay.api.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.runtime.SerialTask;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.testing.RecordedLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.Test;

class StateWatchTest {
  private final VirtualRuntime runtime = VirtualRuntime.inOrder(1);
  private final StateWatch<Integer> watch = new StateWatch<>(runtime.executor(), 0);

  private static final class Recorder implements Flow.Subscriber<Integer> {
    final List<Object> signals = new ArrayList<>();
    Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription s) {
      subscription = s;
      signals.add("subscribed");
    }

    @Override
    public void onNext(Integer value) {
      signals.add(value);
    }

    @Override
    public void onError(Throwable t) {
      signals.add(t);
    }

    @Override
    public void onComplete() {
      signals.add("complete");
    }
  }

  private Recorder subscribe() {
    Recorder recorder = new Recorder();
    watch.subscribe(recorder);
    runtime.runUntilIdle();
    return recorder;
  }

  private void publish(int... values) {
    for (int value : values) {
      watch.publish(value);
    }
    runtime.runUntilIdle();
  }

  private void request(Recorder recorder, long n) {
    recorder.subscription.request(n);
    runtime.runUntilIdle();
  }

  @Test
  void anEndThatMeetsASubscriptionNeverComesBeforeOnSubscribe() throws InterruptedException {
    int rounds = 50_000;
    AtomicReferenceArray<StateWatch<Integer>> offered = new AtomicReferenceArray<>(rounds);
    Thread ender =
        new Thread(
            () -> {
              for (int i = 0; i < rounds; i++) {
                StateWatch<Integer> next = offered.get(i);
                for (; next == null; next = offered.get(i)) {
                  Thread.onSpinWait();
                }
                next.complete();
              }
            });
    ender.setDaemon(true);
    ender.start();
    List<Recorder> recorders = new ArrayList<>();
    for (int i = 0; i < rounds; i++) {
      Recorder recorder = new Recorder();
      recorders.add(recorder);
      StateWatch<Integer> ending = new StateWatch<>(Runnable::run, 0);
      offered.set(i, ending);
      ending.subscribe(recorder);
    }
    ender.join();
    assertThat(recorders)
        .allSatisfy(
            recorder -> assertThat(recorder.signals).isEqualTo(List.of("subscribed", "complete")));
  }

  @Test
  void aSubscriberThatCancelsAtOnceIsForgotten() {
    StateWatch<Integer> direct = new StateWatch<>(Runnable::run, 0);
    direct.subscribe(
        new Flow.Subscriber<>() {
          @Override
          public void onSubscribe(Flow.Subscription s) {
            s.cancel();
          }

          @Override
          public void onNext(Integer value) {}

          @Override
          public void onError(Throwable t) {}

          @Override
          public void onComplete() {}
        });
    assertThat(direct.subscribers()).isZero();
  }

  @Test
  void aSubscriberGetsTheCurrentValueAndThenOnlyTheLatest() {
    Recorder recorder = subscribe();
    publish(1, 2);
    request(recorder, 1);
    publish(3, 4);
    assertThat(recorder.signals).containsExactly("subscribed", 2);
    request(recorder, 5);
    assertThat(recorder.signals).containsExactly("subscribed", 2, 4);
    publish(4);
    assertThat(recorder.signals).as("a repeat is delivered").containsExactly("subscribed", 2, 4, 4);
  }

  @Test
  void completionDeliversTheLatestValueFirstIfItWasAskedFor() {
    Recorder asking = subscribe();
    request(asking, 10);
    Recorder idle = subscribe();
    watch.publish(9);
    watch.complete();
    runtime.runUntilIdle();
    assertThat(asking.signals).containsExactly("subscribed", 0, 9, "complete");
    assertThat(idle.signals).containsExactly("subscribed", "complete");
    assertThat(watch.subscribers()).isZero();
    publish(10);
    assertThat(asking.signals).hasSize(4);
    assertThat(subscribe().signals).containsExactly("subscribed", "complete");
  }

  @Test
  void aFailureReachesPresentAndFutureSubscribersWithoutAValue() {
    Recorder recorder = subscribe();
    request(recorder, 10);
    IllegalStateException failure = new IllegalStateException("gone");
    watch.publish(5);
    watch.fail(failure);
    runtime.runUntilIdle();
    assertThat(recorder.signals).containsExactly("subscribed", 0, failure);
    assertThat(subscribe().signals).containsExactly("subscribed", failure);
  }

  @Test
  void aRequestThatIsNotPositiveEndsThatSubscriberAlone() {
    Recorder bad = subscribe();
    Recorder good = subscribe();
    request(good, Long.MAX_VALUE);
    request(good, Long.MAX_VALUE);
    request(bad, 0);
    publish(1);
    assertThat(bad.signals).hasSize(2);
    assertThat(bad.signals.get(1)).isInstanceOf(IllegalArgumentException.class);
    assertThat(good.signals).containsExactly("subscribed", 0, 1);
  }

  @Test
  void aCancelledSubscriberGetsNothingMoreAndIsForgotten() {
    Recorder recorder = subscribe();
    request(recorder, 10);
    recorder.subscription.cancel();
    recorder.subscription.cancel();
    publish(1);
    assertThat(recorder.signals).containsExactly("subscribed", 0);
    assertThat(watch.subscribers()).isZero();
  }

  @Test
  void aSubscriberThatThrowsIsDroppedAndHarmsNobody() {
    watch.subscribe(
        new Flow.Subscriber<>() {
          @Override
          public void onSubscribe(Flow.Subscription s) {
            s.request(10);
          }

          @Override
          public void onNext(Integer value) {
            throw new IllegalStateException("expected by the test");
          }

          @Override
          public void onError(Throwable t) {}

          @Override
          public void onComplete() {}
        });
    Recorder good = new Recorder();
    watch.subscribe(good);
    try (RecordedLog log = RecordedLog.of(SerialTask.class)) {
      runtime.runUntilIdle();
      assertThat(log.thrown()).singleElement().isInstanceOf(IllegalStateException.class);
    }
    request(good, 10);
    publish(1);
    assertThat(good.signals).containsExactly("subscribed", 0, 1);
    assertThat(watch.subscribers()).isEqualTo(1);
  }

  @Test
  void aWatchWithoutAValueDeliversTheFirstToThoseWhoWait() {
    StateWatch<Integer> empty = new StateWatch<>(runtime.executor());
    Recorder waiting = new Recorder();
    empty.subscribe(waiting);
    runtime.runUntilIdle();
    request(waiting, 2);
    assertThat(waiting.signals).containsExactly("subscribed");
    assertThat(empty.hasValue()).isFalse();
    assertThatThrownBy(empty::value).isInstanceOf(IllegalStateException.class);

    empty.publish(7);
    runtime.runUntilIdle();

    assertThat(waiting.signals).containsExactly("subscribed", 7);
    assertThat(empty.value()).isEqualTo(7);
  }

  @Test
  void aWatchThatEndsWithoutAValueCompletes() {
    StateWatch<Integer> empty = new StateWatch<>(runtime.executor());
    Recorder waiting = new Recorder();
    empty.subscribe(waiting);
    runtime.runUntilIdle();
    request(waiting, 1);
    empty.complete();
    runtime.runUntilIdle();
    assertThat(waiting.signals).containsExactly("subscribed", "complete");
  }
}
