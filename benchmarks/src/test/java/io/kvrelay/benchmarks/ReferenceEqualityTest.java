package io.kvrelay.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What the reference producer made of random event files, kept from a run of {@code
 * ingest-compare}: filters of 2 buckets to 512, from hopelessly full to comfortable.
 */
class ReferenceEqualityTest {
  @TempDir private Path directory;

  @ParameterizedTest
  @CsvSource({
    "1, 1, 1, 9033, 7, 920, 767, 8, 1597, 326, 2583, 15, 290, 59, 2, 7769439acfd5102c",
    "2, 6, 16, 8656, 2, 1405, 1165, 8, 1944, 319, 2806, 11, 297, 80, 2, 5ff6f679c9cae5d3",
    "3, 30, 7, 9267, 179, 1432, 918, 64, 1811, 333, 2500, 8, 252, 60, 16, fb4cfe9089ab3c96",
    "4, 200, 16, 8589, 1522, 1023, 873, 256, 934, 338, 2413, 10, 154, 70, 64, e6467b58d07b87c1",
    "5, 1000, 64, 8853, 1835, 357, 336, 336, 0, 348, 2730, 7, 0, 72, 512, 03a4fb931eea5eb0"
  })
  void wordsCountersAndErrorsAreTheReferencesOwn(
      long seed,
      long expectedBlocks,
      int flushEvery,
      String blockOps,
      String images,
      String contributions,
      String unique,
      String occupied,
      String capacityFailures,
      String parentNotFound,
      String unknownRemovals,
      String invalidSequences,
      String capacityEvents,
      String unsupported,
      String buckets,
      String words)
      throws IOException {
    Path file = directory.resolve("events.jsonl");
    Files.write(file, new RandomEvents(seed).lines(1500));
    Map<String, String> expected = new TreeMap<>();
    expected.put("events", "1500");
    expected.put("block_ops", blockOps);
    expected.put("images", images);
    expected.put("contributions", contributions);
    expected.put("unique", unique);
    expected.put("occupied_slots", occupied);
    expected.put("capacity_failures", capacityFailures);
    expected.put("parent_not_found", parentNotFound);
    expected.put("unknown_removals", unknownRemovals);
    expected.put("buckets", buckets);
    expected.put("layout_xxh3", words);
    expected.put("errors.ParentBlockNotFound", parentNotFound);
    expected.put("errors.InvalidBlockSequence", invalidSequences);
    expected.put("errors.UnsupportedResidencyDomain", unsupported);
    if (!capacityEvents.equals("0")) {
      expected.put("errors.CapacityExhausted", capacityEvents);
    }

    assertThat(IngestCompare.ours(file, expectedBlocks, flushEvery)).isEqualTo(expected);
  }
}
