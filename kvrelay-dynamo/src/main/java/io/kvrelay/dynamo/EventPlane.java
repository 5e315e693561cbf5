package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.events.KvEventSource;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZEvent;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMonitor;

/**
 * Follows the publishers of a deployment: one subscriber's socket per advertised channel that
 * somebody follows, all of them read by one thread. Thread safe.
 */
final class EventPlane implements AutoCloseable {
  /** Takes what a channel's publisher says; called by the plane's thread alone. */
  interface Receiver {
    /** A message that is what it claims to be. */
    void onMessage(DiscoveryRecord.Channel channel, Envelope envelope) throws MalformedException;

    /** A message could not be used. */
    void onMalformed(DiscoveryRecord.Channel channel, String reason);

    /** The plane is closed; the last call. */
    void onClosed();
  }

  /** What is followed: an endpoint's publishers of one topic. */
  private record Interest(EndpointId endpoint, Topic topic) {}

  private static final System.Logger LOG = System.getLogger(EventPlane.class.getName());
  private static final int HIGH_WATER_MARK = 100_000;
  private static final int MAX_MESSAGE_BYTES = 64 << 20;
  private static final int MESSAGES_PER_TURN = 256;

  /** One for each channel that is followed; the library's own bound is 1,023. */
  private static final int MAX_SOCKETS = 1 << 14;

  private static final int FIRST_RECONNECT_MILLIS = 100;
  private static final int LAST_RECONNECT_MILLIS = 2_000;

  /** A peer that takes the connection and says nothing is tried again; the library waits 30 s. */
  private static final int HANDSHAKE_MILLIS = 5_000;

  private static final int EVENTS =
      ZMQ.EVENT_DISCONNECTED | ZMQ.EVENT_CONNECT_RETRIED | ZMQ.EVENT_HANDSHAKE_PROTOCOL;

  private final Runnable connectionsChanged;
  private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
  private final Pipe wakeUp;
  private final Thread thread;
  private final LongAdder messages = new LongAdder();
  private final LongAdder malformed = new LongAdder();
  private final LongAdder skippedSequences = new LongAdder();
  private final LongAdder disconnects = new LongAdder();

  /** Channels with a socket; guarded by itself. */
  private final Map<DiscoveryRecord.Channel, Connection> connections = new HashMap<>();

  private volatile boolean closed;
  private volatile boolean dead;

  // Everything below belongs to the plane's thread.
  private final Map<Interest, Set<Receiver>> receivers = new HashMap<>();
  private final Map<DiscoveryRecord.Channel, Line> lines = new HashMap<>();
  private Set<DiscoveryRecord.Channel> channels = Set.of();
  private @Nullable ZContext context;
  private ZMQ.@Nullable Poller poller;

  /** What is known of a channel's connection. */
  private static final class Connection {
    private boolean established;
    private String problem = "";
    private final List<Runnable> waiting = new ArrayList<>();
  }

  /** One channel's socket and what was last heard on it. */
  private static final class Line {
    private final ZMQ.Socket socket;
    private boolean heard;
    private long sequence;

    private Line(ZMQ.Socket socket) {
      this.socket = socket;
    }
  }

  /**
   * Starts the thread.
   *
   * @param connectionsChanged told whenever {@link #unreachable()} changed, from any thread
   */
  EventPlane(Runnable connectionsChanged) throws IOException {
    this.connectionsChanged = connectionsChanged;
    this.wakeUp = Pipe.open();
    wakeUp.source().configureBlocking(false);
    wakeUp.sink().configureBlocking(false);
    this.thread = new Thread(this::run, "kvrelay-dynamo-events");
    thread.setDaemon(true);
    thread.start();
  }

  /** All channels that are advertised now. */
  void channels(List<DiscoveryRecord.Channel> advertised) {
    Set<DiscoveryRecord.Channel> next = new HashSet<>(advertised);
    command(
        () -> {
          channels = next;
          connectAndCut();
        });
  }

  /**
   * Follows every publisher of a topic under an endpoint.
   *
   * @return ends it; its stage completes once the receiver is not called any more
   */
  KvEventSource.Following follow(EndpointId endpoint, Topic topic, Receiver receiver) {
    Interest interest = new Interest(endpoint, topic);
    command(
        () -> {
          receivers.computeIfAbsent(interest, i -> new HashSet<>()).add(receiver);
          connectAndCut();
        });
    return () -> {
      CompletableFuture<Void> done = new CompletableFuture<>();
      command(
          () -> {
            forget(interest, receiver);
            done.complete(null);
          });
      return done;
    };
  }

  private void forget(Interest interest, Receiver receiver) {
    Set<Receiver> there = receivers.get(interest);
    if (there != null && there.remove(receiver) && there.isEmpty()) {
      receivers.remove(interest);
      connectAndCut();
    }
  }

  private void command(Runnable command) {
    commands.add(command);
    wake();
    if (dead) {
      runCommandsOfTheDead();
    }
  }

  private void wake() {
    try {
      wakeUp.sink().write(ByteBuffer.allocate(1));
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a closed plane is not woken", e);
    }
  }

  @Override
  public void close() {
    closed = true;
    wake();
    boolean interrupted = false;
    try {
      thread.join(5_000);
    } catch (InterruptedException e) {
      interrupted = true;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try (ZContext context = new ZContext(1);
        ZMQ.Poller poller = context.createPoller(1)) {
      context.setLinger(0);
      context.getContext().setMaxSockets(MAX_SOCKETS);
      poller.register(wakeUp.source(), ZMQ.Poller.POLLIN);
      while (!closed) {
        poller.poll(-1);
        drainWakeUps();
        runCommands(context, poller);
        for (Map.Entry<DiscoveryRecord.Channel, Line> line : List.copyOf(lines.entrySet())) {
          read(line.getKey(), line.getValue());
        }
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.ERROR, "the event plane has ended", e);
    } finally {
      closed = true;
      dead = true;
      runCommandsOfTheDead();
      closePipe();
    }
  }

  private void closePipe() {
    try (Pipe.SinkChannel sink = wakeUp.sink();
        Pipe.SourceChannel source = wakeUp.source()) {
      LOG.log(Level.TRACE, "closing {0} and {1}", sink, source);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a pipe cannot be closed", e);
    }
  }

  private void runCommands(ZContext zmq, ZMQ.Poller polled) {
    context = zmq;
    poller = polled;
    Runnable command;
    while ((command = commands.poll()) != null) {
      command.run();
    }
  }

  /** Nothing is read any more: who comes now is told so at once. */
  private synchronized void runCommandsOfTheDead() {
    context = null;
    poller = null;
    lines.clear();
    Runnable command;
    while ((command = commands.poll()) != null) {
      command.run();
    }
    Set<Receiver> all = new HashSet<>();
    receivers.values().forEach(all::addAll);
    all.forEach(Receiver::onClosed);
    receivers.clear();
  }

  private void drainWakeUps() throws IOException {
    ByteBuffer nothing = ByteBuffer.allocate(64);
    while (wakeUp.source().read(nothing) > 0) {
      nothing.clear();
    }
  }

  private void connectAndCut() {
    for (DiscoveryRecord.Channel channel : List.copyOf(lines.keySet())) {
      if (!channels.contains(channel) || !isWanted(channel)) {
        cut(channel);
      }
    }
    for (DiscoveryRecord.Channel channel : channels) {
      if (isWanted(channel) && !lines.containsKey(channel)) {
        connect(channel);
      }
    }
  }

  private boolean isWanted(DiscoveryRecord.Channel channel) {
    return channel.address() != null
        && receivers.containsKey(new Interest(channel.endpoint(), channel.topic()));
  }

  private void connect(DiscoveryRecord.Channel channel) {
    ZContext zmq = context;
    ZMQ.Poller polled = poller;
    if (zmq == null || polled == null) {
      return;
    }
    Connection connection = new Connection();
    synchronized (connections) {
      connections.put(channel, connection);
    }
    ZMQ.Socket socket = zmq.createSocket(SocketType.SUB);
    socket.setRcvHWM(HIGH_WATER_MARK);
    socket.setMaxMsgSize(MAX_MESSAGE_BYTES);
    socket.setLinger(0);
    socket.setReconnectIVL(FIRST_RECONNECT_MILLIS);
    socket.setReconnectIVLMax(LAST_RECONNECT_MILLIS);
    socket.setHandshakeIvl(HANDSHAKE_MILLIS);
    socket.setIPv6(true);
    socket.setEventHook(event -> connection(channel, connection, event), EVENTS);
    socket.subscribe(channel.topic().subscription());
    try {
      socket.connect(String.valueOf(channel.address()));
    } catch (ZMQException | IllegalArgumentException e) {
      note(channel, connection, channel.address() + " cannot be followed: " + e.getMessage());
    }
    polled.register(socket, ZMQ.Poller.POLLIN);
    lines.put(channel, new Line(socket));
  }

  private void cut(DiscoveryRecord.Channel channel) {
    Line line = lines.remove(channel);
    Connection connection;
    synchronized (connections) {
      connection = connections.remove(channel);
    }
    ZMQ.Poller polled = poller;
    if (line != null && polled != null) {
      polled.unregister(line.socket);
      line.socket.close();
    }
    if (connection != null) {
      connection.waiting.forEach(Runnable::run);
      if (!connection.problem.isEmpty()) {
        connectionsChanged.run();
      }
    }
  }

  /** Called by a thread of the library, also about a socket that is closed meanwhile. */
  private void connection(DiscoveryRecord.Channel channel, Connection of, ZEvent event) {
    if (event.getEvent() == ZMonitor.Event.HANDSHAKE_PROTOCOL) {
      established(channel, of);
      note(channel, of, "");
    } else if (note(channel, of, "the publisher at " + channel.address() + " is not connected")
        && event.getEvent() == ZMonitor.Event.DISCONNECTED) {
      disconnects.increment();
    }
  }

  private void established(DiscoveryRecord.Channel channel, Connection of) {
    List<Runnable> waited;
    synchronized (connections) {
      Connection connection = connections.get(channel);
      if (connection != of || of.established) {
        return;
      }
      of.established = true;
      waited = List.copyOf(of.waiting);
      of.waiting.clear();
    }
    waited.forEach(Runnable::run);
  }

  /** False if nothing changed, or the channel was given up meanwhile. */
  private boolean note(DiscoveryRecord.Channel channel, Connection of, String problem) {
    synchronized (connections) {
      Connection connection = connections.get(channel);
      if (connection != of || of.problem.equals(problem)) {
        return false;
      }
      of.problem = problem;
    }
    connectionsChanged.run();
    return true;
  }

  /**
   * Waits for a publisher's events to be heard for the first time, or its channel to be given up.
   *
   * @param now runs, on any thread, if there is nothing to wait for
   * @param later runs, on any thread, when the wait is over
   */
  void onceHeard(EndpointId endpoint, long publisherId, Runnable now, Runnable later) {
    command(
        () -> {
          if (!awaits(endpoint, publisherId, later)) {
            now.run();
          }
        });
  }

  private boolean awaits(EndpointId endpoint, long publisherId, Runnable task) {
    synchronized (connections) {
      for (Map.Entry<DiscoveryRecord.Channel, Connection> entry : connections.entrySet()) {
        DiscoveryRecord.Channel channel = entry.getKey();
        if (channel.publisherId() == publisherId
            && channel.topic() == Topic.KV_EVENTS
            && channel.endpoint().equals(endpoint)
            && !entry.getValue().established) {
          entry.getValue().waiting.add(task);
          return true;
        }
      }
    }
    return false;
  }

  private void read(DiscoveryRecord.Channel channel, Line line) {
    for (int i = 0; i < MESSAGES_PER_TURN && lines.get(channel) == line; i++) {
      List<byte[]> frames = receive(line.socket);
      if (frames == null) {
        return;
      }
      take(channel, line, frames);
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
      frames.add(socket.recv());
    }
    return frames;
  }

  private void take(DiscoveryRecord.Channel channel, Line line, List<byte[]> frames) {
    Set<Receiver> there =
        receivers.getOrDefault(new Interest(channel.endpoint(), channel.topic()), Set.of());
    try {
      Envelope envelope = Envelope.read(frames, channel.topic(), channel.publisherId());
      if (envelope == null) {
        return; // a longer topic that begins with this one
      }
      messages.increment();
      count(line, envelope.sequence());
      for (Receiver receiver : List.copyOf(there)) {
        receiver.onMessage(channel, envelope);
      }
    } catch (MalformedException e) {
      malformed.increment();
      LOG.log(Level.DEBUG, () -> "a message of " + channel + " is dropped: " + e.getMessage());
      String reason = e.getMessage();
      List.copyOf(there).forEach(receiver -> receiver.onMalformed(channel, reason));
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "a receiver of events failed", e);
    }
  }

  /** What was lost shows in the events' own numbers; this is for people. */
  private void count(Line line, long sequence) {
    long due = line.sequence + 1;
    if (line.heard && Long.compareUnsigned(sequence, due) > 0) {
      skippedSequences.add(sequence - due);
    }
    line.heard = true;
    line.sequence = sequence;
  }

  /** Channels whose publisher cannot be heard at present, each with the reason. */
  Map<DiscoveryRecord.Channel, String> unreachable() {
    synchronized (connections) {
      Map<DiscoveryRecord.Channel, String> found = new HashMap<>();
      connections.forEach(
          (channel, connection) -> {
            if (!connection.problem.isEmpty()) {
              found.put(channel, connection.problem);
            }
          });
      return found;
    }
  }

  long messages() {
    return messages.sum();
  }

  long malformed() {
    return malformed.sum();
  }

  long skippedSequences() {
    return skippedSequences.sum();
  }

  long disconnects() {
    return disconnects.sum();
  }

  /** Runs once everything that was asked before has taken effect. For tests. */
  void afterwards(Consumer<Integer> task) {
    command(() -> task.accept(lines.size()));
  }
}
