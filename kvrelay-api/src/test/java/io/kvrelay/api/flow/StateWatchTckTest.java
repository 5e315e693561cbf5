package io.kvrelay.api.flow;

import io.kvrelay.api.runtime.SystemRuntime;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import org.reactivestreams.tck.TestEnvironment;
import org.reactivestreams.tck.flow.FlowPublisherVerification;
import org.testng.annotations.AfterClass;
import org.testng.annotations.BeforeClass;

/** The Reactive Streams rules, by their own kit: a watch whose state changes all the time. */
public class StateWatchTckTest extends FlowPublisherVerification<Long> {
  private static final long CHANGE_NANOS = 1_000_000;

  private final List<StateWatch<Long>> watches = new CopyOnWriteArrayList<>();
  private SystemRuntime runtime;
  private long state;

  public StateWatchTckTest() {
    super(new TestEnvironment(2000, 50));
  }

  @BeforeClass
  public void startChanging() {
    runtime = SystemRuntime.create(2);
    change();
  }

  private void change() {
    state++;
    watches.forEach(watch -> watch.publish(state));
    runtime.schedule(CHANGE_NANOS, this::change);
  }

  @AfterClass
  public void stopChanging() {
    runtime.close();
  }

  @Override
  public Flow.Publisher<Long> createFlowPublisher(long elements) {
    StateWatch<Long> watch = new StateWatch<>(runtime.executor(), 0L);
    watches.add(watch);
    return watch;
  }

  @Override
  public Flow.Publisher<Long> createFailedFlowPublisher() {
    StateWatch<Long> watch = new StateWatch<>(runtime.executor(), 0L);
    watch.fail(new IllegalStateException("failed on purpose"));
    return watch;
  }

  /** A state has no last value. */
  @Override
  public long maxElementsFromPublisher() {
    return publisherUnableToSignalOnComplete();
  }
}
