package io.kvrelay.events.zmq;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.RelayRuntime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the event streams of inference engines, any number of ranks with one thread. It connects,
 * replays and repairs by itself, from the moment it is started, whether or not anybody follows.
 *
 * <p>Each source is advertised as recoverable: what the relay asks of its past is answered from
 * memory, with the events themselves or with the rank's complete state, so a relay that was too
 * slow, or comes late, never needs the engine. The relay hears one endless stream of contiguous
 * event ids for each rank; when an engine restarts, or its state cannot be told for certain, that
 * stream holds a clear.
 *
 * <p>Thread safe. No method of the service interface blocks; {@link #replaceSources}, {@link
 * #advertisements()} and {@link #statistics()} wait for the thread's present turn, and {@link
 * #close()} for its end. Listeners are called on the one thread.
 */
public final class ZmqEventSource implements KvEventSource, AutoCloseable {
  private final RelayRuntime runtime;
  private final SharedMemory shared;
  private final ZmqLoop loop;
  private final Thread thread;

  private ZmqEventSource(ZmqOptions options, RelayRuntime runtime) {
    this.runtime = runtime;
    this.loop = new ZmqLoop(options, runtime::nanoTime, runtime::randomLong);
    this.shared = new SharedMemory(WireLimits.DEFAULT.withPayloadBytes(options.maxMessageBytes()));
    this.thread = new Thread(loop, "kvrelay-engine-events");
    thread.setDaemon(true);
  }

  /**
   * Connects to engines.
   *
   * @param sources the ranks
   * @param options how sockets behave
   * @param runtime clock and random numbers
   * @return the running source; close it
   * @throws IllegalArgumentException if two sources exclude each other; the message names both
   * @throws RelayException if an address to be bound cannot be had
   */
  public static ZmqEventSource start(
      List<EngineSource> sources, ZmqOptions options, RelayRuntime runtime) {
    EngineSources.check(sources);
    ZmqEventSource started = new ZmqEventSource(options, runtime);
    started.thread.start();
    try {
      started.replaceSources(sources);
    } catch (RuntimeException e) {
      started.close();
      throw e;
    }
    return started;
  }

  /**
   * Reads exactly these sources from now on. One that was there before and is described alike is
   * not disturbed.
   *
   * @param sources the ranks
   * @return one advertisement for each source, in their order
   * @throws IllegalArgumentException if two sources exclude each other; nothing has changed then
   * @throws RelayException if an address to be bound cannot be had; the sources that exclude the
   *     new ones are gone by then
   */
  public List<EventSourceAdvertisement> replaceSources(List<EngineSource> sources) {
    List<EngineSource> wanted = List.copyOf(sources);
    EngineSources.check(wanted);
    return call(() -> replaceOnLoop(wanted));
  }

  private List<EventSourceAdvertisement> replaceOnLoop(List<EngineSource> wanted) {
    if (loop.isStopping()) {
      throw closed();
    }
    Map<EngineSource, SourceDriver> known = new HashMap<>();
    for (SourceDriver driver : List.copyOf(loop.drivers())) {
      if (wanted.contains(driver.source())) {
        known.put(driver.source(), driver);
      } else {
        loop.remove(driver);
      }
    }
    List<EventSourceAdvertisement> advertisements = new ArrayList<>();
    for (EngineSource source : wanted) {
      SourceDriver driver = known.get(source);
      if (driver == null) {
        SourceOutlet outlet = new SourceOutlet(source, runtime.randomLong());
        driver = new SourceDriver(source, loop, outlet, shared);
        loop.add(driver);
      }
      advertisements.add(advertisement(driver));
    }
    return advertisements;
  }

  private static EventSourceAdvertisement advertisement(SourceDriver driver) {
    EngineSource source = driver.source();
    return new EventSourceAdvertisement(
        source.kvStateEndpoint(),
        source.member(),
        driver.outlet().publisherId(),
        "memory of " + source.address(),
        source.address());
  }

  /**
   * The sources as a relay's deployment facts have to name them. The publisher ids are of this
   * instance; they stay the same when an engine restarts.
   *
   * @return one advertisement for each source
   */
  public List<EventSourceAdvertisement> advertisements() {
    return call(() -> loop.drivers().stream().map(ZmqEventSource::advertisement).toList());
  }

  @Override
  public Following follow(EndpointId kvStateEndpoint, KvEventListener listener) {
    ZmqLoop.Follower follower = new ZmqLoop.Follower(kvStateEndpoint, listener);
    onLoop(() -> join(follower));
    AtomicBoolean stopped = new AtomicBoolean();
    CompletableFuture<Void> left = new CompletableFuture<>();
    return () -> {
      if (stopped.compareAndSet(false, true)) {
        onLoop(
            () -> {
              loop.leave(follower);
              left.complete(null);
            });
      }
      return left;
    };
  }

  private void join(ZmqLoop.Follower follower) {
    if (loop.isStopping()) {
      ZmqLoop.tell(follower.listener(), closed());
    } else {
      loop.join(follower);
    }
  }

  @Override
  public CompletionStage<HistoryReply> history(
      EventSourceAdvertisement source, HistoryRequest request) {
    CompletableFuture<HistoryReply> reply = new CompletableFuture<>();
    onLoop(() -> answer(source, request, reply));
    return reply;
  }

  private void answer(
      EventSourceAdvertisement source,
      HistoryRequest request,
      CompletableFuture<HistoryReply> reply) {
    if (loop.isStopping()) {
      reply.completeExceptionally(closed());
    } else if (!reply.isDone()) {
      SourceDriver driver = driverOf(source);
      // Completed on this thread, so that nothing is emitted in between.
      reply.complete(
          driver == null
              ? new HistoryReply.Failed(
                  "no source has publisher id " + Long.toUnsignedString(source.publisherId()))
              : driver.stream().history(request));
    }
  }

  private @Nullable SourceDriver driverOf(EventSourceAdvertisement wanted) {
    for (SourceDriver driver : loop.drivers()) {
      if (driver.outlet().publisherId() == wanted.publisherId()
          && driver.source().member().equals(wanted.member())) {
        return driver;
      }
    }
    return null;
  }

  /**
   * Forgets what is known of a rank and asks its engine again, for an operator who knows better.
   * Does nothing if there is no such rank.
   *
   * @param member the rank
   */
  public void reset(Member member) {
    onLoop(
        () -> {
          for (SourceDriver driver : loop.drivers()) {
            if (!loop.isStopping() && driver.source().member().equals(member)) {
              driver.stream().onReset();
            }
          }
        });
  }

  /**
   * All sources at one moment.
   *
   * @return one entry for each source
   */
  public List<SourceStatistics> statistics() {
    return call(() -> loop.drivers().stream().map(SourceDriver::statistics).toList());
  }

  /**
   * Shows every batch that is taken, live or replayed, as its engine wrote it. For looking at a
   * stream; a relay has no use for it.
   *
   * @param consumer called on the one thread before the batch is applied; it must not block or
   *     throw. Null: nobody
   */
  public void tap(@Nullable Consumer<TappedBatch> consumer) {
    shared.tapping().to(consumer);
  }

  /**
   * Messages at an address that several sources share, with a topic that none of them has.
   *
   * @return how many so far
   */
  public long unclaimedMessages() {
    return loop.strangers();
  }

  private <T> T call(Supplier<T> question) {
    if (Thread.currentThread() == thread) {
      return question.get();
    }
    CompletableFuture<T> answer = new CompletableFuture<>();
    onLoop(
        () -> {
          try {
            answer.complete(question.get());
          } catch (RuntimeException e) {
            answer.completeExceptionally(e);
          }
        });
    try {
      return answer.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new RelayException(
          RelayErrorReason.CLOSED, RelayErrorReason.CLOSED.action(), "interrupted", e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : new IllegalStateException(e);
    }
  }

  /** On the loop's thread, or, once that has ended, here. */
  private void onLoop(Runnable command) {
    loop.run(command);
    if (loop.hasEnded()) {
      loop.runLeftOver();
    }
  }

  private static RelayException closed() {
    return new RelayException(
        RelayErrorReason.CLOSED,
        RelayErrorReason.CLOSED.action(),
        "the event source is closed",
        null);
  }

  /** Disconnects. Idempotent; waits until the thread has ended, unless it is called on it. */
  @Override
  public void close() {
    loop.stop();
    if (Thread.currentThread() == thread) {
      return;
    }
    try {
      loop.awaitEnd();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
