package io.kvrelay.events.zmq;

import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.StreamFaults;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** A simulated engine on real sockets: PUB for the live stream, ROUTER for replays. */
final class ServedEngine implements AutoCloseable {
  final EngineSimulator engine;
  final StreamFaults faults = new StreamFaults();
  private final ZContext context = new ZContext(1);
  private final ZMQ.Socket publisher;
  private final ZMQ.Socket router;
  private final Thread thread;
  private final String address;
  private final String replayAddress;
  private volatile boolean closing;
  private int replays;

  ServedEngine(EngineSimulator engine, String address, String replayAddress, boolean connects) {
    this.engine = engine;
    context.setLinger(0);
    publisher = context.createSocket(SocketType.PUB);
    router = context.createSocket(SocketType.ROUTER);
    this.address = connects ? connect(publisher, address) : bind(publisher, address);
    this.replayAddress = bind(router, replayAddress);
    router.setReceiveTimeOut(5);
    thread = new Thread(this::serve, "served-engine");
    thread.setDaemon(true);
    thread.start();
  }

  static ServedEngine start(EngineSimulator engine) {
    return new ServedEngine(engine, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", false);
  }

  private static String bind(ZMQ.Socket socket, String address) {
    socket.bind(address);
    return socket.getLastEndpoint();
  }

  private static String connect(ZMQ.Socket socket, String address) {
    socket.connect(address);
    return address;
  }

  String address() {
    return address;
  }

  String replayAddress() {
    return replayAddress;
  }

  /** Lets something happen in the engine and publishes it. */
  synchronized void act(Consumer<EngineSimulator> deed) {
    deed.accept(engine);
    byte[][] frames = engine.step();
    if (frames != null) {
      faults.live(frames).forEach(message -> send(publisher, message));
    }
  }

  synchronized int replays() {
    return replays;
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
    replays++;
    List<byte[][]> replies =
        faults.replay(engine.replay(new byte[][] {request.get(1), request.get(2)}));
    for (byte[][] reply : replies) {
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
