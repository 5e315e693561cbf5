package io.kvrelay.cli;

import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.EngineWire;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** A simulated engine on loopback: a publisher, and a replay socket served by a thread. */
final class TestEngine implements AutoCloseable {
  static final int BLOCK = 16;

  private final EngineSimulator engine;
  private final ZContext context = new ZContext(1);
  private final ZMQ.Socket publisher;
  private final ZMQ.Socket router;
  private final Thread thread;
  private volatile boolean closing;

  TestEngine(EngineWire wire) {
    this(wire, BLOCK);
  }

  TestEngine(EngineWire wire, int blockSize) {
    engine = EngineSimulator.builder(wire).blockSize(blockSize).build();
    context.setLinger(0);
    publisher = context.createSocket(SocketType.XPUB);
    publisher.bind("tcp://127.0.0.1:*");
    router = context.createSocket(SocketType.ROUTER);
    router.bind("tcp://127.0.0.1:*");
    router.setReceiveTimeOut(5);
    thread = new Thread(this::serve, "test-engine");
    thread.setDaemon(true);
    thread.start();
  }

  String live() {
    return publisher.getLastEndpoint();
  }

  String replay() {
    return router.getLastEndpoint();
  }

  /** Waits until the publisher knows of a subscription: what it says from now on is heard. */
  synchronized void awaitSubscriber() {
    publisher.setReceiveTimeOut(60_000);
    if (publisher.recv() == null) {
      throw new AssertionError("nobody subscribes to " + live());
    }
  }

  static int[] prompt(int seed, int blocks) {
    int[] tokens = new int[blocks * BLOCK];
    Arrays.setAll(tokens, i -> seed * 10_000 + i);
    return tokens;
  }

  synchronized void request(int seed, int blocks) {
    engine.request(prompt(seed, blocks));
    byte[][] frames = engine.step();
    if (frames != null) {
      send(publisher, frames);
    }
  }

  private static void send(ZMQ.Socket socket, byte[]... frames) {
    for (int i = 0; i < frames.length; i++) {
      socket.send(frames[i], i == frames.length - 1 ? 0 : ZMQ.SNDMORE);
    }
  }

  private void serve() {
    while (!closing) {
      List<byte[]> request = new ArrayList<>();
      for (byte[] frame = router.recv(); frame != null; frame = router.recv()) {
        request.add(frame);
        if (!router.hasReceiveMore()) {
          break;
        }
      }
      if (request.size() == 3) {
        answer(request);
      }
    }
  }

  private synchronized void answer(List<byte[]> request) {
    for (byte[][] reply : engine.replay(new byte[][] {request.get(1), request.get(2)})) {
      byte[][] routed = new byte[reply.length + 1][];
      routed[0] = request.get(0);
      System.arraycopy(reply, 0, routed, 1, reply.length);
      send(router, routed);
    }
  }

  @Override
  public void close() {
    closing = true;
    try {
      thread.join(5000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    context.close();
  }
}
