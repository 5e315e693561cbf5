package io.kvrelay.engine.pool;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Bounds what waits in a pool's mailbox: 256 commands that together cost at most 65,536 blocks. Who
 * does not fit waits in line; nothing is dropped, and nobody overtakes. A single command that costs
 * more than all permits costs all of them.
 *
 * <p>Thread safe. A lock is held for a few instructions; no callback runs under it.
 */
final class AdmissionGate {
  static final int COMMANDS = 256;
  static final int PERMITS = 65_536;

  // A future and not a bare stage: asking whether it is done allocates nothing.
  private static final CompletableFuture<Void> ADMITTED = CompletableFuture.completedFuture(null);

  private record Waiting(PoolCommand command, CompletableFuture<Void> admitted) {}

  private final Consumer<PoolCommand> mailbox;
  private final Executor executor;
  private final Supplier<? extends RuntimeException> refusal;
  private final Queue<Waiting> line = new ArrayDeque<>();
  private int freeCommands = COMMANDS;
  private int freePermits = PERMITS;
  private boolean closed;

  /**
   * Creates an open gate.
   *
   * @param mailbox takes admitted commands, under the gate's lock: it only enqueues, and has room
   *     for {@link #COMMANDS}
   * @param executor completes the stages of those who waited
   * @param refusal what a closed gate says
   */
  AdmissionGate(
      Consumer<PoolCommand> mailbox,
      Executor executor,
      Supplier<? extends RuntimeException> refusal) {
    this.mailbox = mailbox;
    this.executor = executor;
    this.refusal = refusal;
  }

  /** A stage that completes once the command is in the mailbox. */
  CompletionStage<Void> admit(PoolCommand command) {
    synchronized (this) {
      if (!closed) {
        if (line.isEmpty() && fits(command)) {
          enter(command);
          return ADMITTED;
        }
        Waiting waiting = new Waiting(command, new CompletableFuture<>());
        line.add(waiting);
        return waiting.admitted();
      }
    }
    return CompletableFuture.failedStage(refusal.get());
  }

  private boolean fits(PoolCommand command) {
    return freeCommands > 0 && freePermits >= command.cost();
  }

  private void enter(PoolCommand command) {
    mailbox.accept(command);
    freeCommands--;
    freePermits -= command.cost();
  }

  /** Takes back what a command held, once it was processed, and lets in who fits now. */
  void release(PoolCommand command) {
    List<Waiting> admitted = List.of();
    synchronized (this) {
      freeCommands++;
      freePermits += command.cost();
      while (!line.isEmpty() && fits(line.element().command())) {
        if (admitted.isEmpty()) {
          admitted = new ArrayList<>();
        }
        admitted.add(line.element()); // first: this may find no memory
        enter(line.remove().command());
      }
    }
    for (Waiting waiting : admitted) {
      try {
        waiting.admitted().completeAsync(() -> null, executor);
      } catch (RuntimeException | Error refused) {
        waiting.admitted().complete(null); // it is in the mailbox, and somebody may be waiting
      }
    }
  }

  /** Lets nobody in any more; who waits is refused. What is in the mailbox stays. */
  void close() {
    List<Waiting> refused;
    synchronized (this) {
      closed = true;
      refused = new ArrayList<>(line);
      line.clear();
    }
    for (Waiting waiting : refused) {
      waiting.command().refuse(refusal.get());
      waiting.admitted().completeExceptionally(refusal.get());
    }
  }

  synchronized int usedCommands() {
    return COMMANDS - freeCommands;
  }

  synchronized int usedPermits() {
    return PERMITS - freePermits;
  }

  synchronized int inLine() {
    return line.size();
  }
}
