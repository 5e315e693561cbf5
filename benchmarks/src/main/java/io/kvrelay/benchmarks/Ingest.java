package io.kvrelay.benchmarks;

import io.kvrelay.api.KvEvent;
import io.kvrelay.cli.replay.EventFile;
import io.kvrelay.cli.replay.Replay;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.pool.PoolStatistics;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * {@code ingest EVENTS EXPECTED FLUSH ROUNDS}: the producer's speed on recorded events. The same
 * arguments and the same JSON as the reference's harness, so that the two can be run one after the
 * other on one file. Decoding the file is not measured; all hashing is.
 */
final class Ingest {
  private Ingest() {}

  static void run(String[] args) {
    if (args.length != 4) {
      throw new IllegalArgumentException("ingest EVENTS EXPECTED FLUSH ROUNDS");
    }
    CkfConfig config =
        CkfConfig.of(Arguments.inRange("EXPECTED", args[1], 1, CkfConfig.LARGEST_EXPECTED_BLOCKS));
    int flushEvery = Arguments.positive("FLUSH", args[2]);
    int rounds = Arguments.positive("ROUNDS", args[3]);
    List<KvEvent> events = EventFile.read(Path.of(args[0]));
    long operations = Replay.blockOperations(events);
    for (int round = 0; round < rounds; round++) {
      Replay.Result result = Replay.run(events, config, flushEvery);
      if (round == 0) {
        System.out.printf(
            "{\"layout_xxh3\":\"%s\",\"buckets\":%d}%n",
            result.wordsXxh3(), result.statistics().buckets());
      }
      System.out.println(line(round, events.size(), operations, result));
    }
  }

  private static String line(int round, int events, long operations, Replay.Result result) {
    PoolStatistics s = result.statistics();
    return String.format(
        Locale.ROOT,
        "{\"bench\":\"ingest\",\"round\":%d,\"events\":%d,\"block_ops\":%d,\"seconds\":%.3f,"
            + "\"mops\":%.3f,\"images\":%d,\"contributions\":%d,\"unique\":%d,"
            + "\"occupied_slots\":%d,\"capacity_failures\":%d,\"parent_not_found\":%d,"
            + "\"unknown_removals\":%d,\"errors\":%s,\"mem\":{\"lineage_bytes\":%d,"
            + "\"owner_bytes\":%d,\"filter_bytes\":%d,\"dirty_tracking_bytes\":%d,"
            + "\"scratch_bytes\":%d}}",
        round,
        events,
        operations,
        result.seconds(),
        operations / result.seconds() / 1e6,
        result.images(),
        s.contributions(),
        s.uniqueBlocks(),
        s.occupiedSlots(),
        s.capacityFailures(),
        s.parentNotFound(),
        s.unknownRemovals(),
        errors(s),
        s.lineageBytes(),
        s.ownerBytes(),
        s.filterBytes(),
        s.windowBytes(),
        s.scratchBytes());
  }

  private static String errors(PoolStatistics statistics) {
    return statistics.errors().entrySet().stream()
        .filter(entry -> entry.getValue() > 0)
        .map(Ingest::error)
        .collect(Collectors.joining(",", "{", "}"));
  }

  private static String error(Map.Entry<io.kvrelay.api.KvEventErrorKind, Long> entry) {
    return "\"" + entry.getKey().wireName() + "\":" + entry.getValue();
  }
}
