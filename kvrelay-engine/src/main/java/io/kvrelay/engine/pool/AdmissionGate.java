package io.kvrelay.engine.pool;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
  private long refusedEvents;

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
      countRefused(command);
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
    synchronized (this) {
      freeCommands++;
      freePermits += command.cost();
    }
    // One by one, without a list of them: who is in the mailbox is told whatever becomes of others.
    for (Waiting next = enterNext(); next != null; next = enterNext()) {
      tell(next.admitted());
    }
  }

  private synchronized @Nullable Waiting enterNext() {
    Waiting next = line.peek();
    if (next == null || !fits(next.command())) {
      return null;
    }
    enter(next.command());
    return line.remove();
  }

  private void tell(CompletableFuture<Void> admitted) {
    try {
      admitted.completeAsync(() -> null, executor);
    } catch (RuntimeException | Error refused) {
      admitted.complete(null); // it is in the mailbox, and somebody may be waiting
    }
  }

  /** Lets nobody in any more; who waits is refused. What is in the mailbox stays. */
  void close() {
    for (Waiting next = closeAndTakeNext(); next != null; next = closeAndTakeNext()) {
      RuntimeException reason = refusal.get();
      next.command().refuse(reason);
      next.admitted().completeExceptionally(reason);
    }
  }

  private synchronized @Nullable Waiting closeAndTakeNext() {
    closed = true;
    Waiting next = line.poll();
    if (next != null) {
      countRefused(next.command());
    }
    return next;
  }

  private void countRefused(PoolCommand command) {
    refusedEvents += command instanceof PoolCommand.Event ? 1 : 0;
  }

  /** Events that were not let in because the gate was closed. */
  synchronized long refusedEvents() {
    return refusedEvents;
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
