package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.LoadReportSource;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.runtime.SerialExecutor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * A running Dynamo deployment, read the way its own relay reads it: model cards, live workers and
 * event sources from discovery, KV events and load from the event plane, history from the workers.
 * It only reads: nothing is registered, touched or locked.
 *
 * <p>Hand it to a relay as its deployment, its events and its load reports. Thread safe; no method
 * but {@link #close()} blocks. It has threads of its own for files, for sockets of the event plane
 * and for each question under way.
 *
 * <p>What cannot be read is refused alone, counted in {@link #statistics()} and named among the
 * facts' refused entries, from where it shows in the relay's health.
 */
public final class DynamoDeployment
    implements DeploymentFactsSource, KvEventSource, LoadReportSource, AutoCloseable {
  private static final int MAX_IO_THREADS = 64;
  private static final Duration UNUSED_THREAD = Duration.ofSeconds(30);

  /**
   * How long a question waits for the publisher's live events to be heard, so that nothing lies
   * between the two; and how long after that, for the subscription to reach the publisher.
   */
  private static final Duration HEARING = Duration.ofSeconds(1);

  private static final Duration SETTLING = Duration.ofMillis(20);

  private final RelayRuntime runtime;
  private final SerialExecutor mailbox;
  private final ThreadPoolExecutor io;
  private final RecordStore store;
  private final EventPlane plane;
  private final QueryDoor door;
  private final QueryClient queries;
  private final FactsWatch facts;
  private final LongAdder snapshots = new LongAdder();
  private final LongAdder losses = new LongAdder();
  private final AtomicBoolean closed = new AtomicBoolean();
  // All of this belongs to the mailbox, but for the state's counters.
  private final DeploymentState state = new DeploymentState();
  private final Map<EventSourceAdvertisement, String> silent = new HashMap<>();
  private @Nullable DeploymentFacts latest;
  private boolean complete;

  private DynamoDeployment(Builder b, RelayRuntime runtime) throws IOException {
    this.runtime = runtime;
    this.mailbox = new SerialExecutor(runtime.executor());
    this.io = threads();
    this.facts = new FactsWatch(runtime.executor());
    this.door = new QueryDoor(runtime, b.answerBind, io, ServerSocket::new);
    this.queries =
        new QueryClient(runtime, door, io, b.answerHost, b.queryTimeout, b.maxAnswerBytes);
    this.plane = new EventPlane(runtime::nanoTime, () -> mailbox.execute(this::report));
    this.store = b.store.apply(runtime, io);
  }

  private static ThreadPoolExecutor threads() {
    AtomicInteger next = new AtomicInteger();
    ThreadFactory daemons =
        task -> {
          Thread thread = new Thread(task, "kvrelay-dynamo-io-" + next.getAndIncrement());
          thread.setDaemon(true);
          return thread;
        };
    return new ThreadPoolExecutor(
        0,
        MAX_IO_THREADS,
        UNUSED_THREAD.toSeconds(),
        TimeUnit.SECONDS,
        new SynchronousQueue<>(),
        daemons);
  }

  /**
   * A deployment that keeps its records in a folder.
   *
   * @param root the folder that holds {@code v1}; need not exist yet
   * @return a builder
   */
  public static Builder files(Path root) {
    return new Builder((runtime, io) -> new FileRecordStore(runtime, root, io, true));
  }

  /**
   * A deployment that keeps its records in an etcd.
   *
   * @param access how to reach it
   * @return a builder
   */
  public static Builder etcd(EtcdAccess access) {
    return new Builder((runtime, io) -> new EtcdRecordStore(runtime, access));
  }

  /**
   * A deployment by its address: {@code file:DIRECTORY}, or {@code etcd://HOST:PORT}, with more
   * addresses of the same etcd after commas.
   *
   * @param address the address
   * @return a builder
   * @throws IllegalArgumentException if it is neither
   */
  public static Builder at(String address) {
    if (address.startsWith("file:") && address.length() > "file:".length()) {
      return files(Path.of(address.substring("file:".length())));
    }
    if (address.startsWith("etcd://")) {
      return etcd(EtcdAccess.parse(address.substring("etcd://".length())));
    }
    throw new IllegalArgumentException(
        "deployment = " + address + ": must be file:DIRECTORY or etcd://HOST:PORT");
  }

  /** Settings of a deployment. Not thread safe. */
  public static final class Builder {
    private static final long MAX_ANSWER_BYTES = 256L << 20;

    private final BiFunction<RelayRuntime, Executor, RecordStore> store;
    private InetSocketAddress answerBind = new InetSocketAddress(0);
    private @Nullable String answerHost;
    private Duration queryTimeout = Duration.ofSeconds(30);
    private long maxAnswerBytes = MAX_ANSWER_BYTES;

    private Builder(BiFunction<RelayRuntime, Executor, RecordStore> store) {
      this.store = store;
    }

    /**
     * Where to listen for workers that call back with answers; any port of all addresses unless it
     * is set.
     *
     * @param bind address and port
     * @return this
     */
    public Builder answerBind(InetSocketAddress bind) {
      answerBind = bind;
      return this;
    }

    /**
     * Under which name workers reach that address; unless it is set, the address from which the
     * question is sent to them.
     *
     * @param host a host name or an IP address, or null
     * @return this
     */
    public Builder answerHost(@Nullable String host) {
      answerHost = host;
      return this;
    }

    /**
     * How long one question to a worker may take; 30 seconds unless it is set.
     *
     * @param timeout more than zero
     * @return this
     */
    public Builder queryTimeout(Duration timeout) {
      queryTimeout = timeout;
      return this;
    }

    /**
     * The longest frame of an answer that is read; a dump is one frame. 256 MiB unless it is set.
     *
     * @param bytes more than zero, at most 2^31 - 1
     * @return this
     */
    public Builder maxAnswerBytes(long bytes) {
      maxAnswerBytes = bytes;
      return this;
    }

    /**
     * Begins to read the deployment.
     *
     * @param runtime clock, timer and executor
     * @return the deployment
     * @throws IllegalArgumentException if a setting is not acceptable
     * @throws RelayException if the machine has no more resources for it
     */
    public DynamoDeployment open(RelayRuntime runtime) {
      if (queryTimeout.isZero() || queryTimeout.isNegative()) {
        throw new IllegalArgumentException("queryTimeout = " + queryTimeout + ": must be positive");
      }
      if (maxAnswerBytes <= 0 || maxAnswerBytes > Integer.MAX_VALUE) {
        throw new IllegalArgumentException(
            "maxAnswerBytes = " + maxAnswerBytes + ": must be from 1 to 2147483647");
      }
      try {
        DynamoDeployment opened = new DynamoDeployment(this, runtime);
        opened.start();
        return opened;
      } catch (IOException e) {
        throw new RelayException(
            RelayErrorReason.INTERNAL,
            RelayErrorReason.INTERNAL.action(),
            "the deployment cannot be read: " + e.getMessage(),
            e);
      }
    }
  }

  private void start() {
    store.start(
        new RecordStore.Listener() {
          @Override
          public void onRecords(Map<RecordKey, byte[]> records) {
            mailbox.execute(() -> take(records));
          }

          @Override
          public void onLost(String reason) {
            mailbox.execute(() -> lose(reason));
          }
        });
  }

  private void take(Map<RecordKey, byte[]> records) {
    boolean changed = state.update(records);
    complete = true;
    if (changed) {
      snapshots.increment();
      plane.channels(state.channels());
      silent.keySet().retainAll(new HashSet<>(state.eventSources()));
    }
    report();
  }

  /** What is known of cards and sources stays; who is alive is not known any more. */
  private void lose(String reason) {
    losses.increment();
    complete = false;
    latest = null;
    state.forgetLiveness();
    facts.lose(
        new RelayException(
            RelayErrorReason.NOT_READY, "the deployment's discovery cannot be read: " + reason));
  }

  private void report() {
    if (!complete || closed.get()) {
      return;
    }
    DeploymentFacts before = latest;
    DeploymentFacts next =
        new DeploymentFacts(
            before == null ? snapshots.sum() : before.revision() + 1,
            state.cards(),
            state.liveWorkers(),
            state.eventSources(),
            problems());
    if (before == null || !FactsWatch.saysTheSame(before, next)) {
      latest = next;
      facts.publish(next);
    }
  }

  private List<QuarantinedEntry> problems() {
    Map<String, QuarantinedEntry> found = new TreeMap<>();
    state.refused().forEach((key, entry) -> found.put(key.toString(), entry));
    plane
        .unreachable()
        .forEach(
            (channel, problem) -> {
              String key = channel.key().toString();
              found.putIfAbsent(key, new QuarantinedEntry(null, key, false, problem));
            });
    silent.forEach(
        (source, problem) -> {
          String key = "history of " + source.kvStateEndpoint() + " " + source.member();
          found.put(key, new QuarantinedEntry(null, key, false, problem));
        });
    return List.copyOf(found.values());
  }

  @Override
  public Flow.Publisher<DeploymentFacts> facts(DiscoveryScope scope) {
    return facts.in(scope);
  }

  @Override
  public Flow.Publisher<LoadReport> reports(EndpointId servingEndpoint) {
    return new LoadFeed(plane, runtime.executor(), servingEndpoint);
  }

  @Override
  public Following follow(EndpointId kvStateEndpoint, KvEventListener listener) {
    return plane.follow(kvStateEndpoint, Topic.KV_EVENTS, new EventReceiver(listener));
  }

  private record EventReceiver(KvEventListener listener) implements EventPlane.Receiver {
    @Override
    public void onMessage(DiscoveryRecord.Channel channel, Envelope envelope)
        throws MalformedException {
      listener.onBatch(new KvEventBatch(channel.publisherId(), envelope.events()));
    }

    /** What it held shows as a gap in the numbers of the events that follow. */
    @Override
    public void onMalformed(DiscoveryRecord.Channel channel, String reason) {}

    @Override
    public void onClosed() {
      listener.onFailure(
          new RelayException(RelayErrorReason.CLOSED, "the deployment is not followed any more"));
    }
  }

  @Override
  public CompletionStage<HistoryReply> history(
      EventSourceAdvertisement source, HistoryRequest request) {
    RecoveryTarget target;
    try {
      target = RecoveryTarget.ofText(String.valueOf(source.recoveryTarget()));
    } catch (MalformedException e) {
      return CompletableFuture.completedFuture(new HistoryReply.Failed(e.getMessage()));
    }
    CompletableFuture<HistoryReply> reply = new CompletableFuture<>();
    onceHeard(
        source,
        () -> {
          if (reply.isDone()) {
            return; // cancelled meanwhile
          }
          CompletableFuture<HistoryReply> answer = queries.ask(target, request);
          CompletableFuture<HistoryReply> unused =
              reply.whenComplete((r, failure) -> answer.cancel(true));
          unused = answer.whenComplete((given, failure) -> settle(source, reply, given, failure));
        });
    return reply;
  }

  private void settle(
      EventSourceAdvertisement source,
      CompletableFuture<HistoryReply> reply,
      @Nullable HistoryReply given,
      @Nullable Throwable failure) {
    boolean cancelled = reply.isDone();
    if (given != null) {
      reply.complete(given);
    } else {
      reply.completeExceptionally(Objects.requireNonNull(failure));
    }
    if (!cancelled) {
      mailbox.execute(() -> remember(source, failure));
    }
  }

  private void remember(EventSourceAdvertisement source, @Nullable Throwable failure) {
    if (failure == null) {
      silent.remove(source);
    } else if (state.eventSources().contains(source)) {
      silent.put(source, "no answer: " + failure.getMessage());
    }
    report();
  }

  private void onceHeard(EventSourceAdvertisement source, Runnable task) {
    AtomicBoolean begun = new AtomicBoolean();
    Runnable once =
        () -> {
          if (begun.compareAndSet(false, true)) {
            task.run();
          }
        };
    plane.onceHeard(
        source.kvStateEndpoint(),
        source.publisherId(),
        once,
        () -> runtime.schedule(SETTLING.toNanos(), once));
    runtime.schedule(HEARING.toNanos(), once);
  }

  /**
   * The counters.
   *
   * @return the numbers of this moment
   */
  public DynamoStatistics statistics() {
    return new DynamoStatistics(
        snapshots.sum(),
        losses.sum(),
        state.malformed(),
        state.forbiddenChanges(),
        plane.messages(),
        plane.malformed(),
        plane.skippedSequences(),
        plane.disconnects(),
        plane.failedSockets(),
        queries.asked(),
        queries.answered(),
        queries.failed(),
        door.strangers(),
        door.failedAccepts());
  }

  /** Ends everything: facts and reports fail, questions fail. Idempotent; waits for its threads. */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    store.close();
    facts.close(
        new RelayException(RelayErrorReason.CLOSED, "the deployment is not followed any more"));
    queries.close();
    door.close();
    plane.close();
    io.shutdownNow();
  }
}
