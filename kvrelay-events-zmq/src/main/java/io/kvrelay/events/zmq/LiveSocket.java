package io.kvrelay.events.zmq;

import io.kvrelay.api.runtime.RetryDelay;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.zeromq.ZMQ;

/** One subscription: of one source, or of several that its topics tell apart. */
final class LiveSocket {
  private final ZMQ.Socket socket;
  private final List<SourceDriver> sources = new ArrayList<>();
  private final List<byte[]> topics = new ArrayList<>();
  private final List<byte[]> frames = new ArrayList<>();
  private boolean connected;
  private final RetryDelay connectDelay =
      new RetryDelay(Duration.ofSeconds(1), Duration.ofSeconds(30));
  private long connectAt;

  LiveSocket(ZMQ.Socket socket) {
    this.socket = socket;
  }

  ZMQ.Socket socket() {
    return socket;
  }

  List<SourceDriver> sources() {
    return sources;
  }

  void add(SourceDriver source) {
    sources.add(source);
    String topic = source.source().topic();
    byte[] bytes = (topic == null ? "" : topic).getBytes(StandardCharsets.UTF_8);
    topics.add(bytes);
    socket.subscribe(bytes);
  }

  /**
   * Takes a source out.
   *
   * @return whether it was the last
   */
  boolean remove(SourceDriver source) {
    int index = sources.indexOf(source);
    if (index >= 0) {
      sources.remove(index);
      socket.unsubscribe(topics.remove(index));
    }
    return sources.isEmpty();
  }

  /** To connect could not be begun: it is tried again, after longer and longer. */
  void connectFailed(long now) {
    connectAt = now + connectDelay.takeNanos();
  }

  boolean isConnectDue(long now) {
    return now - connectAt >= 0;
  }

  boolean isConnected() {
    return connected;
  }

  void connected(boolean now) {
    connected = now;
  }

  /**
   * Takes waiting messages, up to a number.
   *
   * @return how many messages no source has asked for
   */
  int drain(int most, long now) {
    int strangers = 0;
    for (int i = 0; i < most; i++) {
      byte @Nullable [][] message = receive(socket, frames);
      if (message == null) {
        break;
      }
      SourceDriver driver = driverOf(message[0]);
      if (driver == null) {
        strangers++;
      } else {
        driver.stream().onLive(message, now);
      }
    }
    return strangers;
  }

  /** A subscription is a prefix; a source wants exactly its topic. */
  private @Nullable SourceDriver driverOf(byte[] topic) {
    for (int i = 0; i < sources.size(); i++) {
      SourceDriver driver = sources.get(i);
      if (driver.source().topic() == null || Arrays.equals(topics.get(i), topic)) {
        return driver;
      }
    }
    return null;
  }

  /** The frames of the next waiting message, or null. */
  static byte @Nullable [][] receive(ZMQ.Socket socket, List<byte[]> frames) {
    byte[] frame = socket.recv(ZMQ.DONTWAIT);
    if (frame == null) {
      return null;
    }
    frames.clear();
    frames.add(frame);
    while (socket.hasReceiveMore()) {
      byte[] more = socket.recv();
      if (more == null) {
        break;
      }
      frames.add(more);
    }
    return frames.toArray(new byte[0][]);
  }
}
