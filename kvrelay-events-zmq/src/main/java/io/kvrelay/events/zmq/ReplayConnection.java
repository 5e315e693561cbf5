package io.kvrelay.events.zmq;

import org.zeromq.ZMQ;

/**
 * One replay under way: a socket of its own, so that replies belong to one publisher for certain.
 */
final class ReplayConnection {
  private final ZMQ.Socket socket;
  private final long request;
  private long lastHeard;

  ReplayConnection(ZMQ.Socket socket, long request, long now) {
    this.socket = socket;
    this.request = request;
    this.lastHeard = now;
  }

  ZMQ.Socket socket() {
    return socket;
  }

  long request() {
    return request;
  }

  void heard(long now) {
    lastHeard = now;
  }

  long silentFor(long now) {
    return now - lastHeard;
  }
}
