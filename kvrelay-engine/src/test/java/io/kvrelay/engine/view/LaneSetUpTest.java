package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.ViewRig.filter;
import static io.kvrelay.engine.view.ViewRig.show;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.testing.ForwardingRuntime;
import io.kvrelay.engine.testing.RecordedLog;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of a lane whose replica cannot be made. */
class LaneSetUpTest {
  private static final int[] PROMPT = ViewRig.prompt(1, 8);
  private static final ProducerIdentity POOL = ScriptedRelay.producer(1, 1, 9, 1);

  private final FailingRuntime runtime = new FailingRuntime(VirtualRuntime.inOrder(1));
  private final KvGlobalView view =
      KvGlobalView.create(ViewConfig.builder().lanes(1).build(), runtime);
  private final ScriptedRelay relay = new ScriptedRelay(9);

  @ParameterizedTest
  @ValueSource(classes = {OutOfMemoryError.class, IllegalStateException.class})
  void aPoolWhoseReplicaCannotBeMadeIsRefusedAndItsLaneStaysFree(Class<? extends Throwable> type)
      throws ReflectiveOperationException {
    relay.show(1);
    view.attach(relay);
    runtime.clock.runUntilIdle();
    runtime.next = type.getConstructor(String.class).newInstance("on purpose");
    ViewCounter reason =
        type == OutOfMemoryError.class
            ? ViewCounter.POOLS_REFUSED_NO_MEMORY
            : ViewCounter.POOLS_REFUSED_SET_UP_FAILED;
    try (RecordedLog log = RecordedLog.of(PoolBoard.class)) {
      show(relay, 2, filter(POOL, PROMPT));
      runtime.clock.runUntilIdle();
      assertThat(log.thrown()).singleElement().isInstanceOf(type);
    }
    PoolMatch refused = match();
    assertThat(refused.answer()).isEqualTo(PoolAnswer.NO_LANE);
    assertThat(refused.detail()).contains("on purpose");
    assertThat(view.statistics().count(reason)).isEqualTo(1);

    show(relay, 3, filter(POOL, PROMPT));
    runtime.clock.runUntilIdle();

    assertThat(match().depth()).isEqualTo(8);
    assertThat(view.statistics().count(ViewCounter.POOLS_ADMITTED)).isEqualTo(1);
  }

  private PoolMatch match() {
    return view.match(PrefixRequest.of(ScriptedRelay.MODEL, PROMPT))
        .pool(POOL.poolId())
        .orElseThrow();
  }

  /** Fails once where a replica takes its executor. */
  private static final class FailingRuntime extends ForwardingRuntime {
    private final VirtualRuntime clock;
    private @Nullable Throwable next;

    FailingRuntime(VirtualRuntime clock) {
      super(clock);
      this.clock = clock;
    }

    @Override
    public Executor executor() {
      Throwable failure = next;
      next = null;
      if (failure instanceof Error error) {
        throw error;
      }
      if (failure instanceof RuntimeException exception) {
        throw exception;
      }
      return clock.executor();
    }
  }
}
