package io.kvrelay.benchmarks;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvrelay.api.KvEvent;
import io.kvrelay.cli.replay.EventFile;
import io.kvrelay.cli.replay.Replay;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.pool.PoolStatistics;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * {@code ingest-compare PEER SEED FILES [EVENTS EXPECTED FLUSH]...}: our producer against the
 * reference's, whose harness is the program PEER. Both run over FILES seeded random event files, or
 * over the recordings named; words, counters and error kinds must be equal. A file on which they
 * are not is kept and named.
 */
final class IngestCompare {
  private static final long[] EXPECTED = {1, 6, 30, 200, 1000, 20_000};

  private final String peer;
  private int differing;

  private IngestCompare(String peer) {
    this.peer = peer;
  }

  static void run(String[] args) throws IOException, InterruptedException {
    if (args.length < 3 || args.length % 3 != 0) {
      throw new IllegalArgumentException(
          "ingest-compare PEER SEED FILES [EVENTS EXPECTED FLUSH]...");
    }
    IngestCompare compare = new IngestCompare(args[0]);
    long seed = Arguments.number("SEED", args[1]);
    int files = (int) Arguments.inRange("FILES", args[2], 0, Integer.MAX_VALUE);
    for (int i = 0; i < files; i++) {
      compare.random(seed + i);
    }
    int recordings = 0;
    for (int i = 3; i + 2 < args.length; i += 3) {
      long expected =
          Arguments.inRange("EXPECTED", args[i + 1], 1, CkfConfig.LARGEST_EXPECTED_BLOCKS);
      compare.file(Path.of(args[i]), expected, Arguments.positive("FLUSH", args[i + 2]));
      recordings++;
    }
    System.out.printf(
        "{\"bench\":\"ingest-compare\",\"random_files\":%d,\"recordings\":%d,\"differing\":%d}%n",
        files, recordings, compare.differing);
    if (compare.differing > 0) {
      System.exit(1);
    }
  }

  private void random(long seed) throws IOException, InterruptedException {
    SplittableRandom random = new SplittableRandom(~seed);
    Path file = Files.createTempFile("kvrelay-events-" + seed + "-", ".jsonl");
    Files.write(file, new RandomEvents(seed).lines(200 + random.nextInt(4000)));
    long expected = EXPECTED[random.nextInt(EXPECTED.length)];
    if (file(file, expected, 1 + random.nextInt(70))) {
      Files.delete(file);
    }
  }

  private boolean file(Path file, long expected, int flushEvery)
      throws IOException, InterruptedException {
    Map<String, String> theirs = theirs(file, expected, flushEvery);
    Map<String, String> ours = ours(file, expected, flushEvery);
    if (ours.equals(theirs)) {
      return true;
    }
    differing++;
    System.out.printf(
        "%s, expected %d, flush %d:%n  ours   %s%n  theirs %s%n",
        file, expected, flushEvery, ours, theirs);
    return false;
  }

  /** What our producer makes of a file, under the names that the reference's harness gives it. */
  static Map<String, String> ours(Path file, long expected, int flushEvery) {
    List<KvEvent> events = EventFile.read(file);
    Replay.Result result = Replay.run(events, CkfConfig.of(expected), flushEvery);
    PoolStatistics s = result.statistics();
    Map<String, String> facts = new TreeMap<>();
    facts.put("events", "" + events.size());
    facts.put("block_ops", "" + Replay.blockOperations(events));
    facts.put("images", "" + result.images());
    facts.put("contributions", "" + s.contributions());
    facts.put("unique", "" + s.uniqueBlocks());
    facts.put("occupied_slots", "" + s.occupiedSlots());
    facts.put("capacity_failures", "" + s.capacityFailures());
    facts.put("parent_not_found", "" + s.parentNotFound());
    facts.put("unknown_removals", "" + s.unknownRemovals());
    facts.put("layout_xxh3", result.wordsXxh3());
    facts.put("buckets", "" + s.buckets());
    s.errors()
        .forEach(
            (kind, count) -> {
              if (count > 0) {
                facts.put("errors." + kind.wireName(), "" + count);
              }
            });
    return facts;
  }

  private Map<String, String> theirs(Path file, long expected, int flushEvery)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(peer, "ingest", file.toString(), "" + expected, "" + flushEvery, "1")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IllegalStateException(peer + " failed on " + file);
    }
    Map<String, String> facts = new TreeMap<>();
    for (String line : output.lines().toList()) {
      flatten(line, facts);
    }
    List.of("bench", "round", "seconds", "mops", "mem").forEach(facts::remove);
    return facts;
  }

  private static void flatten(String line, Map<String, String> facts) throws IOException {
    try (JsonParser in = new JsonFactory().createParser(line)) {
      String prefix = "";
      String key = "";
      for (JsonToken token = in.nextToken(); token != null; token = in.nextToken()) {
        if (token == JsonToken.FIELD_NAME) {
          key = in.currentName();
        } else if (token == JsonToken.START_OBJECT) {
          prefix = key.isEmpty() ? "" : key + ".";
        } else if (token == JsonToken.END_OBJECT) {
          prefix = "";
        } else {
          facts.put(prefix + key, in.getText());
        }
      }
    }
  }
}
