package io.kvrelay.cli.demo;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * One data center: its workers, and the exact truth about what they hold, counted apart from
 * everything that the relay knows. One thread.
 */
final class DataCenter {
  private final LongIntMap owners = new LongIntMap(1024);
  private final List<EngineWorker> workers = new ArrayList<>();
  private final LoadWindow load = new LoadWindow();
  private final int[] depths;
  private final long[] loads;

  /**
   * Creates a data center with empty caches.
   *
   * @param workers number of workers
   * @param cacheBlocks capacity of each worker's cache
   * @param random seeds the workers' block ids
   */
  DataCenter(int workers, int cacheBlocks, SplittableRandom random) {
    for (int i = 0; i < workers; i++) {
      this.workers.add(
          new EngineWorker(new Member(i + 1L, 0), cacheBlocks, random.nextLong(), owners));
    }
    this.depths = new int[workers];
    this.loads = new long[workers];
  }

  /** Leading blocks that some worker here holds: what a perfect index would answer. */
  int exactDepth(Prompt prompt) {
    int depth = 0;
    while (depth < prompt.length() && owners.contains(prompt.sequence()[depth])) {
      depth++;
    }
    return depth;
  }

  /** Blocks computed here in the last minute. */
  long load(long nowMillis) {
    return load.at(nowMillis);
  }

  /** Different blocks held. */
  int distinctBlocks() {
    return owners.size();
  }

  /**
   * Runs a request on the worker that {@link LoadBoundedChoice} picks with exact knowledge.
   *
   * @return blocks served from that worker's cache
   */
  int execute(long nowMillis, Prompt prompt, Consumer<KvEvent> events) {
    for (int i = 0; i < depths.length; i++) {
      depths[i] = workers.get(i).match(prompt);
      loads[i] = workers.get(i).load().at(nowMillis);
    }
    EngineWorker worker = workers.get(LoadBoundedChoice.choose(depths, loads));
    int served = worker.execute(nowMillis, prompt, events);
    load.add(nowMillis, prompt.length() - served);
    return served;
  }

  /** Empties one worker's cache. */
  void clear(int worker, Consumer<KvEvent> events) {
    workers.get(worker).clear(events);
  }

  /** Restarts one worker, whose cache is empty afterwards. */
  void restart(int worker) {
    workers.get(worker).restart();
  }
}
