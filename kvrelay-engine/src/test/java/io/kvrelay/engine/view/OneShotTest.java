package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class OneShotTest {
  private final ScriptedPublisher<String> publisher = new ScriptedPublisher<>();

  private CompletableFuture<String> value(OneShot<String> shot) {
    return shot.value().toCompletableFuture();
  }

  @Test
  void oneValueIsTakenAndTheStreamCancelled() {
    OneShot<String> shot = OneShot.of(publisher);
    publisher.last().send("a");
    assertThat(value(shot)).isCompletedWithValue("a");
    assertThat(publisher.last().cancelled).isTrue();
    assertThat(publisher.last().requested).isEqualTo(1);
  }

  @Test
  void aSourceThatThrowsWhenItIsCancelledHasAnsweredAllTheSame() {
    OneShot<String> shot = OneShot.of(publisher);
    publisher.last().throwsWhenCancelled = true;
    publisher.last().send("a");
    assertThat(value(shot)).isCompletedWithValue("a");
  }

  @Test
  void givingUpOnASourceThatThrowsIsGivingUp() {
    OneShot<String> shot = OneShot.of(publisher);
    publisher.last().throwsWhenCancelled = true;
    assertThatCode(shot::cancel).doesNotThrowAnyException();
    assertThat(publisher.last().cancelled).isTrue();
  }

  @Test
  void aSourceThatCannotBeAskedHasFailed() {
    OneShot<String> shot =
        OneShot.of(
            subscriber -> {
              ScriptedPublisher<String> throwing = new ScriptedPublisher<>();
              ScriptedPublisher<String>.Sub sub = throwing.new Sub(subscriber);
              sub.throwsWhenAsked = true;
              subscriber.onSubscribe(sub);
            });
    assertThat(value(shot)).isCompletedExceptionally();
  }

  @Test
  void aStreamThatEndsWithoutAValueHasFailed() {
    OneShot<String> shot = OneShot.of(publisher);
    publisher.last().complete();
    assertThat(value(shot)).isCompletedExceptionally();
  }
}
