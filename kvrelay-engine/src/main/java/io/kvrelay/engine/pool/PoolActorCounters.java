package io.kvrelay.engine.pool;

/** What the actor counts beside its state. Written by the pool's task, read by any thread. */
final class PoolActorCounters {
  final Cell appliedEvents = new Cell();
  final Cell droppedEvents = new Cell();
  final Cell faults = new Cell();
  final Cell lastSequence = new Cell();
  final Cell leased = new Cell();
  private final Cell published = new Cell();
  private final Cell withoutLease = new Cell();
  private final Cell refused = new Cell();
  private final Cell undelivered = new Cell();

  void count(PoolPublisher.Result result) {
    switch (result) {
      case PUBLISHED -> published.increment();
      case NO_SUBSCRIBER -> withoutLease.increment();
      case REFUSED -> refused.increment();
      case FENCED -> undelivered.increment();
    }
  }

  PoolActorStatistics read(PoolStatistics pool, AdmissionGate gate) {
    return new PoolActorStatistics(
        pool,
        appliedEvents.get(),
        droppedEvents.get() + gate.refusedEvents(),
        faults.get(),
        lastSequence.get(),
        leased.get() != 0,
        published.get(),
        withoutLease.get(),
        refused.get(),
        undelivered.get(),
        gate.usedCommands(),
        gate.usedPermits(),
        gate.inLine());
  }
}
