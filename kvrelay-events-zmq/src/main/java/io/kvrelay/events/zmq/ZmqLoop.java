package io.kvrelay.events.zmq;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.events.KvEventListener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectableChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZEvent;
import org.zeromq.ZMQ;
import org.zeromq.ZMonitor;

/**
 * The one thread that owns all sockets and drives all streams. It waits for messages and for
 * commands of other threads, and never for whoever takes the events: a listener does not block.
 *
 * <pre>
 *   field       who                  how
 *   commands    any thread           concurrent queue
 *   awake       any thread           atomic: at most one byte lies in the pipe
 *   strangers   this thread writes   atomic
 *   the rest    this thread alone
 * </pre>
 */
final class ZmqLoop implements Runnable {
  private static final System.Logger LOG = System.getLogger(ZmqLoop.class.getName());
  private static final int MESSAGES_PER_TURN = 256;

  /** One for each source and each replay under way; the library's own bound is 1,023. */
  private static final int MAX_SOCKETS = 1 << 14;

  /** A peer that takes the connection and says nothing is tried again; the library waits 30 s. */
  private static final int HANDSHAKE_MILLIS = 2_000;

  private static final int EVENTS =
      ZMQ.EVENT_CONNECTED | ZMQ.EVENT_DISCONNECTED | ZMQ.EVENT_HANDSHAKE_PROTOCOL;

  private static final long TICK_NANOS = 1_000_000_000L;
  private static final long LONGEST_WAIT_MILLIS = 100;
  private static final long NO_POLLER_NANOS = 100_000_000L;
  private static final byte[] DELIMITER = {};

  /** Who hears the sources of one endpoint. */
  record Follower(EndpointId endpoint, KvEventListener listener) {
    void meet(SourceDriver driver) {
      if (driver.source().kvStateEndpoint().equals(endpoint)) {
        driver.outlet().add(listener, driver.stream().trust(), driver.stream().trustReason());
      }
    }
  }

  private final ZmqOptions options;
  private final LongSupplier clock;
  private final LongSupplier random;
  private final List<SourceDriver> drivers = new ArrayList<>();
  private final List<Follower> followers = new ArrayList<>();
  private final Map<String, LiveSocket> sockets = new LinkedHashMap<>();

  /** Those of the sockets whose address could not be used yet. */
  private final Map<String, LiveSocket> unconnected = new HashMap<>();

  private final ReplayGate<SourceDriver> gate;
  private final List<SourceDriver> replaying = new ArrayList<>();
  private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean awake = new AtomicBoolean();
  private final AtomicLong strangers = new AtomicLong();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final List<byte[]> frames = new ArrayList<>();
  private final ZContext context;
  private final HandshakeNudge<ZMQ.Socket> handshakes;
  private final Pipe pipe;
  private ZMQ.@Nullable Poller poller;
  private List<Runnable> polled = new ArrayList<>();
  private volatile boolean stopping;
  private long lastTick;

  ZmqLoop(ZmqOptions options, LongSupplier clock, LongSupplier random) {
    this.options = options;
    this.clock = clock;
    this.random = random;
    this.gate = new ReplayGate<>(options.concurrentReplays());
    this.context = new ZContext(1);
    context.setLinger(0);
    context.getContext().setMaxSockets(MAX_SOCKETS);
    this.handshakes = HandshakeNudge.of(context);
    try {
      this.pipe = Pipe.open();
      pipe.source().configureBlocking(false);
      pipe.sink().configureBlocking(false);
    } catch (IOException e) {
      context.close();
      throw new UncheckedIOException(e);
    }
  }

  /** Adds a source. On this thread, or before it starts. */
  void add(SourceDriver driver) {
    EngineSource source = driver.source();
    LiveSocket socket = sockets.get(source.address());
    boolean fresh = socket == null;
    if (socket == null) {
      socket = new LiveSocket(subscriber(source.address()));
      if (source.bind()) {
        bind(source.address(), socket.socket());
      }
      sockets.put(source.address(), socket);
      socketsChanged();
    }
    drivers.add(driver);
    socket.add(driver);
    if (fresh && !source.bind()) {
      connect(source.address(), socket);
    }
    if (source.bind() || socket.isConnected()) {
      driver.stream().onConnected();
    }
    followers.forEach(follower -> follower.meet(driver));
  }

  /** Takes a source out. On this thread. */
  void remove(SourceDriver driver) {
    cancelReplay(driver);
    drivers.remove(driver);
    LiveSocket socket = sockets.get(driver.source().address());
    if (socket != null && socket.remove(driver)) {
      sockets.remove(driver.source().address());
      unconnected.remove(driver.source().address());
      socketsChanged();
      close(socket.socket());
    }
  }

  /** Lets somebody hear the sources of an endpoint, present and future. On this thread. */
  void join(Follower follower) {
    followers.add(follower);
    drivers.forEach(follower::meet);
  }

  void leave(Follower follower) {
    followers.remove(follower);
    drivers.forEach(driver -> driver.outlet().remove(follower.listener()));
  }

  private static void bind(String address, ZMQ.Socket subscriber) {
    RuntimeException cause = null;
    try {
      if (subscriber.bind(address)) {
        return;
      }
    } catch (RuntimeException e) {
      cause = e;
    }
    subscriber.close();
    throw cannotOpen(address, cause);
  }

  /** An engine whose host is unknown for now may get one: others are none the worse. */
  private void connect(String address, LiveSocket socket) {
    String problem;
    try {
      problem = socket.socket().connect(address) ? "" : "the address cannot be used";
    } catch (RuntimeException e) {
      problem = e.toString();
    }
    if (problem.isEmpty()) {
      unconnected.remove(address);
      return;
    }
    unconnected.put(address, socket);
    socket.connectFailed(clock.getAsLong());
    for (SourceDriver driver : socket.sources()) {
      driver.stream().onConnectFailed(problem);
    }
  }

  private void connectAgain(long now) {
    for (Map.Entry<String, LiveSocket> one : Map.copyOf(unconnected).entrySet()) {
      if (one.getValue().isConnectDue(now)) {
        connect(one.getKey(), one.getValue());
      }
    }
  }

  private static RelayException cannotOpen(String address, @Nullable Throwable cause) {
    return new RelayException(
        RelayErrorReason.ADDRESS_UNAVAILABLE,
        RelayErrorReason.ADDRESS_UNAVAILABLE.action(),
        "address = \"" + address + "\": cannot be used",
        cause);
  }

  private ZMQ.Socket subscriber(String address) {
    ZMQ.Socket socket = context.createSocket(SocketType.SUB);
    socket.setRcvHWM(options.receiveQueue());
    socket.setMaxMsgSize(options.maxMessageBytes());
    socket.setReconnectIVL((int) options.reconnectFirst().toMillis());
    socket.setReconnectIVLMax((int) options.reconnectCap().toMillis());
    socket.setHandshakeIvl(HANDSHAKE_MILLIS);
    int heartbeatMillis = (int) options.heartbeat().toMillis();
    socket.setHeartbeatIvl(heartbeatMillis);
    socket.setHeartbeatTimeout(heartbeatMillis + heartbeatMillis / 2);
    socket.setTCPKeepAlive(1);
    // Called on ZeroMQ's own threads.
    socket.setEventHook(event -> run(() -> connectionChanged(address, socket, event)), EVENTS);
    return socket;
  }

  /** What an older socket of the same address still has to say is nobody's concern. */
  private void connectionChanged(String address, ZMQ.Socket of, ZEvent event) {
    LiveSocket socket = sockets.get(address);
    if (socket == null || socket.socket() != of || socket.sources().get(0).source().bind()) {
      return;
    }
    watchHandshake(of, event);
    if (event.getEvent() == ZMonitor.Event.HANDSHAKE_PROTOCOL) {
      return;
    }
    boolean connected = event.getEvent() == ZMonitor.Event.CONNECTED;
    socket.connected(connected);
    for (SourceDriver driver : socket.sources()) {
      if (connected) {
        driver.stream().onConnected();
      } else {
        driver.stream().onDisconnected();
      }
    }
  }

  private void watchHandshake(ZMQ.Socket of, ZEvent event) {
    if (event.getEvent() == ZMonitor.Event.CONNECTED) {
      handshakes.connected(of, clock.getAsLong());
    } else {
      handshakes.settled(of);
    }
  }

  private void close(ZMQ.Socket socket) {
    handshakes.settled(socket);
    socket.close();
  }

  /** Runs something on this thread, soon. Dropped once the loop has ended. */
  void run(Runnable command) {
    commands.add(command);
    if (awake.compareAndSet(false, true)) {
      try {
        pipe.sink().write(ByteBuffer.wrap(new byte[1]));
      } catch (IOException e) {
        // The loop has closed it; nobody is left to wake.
        LOG.log(Level.DEBUG, "the loop has ended", e);
      }
    }
  }

  /** Messages whose topic no source has. */
  long strangers() {
    return strangers.get();
  }

  List<SourceDriver> drivers() {
    return drivers;
  }

  void stop() {
    stopping = true;
    run(() -> {});
  }

  void awaitEnd() throws InterruptedException {
    ended.await();
  }

  boolean hasEnded() {
    return ended.getCount() == 0;
  }

  /** Runs commands that came too late, on the caller's thread; only after the loop has ended. */
  synchronized void runLeftOver() {
    for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
      command.run();
    }
  }

  boolean isStopping() {
    return stopping;
  }

  @Override
  public void run() {
    try {
      while (!stopping) {
        turn();
      }
    } catch (RuntimeException | Error e) {
      LOG.log(Level.ERROR, "the thread of the event sources ends", e);
      RelayException failure =
          new RelayException(
              RelayErrorReason.INTERNAL,
              RelayErrorReason.INTERNAL.action(),
              "the thread of the event sources has ended",
              e);
      followers.forEach(follower -> tell(follower.listener(), failure));
      throw e;
    } finally {
      try {
        close();
      } finally {
        ended.countDown();
      }
    }
  }

  /** Tells a listener that nothing comes any more; what it throws is its own trouble. */
  static void tell(KvEventListener listener, RelayException failure) {
    try {
      listener.onFailure(failure);
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "a listener threw: " + listener, e);
    }
  }

  private void close() {
    stopping = true;
    if (poller != null) {
      poller.close();
    }
    context.close();
    try {
      pipe.sink().close();
      pipe.source().close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "the pipe was closed already", e);
    }
    runLeftOver();
  }

  private void turn() {
    ZMQ.Poller current = poller();
    if (current == null) {
      LockSupport.parkNanos(NO_POLLER_NANOS);
    } else {
      current.poll(waitMillis());
      for (int i = 0; i < polled.size(); i++) {
        if (current.pollin(i)) {
          polled.get(i).run();
        }
      }
    }
    for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
      command.run();
    }
    long now = clock.getAsLong();
    handshakes.run(now);
    connectAgain(now);
    expireReplays(now);
    for (SourceDriver next = gate.next(now); next != null; next = gate.next(now)) {
      beginReplay(next, now);
    }
    if (now - lastTick >= TICK_NANOS) {
      lastTick = now;
      drivers.forEach(driver -> driver.stream().onTick(now));
    }
  }

  private long waitMillis() {
    return gate.isIdle() ? handshakes.waitMillis(clock.getAsLong(), LONGEST_WAIT_MILLIS) : 1;
  }

  /** Null if there are no descriptors left to make one; messages wait meanwhile. */
  private ZMQ.@Nullable Poller poller() {
    if (poller != null) {
      return poller;
    }
    ZMQ.Poller fresh;
    try {
      fresh = context.createPoller(1 + sockets.size() + replaying.size());
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "no messages can be waited for", e);
      return null;
    }
    polled = new ArrayList<>();
    fresh.register((SelectableChannel) pipe.source(), ZMQ.Poller.POLLIN);
    polled.add(this::consumeWakeUp);
    for (LiveSocket socket : sockets.values()) {
      fresh.register(socket.socket(), ZMQ.Poller.POLLIN);
      polled.add(() -> drain(socket));
    }
    for (SourceDriver driver : replaying) {
      ReplayConnection connection = driver.replay();
      if (connection != null) {
        fresh.register(connection.socket(), ZMQ.Poller.POLLIN);
        polled.add(() -> drainReplay(driver, connection));
      }
    }
    poller = fresh;
    return fresh;
  }

  private void socketsChanged() {
    if (poller != null) {
      poller.close();
      poller = null;
    }
  }

  /**
   * The byte goes before the flag: in the other order a byte written in between would be taken with
   * the flag left up, and nobody would ever write one again.
   */
  private void consumeWakeUp() {
    try {
      pipe.source().read(ByteBuffer.allocate(16));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    awake.set(false);
  }

  private void drain(LiveSocket socket) {
    int unknown = socket.drain(MESSAGES_PER_TURN, clock.getAsLong());
    if (unknown > 0) {
      strangers.addAndGet(unknown);
    }
  }

  // ---- replays

  void requestReplay(SourceDriver driver) {
    endReplay(driver);
    long jitter = options.replayJitter().toNanos();
    long delay = jitter == 0 ? 0 : Long.remainderUnsigned(random.getAsLong(), jitter + 1);
    gate.leave(driver);
    gate.ask(driver, clock.getAsLong() + delay);
  }

  void cancelReplay(SourceDriver driver) {
    gate.leave(driver);
    endReplay(driver);
  }

  private void endReplay(SourceDriver driver) {
    ReplayConnection connection = driver.replay();
    if (connection != null) {
      socketsChanged();
      driver.replay(null);
      replaying.remove(driver);
      close(connection.socket());
      gate.done();
    }
  }

  /**
   * A replay that cannot be asked for, its host unknown for now or no descriptor left, fails its
   * own source only.
   */
  private void beginReplay(SourceDriver driver, long now) {
    try {
      openReplay(driver, now);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "no replay from " + driver.source().replayAddress(), e);
      if (driver.replay() == null) {
        gate.done();
      } else {
        endReplay(driver);
      }
      driver.stream().onReplayFailed(driver.wantedRequest(), now);
    }
  }

  private void openReplay(SourceDriver driver, long now) {
    ZMQ.Socket socket = context.createSocket(SocketType.DEALER);
    socket.setRcvHWM(options.receiveQueue());
    socket.setMaxMsgSize(options.maxMessageBytes());
    socket.setReconnectIVL((int) options.reconnectFirst().toMillis());
    socket.setReconnectIVLMax((int) options.reconnectCap().toMillis());
    socket.setHandshakeIvl(HANDSHAKE_MILLIS);
    ReplayConnection connection = new ReplayConnection(socket, driver.wantedRequest(), now);
    socket.setEventHook(event -> run(() -> replayConnection(driver, connection, event)), EVENTS);
    driver.replay(connection);
    replaying.add(driver);
    socketsChanged();
    String address = driver.source().replayAddress();
    if (address != null) {
      socket.connect(address);
      socket.send(DELIMITER, ZMQ.SNDMORE);
      socket.send(ByteBuffer.allocate(Long.BYTES).putLong(driver.wantedFrom()).array(), 0);
    }
  }

  private void replayConnection(SourceDriver driver, ReplayConnection of, ZEvent event) {
    if (driver.replay() == of) {
      watchHandshake(of.socket(), event);
    }
  }

  private void drainReplay(SourceDriver driver, ReplayConnection connection) {
    for (int i = 0; i < MESSAGES_PER_TURN && driver.replay() == connection; i++) {
      byte @Nullable [][] reply = LiveSocket.receive(connection.socket(), frames);
      if (reply == null) {
        return;
      }
      long now = clock.getAsLong();
      // A flood of what is known already is as good as silence.
      if (driver.stream().onReplay(connection.request(), reply, now)) {
        connection.heard(now);
      }
      if (driver.replay() == connection && !driver.stream().waitsFor(connection.request())) {
        endReplay(driver);
      }
    }
  }

  private void expireReplays(long now) {
    long most = options.replayTimeout().toNanos();
    for (SourceDriver driver : List.copyOf(replaying)) {
      ReplayConnection connection = driver.replay();
      if (connection != null && connection.silentFor(now) >= most) {
        endReplay(driver);
        driver.stream().onReplayFailed(connection.request(), now);
      }
    }
  }
}
