package io.kvrelay.engine.ckf;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.testing.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CkfVectorsTest {
  private static final Json VECTORS = Json.resource("/vectors/hash_vectors.json");

  @Test
  void aNumberOfBlocksGivesTheNumberOfBuckets() {
    for (Json row : VECTORS.get("bucket_counts")) {
      assertThat(CkfConfig.bucketCount(row.get("n").u64()))
          .as("n = %s", row.get("n"))
          .isEqualTo(row.get("buckets").integer());
    }
  }

  @Test
  void aHashHasItsFingerprintAndItsTwoBuckets() {
    for (Json row : VECTORS.get("addressing")) {
      CkfAddressing addressing =
          new CkfAddressing(
              new CkfFormat(row.get("seed").u64(), row.get("bucket_count").integer()));
      long mix = addressing.mix(row.get("hash").u64());

      assertThat(CkfAddressing.fingerprint(mix))
          .as(row.toString())
          .isEqualTo(row.get("fingerprint").integer());
      assertThat(addressing.bucketA(mix))
          .as(row.toString())
          .isEqualTo(row.get("bucket_a").integer());
      assertThat(addressing.bucketB(mix))
          .as(row.toString())
          .isEqualTo(row.get("bucket_b").integer());
    }
  }

  @Test
  void theGeneratorStartsFromTheSeedOfTheFilter() {
    for (Json row : VECTORS.get("rng")) {
      SplitMix64 random = SplitMix64.forFilter(row.get("seed").u64());

      assertThat(random.state()).isEqualTo(row.get("expect_initial_state").u64());
      for (Json output : row.get("expect_next_outputs")) {
        assertThat(random.next()).isEqualTo(output.u64());
      }
    }
  }

  static List<Json> layouts() {
    return StreamSupport.stream(VECTORS.get("layouts").spliterator(), false).toList();
  }

  @ParameterizedTest
  @MethodSource("layouts")
  void operationsInOrderGiveTheVeryWordsWritesAndGeneratorState(Json layout) {
    CkfConfig config =
        new CkfConfig(
            layout.get("expected_blocks").u64(),
            layout.get("seed").u64(),
            layout.get("max_kicks").integer());
    CkfFilter filter = new CkfFilter(config.format(), config.maxKicks());

    if (layout.has("ops")) {
      runOperations(layout, filter);
    } else {
      runInserts(layout, filter);
    }

    long[] words = new long[filter.bucketCount()];
    filter.copyTo(words);
    assertThat(words).isEqualTo(layout.get("expect_buckets").u64s());
    assertThat(filter.randomState()).isEqualTo(layout.get("expect_rng_state").u64());
  }

  private static void runInserts(Json layout, CkfFilter filter) {
    List<Integer> omitted = new ArrayList<>();
    Json inserts = layout.get("inserts");
    for (int i = 0; i < inserts.size(); i++) {
      List<String> writes = new ArrayList<>();
      if (!filter.insert(filter.addressing().mix(inserts.get(i).u64()), recorder(writes))) {
        omitted.add(i + 1);
      }
      assertThat(writes)
          .as("insert %d", i + 1)
          .isEqualTo(expected(layout.get("expect_writes").get(i)));
    }
    assertThat(omitted.stream().mapToInt(Integer::intValue).toArray())
        .isEqualTo(layout.get("expect_omitted_positions").integers());
  }

  private static void runOperations(Json layout, CkfFilter filter) {
    for (Json op : layout.get("ops")) {
      List<String> writes = new ArrayList<>();
      long mix = filter.addressing().mix(op.get("hash").u64());
      boolean done =
          switch (op.get("op").text()) {
            case "insert" -> filter.insert(mix, recorder(writes));
            case "insert_no_relocation" -> filter.insertWithoutRelocation(mix, recorder(writes));
            case "remove" -> filter.remove(mix, recorder(writes));
            default -> throw new IllegalArgumentException(op.toString());
          };
      assertThat(done).as(op.toString()).isEqualTo(op.get("ok").bool());
      assertThat(writes).as(op.toString()).isEqualTo(expected(op.get("writes")));
    }
  }

  private static BucketWrites recorder(List<String> writes) {
    return (bucket, before) -> writes.add(bucket + ":" + Long.toUnsignedString(before));
  }

  private static List<String> expected(Json writes) {
    List<String> expected = new ArrayList<>();
    for (Json write : writes) {
      expected.add(
          write.get("bucket").integer() + ":" + Long.toUnsignedString(write.get("before").u64()));
    }
    return expected;
  }
}
