package io.kvrelay.transport.grpc;

import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.IoHandlerFactory;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import io.grpc.netty.shaded.io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * The event loops of one export. They are its own so that it can end them: gRPC's forceful close
 * leaves a connection open now and then when one of its streams is not read, and an export does not
 * wait for such a peer. Threads start when they are needed and are daemons.
 */
final class ServerLoops {
  private final EventLoopGroup boss = group(1);
  private final EventLoopGroup workers = group(Runtime.getRuntime().availableProcessors());

  private static EventLoopGroup group(int threads) {
    IoHandlerFactory handlers =
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    return new MultiThreadIoEventLoopGroup(
        threads, new DefaultThreadFactory("kvrelay-grpc", true), handlers);
  }

  NettyServerBuilder applyTo(NettyServerBuilder builder) {
    return builder
        .channelType(
            Epoll.isAvailable() ? EpollServerSocketChannel.class : NioServerSocketChannel.class)
        .bossEventLoopGroup(boss)
        .workerEventLoopGroup(workers);
  }

  /** Closes every connection that is left, and ends the threads. Does not wait. */
  void stop() {
    stop(boss);
    stop(workers);
  }

  private static void stop(EventLoopGroup group) {
    Future<?> unused = group.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }
}
