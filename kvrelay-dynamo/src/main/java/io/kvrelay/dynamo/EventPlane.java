package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.events.KvEventSource;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

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

  private final PublisherSockets sockets;
  private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();
  private final Pipe wakeUp;
  private final Thread thread;
  private final LongAdder messages = new LongAdder();
  private final LongAdder malformed = new LongAdder();
  private final LongAdder skippedSequences = new LongAdder();

  private volatile boolean closed;
  private volatile boolean dead;

  // Everything below belongs to the plane's thread.
  private final Map<Interest, Set<Receiver>> receivers = new HashMap<>();
  private Set<DiscoveryRecord.Channel> channels = Set.of();

  /**
   * Starts the thread.
   *
   * @param clock nanoseconds
   * @param connectionsChanged told whenever {@link #unreachable()} changed, from any thread
   */
  EventPlane(LongSupplier clock, Runnable connectionsChanged) throws IOException {
    this.wakeUp = Pipe.open();
    wakeUp.source().configureBlocking(false);
    wakeUp.sink().configureBlocking(false);
    try {
      this.sockets =
          new PublisherSockets(wakeUp.source(), clock, this::command, connectionsChanged);
    } catch (RuntimeException e) {
      closePipe();
      throw new IOException("no event plane: " + e.getMessage(), e);
    }
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
    try {
      while (!closed) {
        sockets.await();
        drainWakeUps();
        runCommands();
        sockets.tick();
        sockets.read(this::take);
      }
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.ERROR, "the event plane has ended", e);
    } finally {
      closed = true;
      try {
        sockets.close();
      } finally {
        dead = true;
        runCommandsOfTheDead();
        closePipe();
      }
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

  /** A command that fails, for instance because of whom it tells, is no reason for others to. */
  private void runCommands() {
    for (Runnable command = commands.poll(); command != null; command = commands.poll()) {
      try {
        command.run();
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "a command of the event plane failed", e);
      }
    }
  }

  /** Nothing is read any more: who comes now is told so at once. */
  private synchronized void runCommandsOfTheDead() {
    runCommands();
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
    if (dead) {
      return;
    }
    for (DiscoveryRecord.Channel channel : sockets.channels()) {
      if (!channels.contains(channel) || !isWanted(channel)) {
        sockets.close(channel);
      }
    }
    for (DiscoveryRecord.Channel channel : channels) {
      if (isWanted(channel) && !sockets.isOpen(channel)) {
        sockets.open(channel);
      }
    }
  }

  private boolean isWanted(DiscoveryRecord.Channel channel) {
    return channel.address() != null
        && receivers.containsKey(new Interest(channel.endpoint(), channel.topic()));
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
          if (!sockets.awaits(endpoint, publisherId, later)) {
            now.run();
          }
        });
  }

  private void take(
      DiscoveryRecord.Channel channel, PublisherSockets.Heard heard, List<byte[]> frames) {
    Set<Receiver> there =
        receivers.getOrDefault(new Interest(channel.endpoint(), channel.topic()), Set.of());
    try {
      Envelope envelope = Envelope.read(frames, channel.topic(), channel.publisherId());
      if (envelope == null) {
        return; // a longer topic that begins with this one
      }
      messages.increment();
      count(heard, envelope.sequence());
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
  private void count(PublisherSockets.Heard heard, long sequence) {
    long due = heard.sequence + 1;
    if (heard.any && Long.compareUnsigned(sequence, due) > 0) {
      skippedSequences.add(sequence - due);
    }
    heard.any = true;
    heard.sequence = sequence;
  }

  /** Channels whose publisher cannot be heard at present, each with the reason. */
  Map<DiscoveryRecord.Channel, String> unreachable() {
    return sockets.unreachable();
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
    return sockets.disconnects();
  }

  /** Times that a socket could not be had. */
  long failedSockets() {
    return sockets.failedSockets();
  }
}
