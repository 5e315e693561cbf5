package io.kvrelay.transport.grpc;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Stands between a client and a server and does to their bytes what networks do: passes them,
 * stalls, cuts the connection after some, resets it, flips a bit. Threads are daemons.
 */
final class TcpProxy implements AutoCloseable {
  private final ServerSocket listener;
  private final int target;
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private final AtomicLong fromServer = new AtomicLong();
  private final Object gate = new Object();
  private volatile boolean stalled;
  private volatile long cutAfter = Long.MAX_VALUE;
  private volatile long flipAt = -1;

  TcpProxy(int target) throws IOException {
    this.target = target;
    this.listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    daemon(this::accept);
  }

  private static void daemon(Runnable body) {
    Thread thread = new Thread(body, "tcp-proxy");
    thread.setDaemon(true);
    thread.start();
  }

  URI address() {
    return URI.create("grpc://127.0.0.1:" + listener.getLocalPort());
  }

  /** Bytes that came from the server so far. */
  long bytesFromServer() {
    return fromServer.get();
  }

  /** Passes nothing on from now on, in either direction, and keeps the connections open. */
  void stall() {
    stalled = true;
  }

  void resume() {
    synchronized (gate) {
      stalled = false;
      gate.notifyAll();
    }
  }

  /** Closes connections once the server has sent so many bytes in all. */
  void cutAfter(long bytes) {
    cutAfter = bytes;
  }

  /** Flips the lowest bit of one byte of what the server sends, counted over all connections. */
  void flipAt(long position) {
    flipAt = position;
  }

  /** Resets every connection. */
  void reset() {
    for (Socket socket : sockets) {
      try {
        socket.setSoLinger(true, 0);
        socket.close();
      } catch (IOException e) {
        // gone already
      }
    }
  }

  private void accept() {
    try {
      while (!listener.isClosed()) {
        Socket client = listener.accept();
        Socket server = new Socket(InetAddress.getLoopbackAddress(), target);
        client.setTcpNoDelay(true);
        server.setTcpNoDelay(true);
        sockets.add(client);
        sockets.add(server);
        daemon(() -> pump(client, server, false));
        daemon(() -> pump(server, client, true));
      }
    } catch (IOException closed) {
      // the end of the proxy, or of the server behind it
    }
  }

  private void pump(Socket from, Socket to, boolean serverSide) {
    byte[] buffer = new byte[8192];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      int read = in.read(buffer);
      while (read >= 0) {
        awaitGate();
        int length = serverSide ? tamper(buffer, read) : read;
        out.write(buffer, 0, length);
        if (length < read) {
          return;
        }
        read = in.read(buffer);
      }
    } catch (IOException | InterruptedException e) {
      // one side is gone: try-with-resources takes the other with it
    }
  }

  private void awaitGate() throws InterruptedException {
    synchronized (gate) {
      while (stalled) {
        gate.wait();
      }
    }
  }

  private int tamper(byte[] buffer, int read) {
    long start = fromServer.getAndAdd(read);
    long flip = flipAt - start;
    if (flip >= 0 && flip < read) {
      buffer[(int) flip] ^= 1;
    }
    return (int) Math.max(0, Math.min(read, cutAfter - start));
  }

  @Override
  public void close() throws IOException {
    listener.close();
    resume();
    reset();
  }
}
