package io.kvrelay.engine.hash;

import static io.kvrelay.api.QueryHashFormat.DYNAMO_EAGLE_V1;
import static io.kvrelay.api.QueryHashFormat.DYNAMO_STANDARD_V1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Json;
import io.kvrelay.engine.testing.Seeds;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import net.openhft.hashing.LongHashFunction;
import org.junit.jupiter.api.Test;

class BlockHasherTest {
  private static final Json VECTORS = Json.resource("/vectors/hash_vectors.json");

  @Test
  void saltsEqualEveryVector() {
    for (Json vector : VECTORS.get("salts")) {
      assertThat(salt(vector).seed()).as(vector.toString()).isEqualTo(vector.get("expect").u64());
    }
  }

  @Test
  void anUnpairedSurrogateIsNotAName() {
    assertThatThrownBy(() -> BlockSalt.of("\ud83d", null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("loraName");
  }

  @Test
  void blocksEqualEveryVector() {
    for (Json vector : VECTORS.get("blocks")) {
      int[] tokens = vector.get("tokens").integers();
      BlockHasher hasher = new BlockHasher(vector.get("block_size").integer(), format(vector));
      BlockObjects objects = objects(vector.get("mm"));
      long[] local = new long[hasher.blockCount(tokens.length)];
      long[] sequence = new long[local.length];
      assertThat(hasher.localHashes(tokens, 0, tokens.length, salt(vector), objects, local, 0))
          .isEqualTo(local.length);
      hasher.sequenceHashes(tokens, 0, tokens.length, salt(vector), objects, sequence, 0);
      assertThat(local).as(vector.toString()).isEqualTo(vector.get("expect_local").u64s());
      assertThat(sequence).as(vector.toString()).isEqualTo(vector.get("expect_sequence").u64s());
    }
  }

  @Test
  void blockCountsEqualEveryVector() {
    for (Json vector : VECTORS.get("block_counts")) {
      assertThat(
              BlockHasher.blockCount(
                  vector.get("tokens").integer(),
                  vector.get("block_size").integer(),
                  format(vector)))
          .as(vector.toString())
          .isEqualTo(vector.get("expect").integer());
    }
  }

  @Test
  void relationsHold() {
    int[] tokens = {0, 1, 2, 3};
    long base = first(tokens, BlockSalt.NONE);
    long loraA = first(tokens, BlockSalt.of("adapter-a", null));
    long loraB = first(tokens, BlockSalt.of("adapter-b", null));
    long namespaceA = first(tokens, BlockSalt.of(null, "tenant-a"));
    long namespaceB = first(tokens, BlockSalt.of(null, "tenant-b"));
    long loraTenant = first(tokens, BlockSalt.of("tenant-a", null));
    long[][] computed = {
      {base, loraA, loraB},
      {base, namespaceA, namespaceB},
      {namespaceA, loraTenant},
      {base, first(tokens, BlockSalt.of("", ""))}
    };
    for (int i = 0; i < computed.length; i++) {
      Json relation = VECTORS.get("relations").get(i);
      assertThat(computed[i]).isEqualTo(relation.get("expect").u64s());
      Set<Long> values = new LinkedHashSet<>();
      Arrays.stream(computed[i]).forEach(values::add);
      boolean distinct = relation.get("kind").text().equals("all_distinct");
      assertThat(values).hasSize(distinct ? computed[i].length : 1);
    }
  }

  @Test
  void localVectorsOfPlainBlocks() {
    for (Json vector : Json.resource("/vectors/xxh3_vectors.json").get("local")) {
      assertThat(first(vector.get("tokens").integers(), BlockSalt.NONE))
          .isEqualTo(vector.get("xxh3_64_seed1337").u64());
    }
  }

  @Test
  void everyBlockSizeAndBatchBoundaryEqualsAHashOfItsWindow() {
    Random random = Seeds.random();
    int[] tokens = random.ints(20_000).toArray();
    LongHashFunction library = LongHashFunction.xx3(1337);
    for (int blockSize : new int[] {1, 2, 3, 16, 17, 31, 64, 100, 512, 4096, 5000, 19_999}) {
      for (QueryHashFormat format : QueryHashFormat.values()) {
        BlockHasher hasher = new BlockHasher(blockSize, format);
        int window = (int) hasher.windowTokens();
        int from = 1 + random.nextInt(1);
        long[] locals = new long[hasher.blockCount(tokens.length - from) + 2];
        int blocks = hasher.localHashes(tokens, from, tokens.length, BlockSalt.NONE, locals, 1);
        for (int i = 0; i < blocks; i++) {
          assertThat(locals[1 + i])
              .as("block %s of size %s, %s", i, blockSize, format)
              .isEqualTo(library.hashInts(tokens, from + i * blockSize, window));
        }
        assertThat(locals[0]).isZero();
        assertThat(locals[blocks + 1]).isZero();
      }
    }
  }

  @Test
  void objectsOnOneBlockChangeItsLocalHashAndAllLaterSequenceHashesOnly() {
    int[] tokens = IntStream.range(0, 12).toArray();
    BlockHasher hasher = new BlockHasher(4, DYNAMO_STANDARD_V1);
    BlockObjects objects = new BlockObjects().endBlock().object(5).endBlock();
    long[] plain = new long[3];
    long[] withObject = new long[3];
    hasher.localHashes(tokens, 0, 12, BlockSalt.NONE, plain, 0);
    hasher.localHashes(tokens, 0, 12, BlockSalt.NONE, objects, withObject, 0);
    assertThat(withObject[0]).isEqualTo(plain[0]);
    assertThat(withObject[1]).isNotEqualTo(plain[1]);
    assertThat(withObject[2]).isEqualTo(plain[2]);
    long[] plainChain = SequenceHashes.chain(plain);
    long[] objectChain = SequenceHashes.chain(withObject);
    assertThat(objectChain[0]).isEqualTo(plainChain[0]);
    assertThat(objectChain[2]).isNotEqualTo(plainChain[2]);
  }

  @Test
  void manyObjectsAreSortedUnsigned() {
    Random random = Seeds.random();
    int[] tokens = {1, 2, 3, 4};
    BlockHasher hasher = new BlockHasher(4, DYNAMO_STANDARD_V1);
    for (int count : new int[] {2, 31, 32, 33, 200}) {
      long[] hashes = random.longs(count).toArray();
      long[] shuffled = hashes.clone();
      for (int i = count - 1; i > 0; i--) {
        int j = random.nextInt(i + 1);
        long swap = shuffled[i];
        shuffled[i] = shuffled[j];
        shuffled[j] = swap;
      }
      assertThat(hasher.localHash(tokens, 0, BlockSalt.NONE, hashes, 0, count))
          .isEqualTo(hasher.localHash(tokens, 0, BlockSalt.NONE, shuffled, 0, count));
    }
  }

  @Test
  void hugeBlockSizesHaveNoBlocks() {
    int[] tokens = new int[100];
    for (int blockSize : new int[] {0, -1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
      for (QueryHashFormat format : QueryHashFormat.values()) {
        BlockHasher hasher = new BlockHasher(blockSize, format);
        assertThat(hasher.sequenceHashes(tokens, BlockSalt.NONE)).isEmpty();
        assertThat(hasher.sequenceHashes(tokens, BlockSalt.NONE, new RequestObjects().add(1, 0, 9)))
            .isEmpty();
      }
    }
    assertThatThrownBy(
            () ->
                new BlockHasher(4, DYNAMO_STANDARD_V1)
                    .localHashes(tokens, 0, 101, BlockSalt.NONE, new long[25], 0))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void thirteenTokensInANamespaceHaveThreeBlocksInEveryMode() {
    int[] tokens = IntStream.range(0, 13).toArray();
    BlockSalt namespace = BlockSalt.of(null, "tenant-ns");
    BlockSalt both = BlockSalt.of("tenant-a", "tenant-ns");
    QuerySemantics standard = new QuerySemantics(4, DYNAMO_STANDARD_V1);
    QuerySemantics eagle = new QuerySemantics(4, DYNAMO_EAGLE_V1);
    assertThat(new BlockHasher(standard).sequenceHashes(tokens, namespace)).hasSize(3);
    assertThat(new BlockHasher(standard).sequenceHashes(tokens, both)).hasSize(3);
    assertThat(new BlockHasher(eagle).sequenceHashes(tokens, both)).hasSize(3);
  }

  @Test
  void allocatesNothing() {
    int[] tokens = new int[10_000];
    long[] out = new long[10_000];
    BlockHasher standard = new BlockHasher(16, DYNAMO_STANDARD_V1);
    BlockHasher eagle = new BlockHasher(512, DYNAMO_EAGLE_V1);
    BlockSalt salt = BlockSalt.of("adapter-a", "tenant-a");
    BlockObjects perBlock = new BlockObjects();
    RequestObjects objects = new RequestObjects();
    Runnable query =
        () -> {
          objects.clear().add(3, 5, 700).add(1, 40, 50).add(3, 800, 801);
          objects.toBlocks(16, 625, perBlock);
          standard.sequenceHashes(tokens, 0, 10_000, salt, perBlock, out, 0);
          eagle.sequenceHashes(tokens, 0, 10_000, salt, out, 0);
        };
    assertThat(Allocations.bytes(100, query)).isZero();
  }

  private static long first(int[] tokens, BlockSalt salt) {
    return new BlockHasher(tokens.length, DYNAMO_STANDARD_V1).sequenceHashes(tokens, salt)[0];
  }

  private static BlockSalt salt(Json vector) {
    return BlockSalt.of(vector.get("lora").text(), vector.get("namespace").text());
  }

  private static QueryHashFormat format(Json vector) {
    return vector.get("eagle").bool() ? DYNAMO_EAGLE_V1 : DYNAMO_STANDARD_V1;
  }

  private static BlockObjects objects(Json mm) {
    if (mm.isNull()) {
      return null;
    }
    BlockObjects objects = new BlockObjects();
    for (Json block : mm) {
      for (Json hash : block) {
        objects.object(hash.u64());
      }
      objects.endBlock();
    }
    return objects;
  }
}
