package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.runtime.RetryDelay;
import java.lang.System.Logger.Level;
import java.nio.channels.SelectableChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZEvent;
import org.zeromq.ZMQ;
import org.zeromq.ZMonitor;

/**
 * The sockets of an event plane, one for each channel that is followed, and what is known of their
 * connections. A socket that cannot be had, because its host is unknown or the process has no
 * descriptors left, is tried again. The plane's thread owns everything but {@link #unreachable()}
 * and the counters, which any thread may read.
 */
final class PublisherSockets implements AutoCloseable {
  /** Takes a message's frames. */
  interface Reader {
    void take(DiscoveryRecord.Channel channel, Heard heard, List<byte[]> frames);
  }

  /** What was last heard on a channel. */
  static final class Heard {
    boolean any;
    long sequence;
  }

  private static final System.Logger LOG = System.getLogger(PublisherSockets.class.getName());
  private static final int HIGH_WATER_MARK = 100_000;
  private static final int MAX_MESSAGE_BYTES = 64 << 20;
  private static final int MESSAGES_PER_TURN = 256;

  /** More than an envelope has; what a message has beyond these is thrown away unseen. */
  private static final int MAX_FRAMES = 8;

  /** One for each channel that is followed; the library's own bound is 1,023. */
  private static final int MAX_SOCKETS = 1 << 14;

  private static final int FIRST_RECONNECT_MILLIS = 100;
  private static final int LAST_RECONNECT_MILLIS = 2_000;
  private static final Duration FIRST_RETRY = Duration.ofMillis(100);
  private static final Duration LAST_RETRY = Duration.ofSeconds(30);

  /** A peer that takes the connection and says nothing is tried again; the library waits 30 s. */
  private static final int HANDSHAKE_MILLIS = 2_000;

  private static final long FOR_EVER_MILLIS = Long.MAX_VALUE;

  private static final int EVENTS =
      ZMQ.EVENT_CONNECTED
          | ZMQ.EVENT_DISCONNECTED
          | ZMQ.EVENT_CONNECT_RETRIED
          | ZMQ.EVENT_HANDSHAKE_PROTOCOL;

  /** A channel, its socket if there is one, and what is known of its connection. */
  private static final class Line {
    private final DiscoveryRecord.Channel channel;
    private final Heard heard = new Heard();
    private final List<Runnable> waiting = new ArrayList<>();
    private ZMQ.@Nullable Socket socket;
    private final RetryDelay retryDelay = new RetryDelay(FIRST_RETRY, LAST_RETRY);
    private long retryAt;
    private boolean established;

    private Line(DiscoveryRecord.Channel channel) {
      this.channel = channel;
    }
  }

  private final LongSupplier clock;
  private final Consumer<Runnable> plane;
  private final Runnable connectionsChanged;
  private final ZContext context;
  private final ZMQ.Poller poller;
  private final HandshakeNudge<ZMQ.Socket> handshakes;
  private final Map<DiscoveryRecord.Channel, Line> lines = new HashMap<>();
  private final Set<Line> failing = new HashSet<>();
  private final LongAdder disconnects = new LongAdder();
  private final LongAdder failedSockets = new LongAdder();

  /** Why channels cannot be heard; guarded by itself. */
  private final Map<DiscoveryRecord.Channel, String> problems = new HashMap<>();

  /**
   * Creates a set without sockets.
   *
   * @param wakeUp ends a wait as soon as it can be read
   * @param clock nanoseconds
   * @param plane runs something on the plane's thread
   * @param connectionsChanged told whenever {@link #unreachable()} changed
   */
  PublisherSockets(
      SelectableChannel wakeUp,
      LongSupplier clock,
      Consumer<Runnable> plane,
      Runnable connectionsChanged) {
    this.clock = clock;
    this.plane = plane;
    this.connectionsChanged = connectionsChanged;
    this.context = new ZContext(1);
    context.setLinger(0);
    context.getContext().setMaxSockets(MAX_SOCKETS);
    this.handshakes = HandshakeNudge.of(context);
    this.poller = context.createPoller(1);
    poller.register(wakeUp, ZMQ.Poller.POLLIN);
  }

  /** Waits until there is something to read or to do. */
  void await() {
    long now = clock.getAsLong();
    long most = handshakes.waitMillis(now, FOR_EVER_MILLIS);
    for (Line line : failing) {
      most = Math.min(most, Math.max(0, (line.retryAt - now + 999_999) / 1_000_000));
    }
    poller.poll(most == FOR_EVER_MILLIS ? -1 : most);
  }

  /** Does what is due. */
  void tick() {
    long now = clock.getAsLong();
    handshakes.run(now);
    for (Line line : List.copyOf(failing)) {
      if (now - line.retryAt >= 0) {
        open(line);
      }
    }
  }

  /** Hands over what waits on the sockets, up to a number for each. */
  void read(Reader reader) {
    for (Line line : List.copyOf(lines.values())) {
      try {
        read(line, reader);
      } catch (RuntimeException e) {
        fail(line, e);
      }
    }
  }

  /** A message may have its own channel, or another one, closed. */
  private void read(Line line, Reader reader) {
    for (int i = 0; i < MESSAGES_PER_TURN; i++) {
      ZMQ.Socket socket = line.socket;
      List<byte[]> frames = socket == null ? null : receive(socket);
      if (frames == null) {
        return;
      }
      reader.take(line.channel, line.heard, frames);
    }
  }

  private static @Nullable List<byte[]> receive(ZMQ.Socket socket) {
    byte[] frame = socket.recv(ZMQ.DONTWAIT);
    if (frame == null) {
      return null;
    }
    List<byte[]> frames = new ArrayList<>();
    frames.add(frame);
    while (socket.hasReceiveMore()) { // a message is received whole or not at all
      byte[] more = socket.recv();
      if (frames.size() < MAX_FRAMES) {
        frames.add(more);
      }
    }
    return frames;
  }

  /** The channels that are followed. */
  List<DiscoveryRecord.Channel> channels() {
    return List.copyOf(lines.keySet());
  }

  boolean isOpen(DiscoveryRecord.Channel channel) {
    return lines.containsKey(channel);
  }

  void open(DiscoveryRecord.Channel channel) {
    Line line = new Line(channel);
    lines.put(channel, line);
    open(line);
  }

  private void open(Line line) {
    failing.remove(line);
    try {
      ZMQ.Socket socket = context.createSocket(SocketType.SUB);
      line.socket = socket;
      configure(socket);
      socket.setEventHook(event -> plane.accept(() -> connection(line, socket, event)), EVENTS);
      socket.subscribe(line.channel.topic().subscription());
      if (!socket.connect(String.valueOf(line.channel.address()))) {
        throw new IllegalStateException("not connected");
      }
      poller.register(socket, ZMQ.Poller.POLLIN);
      line.retryDelay.reset();
    } catch (RuntimeException e) {
      fail(line, e);
    }
  }

  private void fail(Line line, RuntimeException why) {
    LOG.log(Level.DEBUG, "no socket for " + line.channel, why);
    release(line);
    line.retryAt = clock.getAsLong() + line.retryDelay.takeNanos();
    failing.add(line);
    failedSockets.increment();
    note(line, line.channel.address() + " cannot be followed: " + why.getMessage());
  }

  private void release(Line line) {
    ZMQ.Socket socket = line.socket;
    if (socket != null) {
      line.socket = null;
      handshakes.settled(socket);
      poller.unregister(socket);
      socket.close();
    }
  }

  private static void configure(ZMQ.Socket socket) {
    socket.setRcvHWM(HIGH_WATER_MARK);
    socket.setMaxMsgSize(MAX_MESSAGE_BYTES);
    socket.setLinger(0);
    socket.setReconnectIVL(FIRST_RECONNECT_MILLIS);
    socket.setReconnectIVLMax(LAST_RECONNECT_MILLIS);
    socket.setHandshakeIvl(HANDSHAKE_MILLIS);
    socket.setIPv6(true);
  }

  void close(DiscoveryRecord.Channel channel) {
    Line line = lines.remove(channel);
    if (line == null) {
      return;
    }
    failing.remove(line);
    release(line);
    note(line, "");
    line.waiting.forEach(Runnable::run);
  }

  /** A socket may be closed before what it had to say is looked at. */
  private void connection(Line line, ZMQ.Socket of, ZEvent event) {
    if (line.socket != of) {
      return;
    }
    if (event.getEvent() == ZMonitor.Event.CONNECTED) {
      handshakes.connected(of, clock.getAsLong());
      return;
    }
    handshakes.settled(of);
    if (event.getEvent() == ZMonitor.Event.HANDSHAKE_PROTOCOL) {
      note(line, "");
      established(line);
    } else if (note(line, "the publisher at " + line.channel.address() + " is not connected")
        && event.getEvent() == ZMonitor.Event.DISCONNECTED) {
      disconnects.increment();
    }
  }

  private static void established(Line line) {
    line.established = true;
    List<Runnable> waited = List.copyOf(line.waiting);
    line.waiting.clear();
    waited.forEach(Runnable::run);
  }

  /** Whether anything changed by it. */
  private boolean note(Line line, String problem) {
    synchronized (problems) {
      String before =
          problem.isEmpty() ? problems.remove(line.channel) : problems.put(line.channel, problem);
      if (problem.equals(Objects.requireNonNullElse(before, ""))) {
        return false;
      }
    }
    connectionsChanged.run();
    return true;
  }

  /** Whether the task waits now for a publisher's events to be heard. */
  boolean awaits(EndpointId endpoint, long publisherId, Runnable task) {
    for (Line line : lines.values()) {
      DiscoveryRecord.Channel channel = line.channel;
      if (channel.publisherId() == publisherId
          && channel.topic() == Topic.KV_EVENTS
          && channel.endpoint().equals(endpoint)
          && !line.established) {
        line.waiting.add(task);
        return true;
      }
    }
    return false;
  }

  /** Channels whose publisher cannot be heard at present, each with the reason. Thread safe. */
  Map<DiscoveryRecord.Channel, String> unreachable() {
    synchronized (problems) {
      return new HashMap<>(problems);
    }
  }

  /** Connections that broke. Thread safe. */
  long disconnects() {
    return disconnects.sum();
  }

  /** Times that a socket could not be had. Thread safe. */
  long failedSockets() {
    return failedSockets.sum();
  }

  /** Closes all channels and the library. */
  @Override
  public void close() {
    try {
      channels().forEach(this::close);
    } finally {
      poller.close();
      context.close();
    }
  }
}
