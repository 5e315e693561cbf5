package io.kvrelay.engine.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.engine.testing.Json;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class MultimodalTest {
  private static final Json VECTORS = Json.resource("/vectors/hash_vectors.json");

  @Test
  void padValuesEqualEveryVector() {
    for (Json vector : VECTORS.get("pads")) {
      assertThat(Multimodal.padValue(vector.get("mm_hash").u64()))
          .isEqualTo(vector.get("expect").integer());
    }
  }

  @Test
  void identifiersEqualEveryVector() {
    for (Json vector : VECTORS.get("identifiers")) {
      OptionalLong expected =
          vector.get("expect").isNull()
              ? OptionalLong.empty()
              : OptionalLong.of(vector.get("expect").u64());
      assertThat(Multimodal.mmHash(vector.get("input_utf8").text()))
          .as(vector.toString())
          .isEqualTo(expected);
    }
  }

  @Test
  void digitsOfOtherScriptsAreNotHexadecimal() {
    String arabic = "\u0661".repeat(64);
    assertThat(Multimodal.mmHash(arabic)).hasValue(Xxh3.UNSEEDED.hashUtf8(arabic));
  }

  @Test
  void placeholdersEqualEveryVector() {
    for (Json vector : VECTORS.get("placeholders")) {
      int[] tokens = vector.get("tokens").integers();
      long[] objects = vector.get("mm_hashes").u64s();
      int[] window = tokens.clone();
      boolean replaced =
          placeholders(vector).replace(window, window.length, objects, 0, objects.length);
      assertThat(replaced)
          .as(vector.toString())
          .isEqualTo(vector.get("expect_mode").text().equals("placeholder"));
      assertThat(window).isEqualTo(vector.get("expect_tokens").integers());
    }
  }

  @Test
  void aNormalizedBlockHashesLikeItsPadTokensWrittenOut() {
    for (Json vector : VECTORS.get("placeholders")) {
      int blockSize = vector.get("block_size").integer();
      BlockObjects objects = new BlockObjects();
      for (Json hash : vector.get("mm_hashes")) {
        objects.object(hash.u64());
      }
      objects.endBlock();
      BlockHasher hasher = new BlockHasher(blockSize, QueryHashFormat.DYNAMO_STANDARD_V1);
      EngineBlocks blocks = new EngineBlocks(hasher, placeholders(vector)).reset().objects(objects);
      int[] tokens = vector.get("tokens").integers();
      assertThat(blocks.cut(new long[] {1}, tokens, 0, tokens.length)).isEqualTo(1);
      assertThat(blocks.localHashes()[0])
          .as(vector.toString())
          .isEqualTo(vector.get("expect_local").u64());
      if (vector.get("expect_mode").text().equals("placeholder")) {
        assertThat(hasher.sequenceHashes(vector.get("expect_tokens").integers(), BlockSalt.NONE))
            .containsExactly(vector.get("expect_local").u64());
      }
    }
  }

  @Test
  void theRunsOfAnEagleWindowIncludeItsExtraToken() {
    long image = 151655;
    int[] tokens = {1, 2, 3, 4, (int) image};
    BlockHasher hasher = new BlockHasher(4, QueryHashFormat.DYNAMO_EAGLE_V1);
    BlockObjects objects = new BlockObjects().object(41).endBlock();
    PlaceholderTokens placeholders = new PlaceholderTokens(image, PlaceholderTokens.ABSENT);
    EngineBlocks blocks = new EngineBlocks(hasher, placeholders).reset().objects(objects);
    blocks.cut(new long[] {1}, tokens, 0, 5);
    assertThat(blocks.localHashes()[0])
        .isEqualTo(hasher.sequenceHashes(new int[] {1, 2, 3, 4, 1_000_041}, BlockSalt.NONE)[0]);
  }

  @Test
  void twoVideosAreToldApartByAnImageBetweenThemOnly() {
    PlaceholderTokens tokens = new PlaceholderTokens(100, 200);
    int[] separated = {200, 100, 200};
    assertThat(tokens.replace(separated, 3, new long[] {1, 2, 3}, 0, 3)).isTrue();
    assertThat(separated).containsExactly(1_000_001, 1_000_002, 1_000_003);
    int[] adjoining = {200, 7, 200};
    assertThat(tokens.replace(adjoining, 3, new long[] {1, 2}, 0, 2)).isFalse();
    assertThat(adjoining).containsExactly(200, 7, 200);
  }

  @Test
  void placeholderIdsAreUnsigned32Bit() {
    PlaceholderTokens tokens = new PlaceholderTokens(0xFFFF_FFFFL, PlaceholderTokens.ABSENT);
    int[] window = {-1, 5};
    assertThat(tokens.replace(window, 2, new long[] {9}, 0, 1)).isTrue();
    assertThat(window).containsExactly(1_000_009, 5);
    assertThat(PlaceholderTokens.NONE.replace(new int[] {-1}, 1, new long[] {9}, 0, 1)).isFalse();
    assertThatThrownBy(() -> new PlaceholderTokens(1L << 32, -1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("imageToken = 4294967296");
  }

  @Test
  void aRangeIsCutAtBlockBoundaries() {
    BlockObjects blocks = distribute(new RequestObjects().add(9, 1, 6), 4, 2);
    assertThat(describe(blocks)).isEqualTo("9[1,4) | 9[0,2)");
  }

  @Test
  void rangesOfOneHashMergeInsideABlockAndKeepTheirOrder() {
    RequestObjects request =
        new RequestObjects().add(9, 0, 1).add(7, 1, 2).add(9, 2, 3).add(7, 3, 9).add(9, 20, 30);
    assertThat(describe(distribute(request, 4, 2))).isEqualTo("9[0,1)[2,3) 7[1,2)[3,4) | 7[0,4)");
  }

  @Test
  void emptyRangesAndTokensBeyondTheLastBlockMeetNothing() {
    RequestObjects request = new RequestObjects().add(1, 4, 4).add(2, 8, 9).add(3, 0, 0);
    assertThat(describe(distribute(request, 4, 2))).isEqualTo(" | ");
    assertThat(describe(distribute(request, 4, 0))).isEmpty();
    assertThat(describe(distribute(request.clear().add(5, 0, Integer.MAX_VALUE), 4, 2)))
        .isEqualTo("5[0,4) | 5[0,4)");
  }

  @Test
  void aNegativeRangeIsRefused() {
    assertThatThrownBy(() -> new RequestObjects().add(1, 3, 2))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("[3, 2)");
    assertThatThrownBy(() -> new RequestObjects().add(1, -1, 2))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new BlockObjects().object(1).endBlock().range(0, 1))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aRequestWithObjectsIsHashedLikeItsBlocksByHand() {
    int[] tokens = {0, 1, 2, 3, 4, 5, 6, 7};
    BlockHasher hasher = new BlockHasher(4, QueryHashFormat.DYNAMO_STANDARD_V1);
    RequestObjects request = new RequestObjects().add(9, 1, 6).add(2, 0, 1).add(9, 7, 8);
    long[] sequence = hasher.sequenceHashes(tokens, BlockSalt.NONE, request);
    long[] objects = {2, 9};
    long[] locals = {
      hasher.localHash(tokens, 0, BlockSalt.NONE, objects, 0, 2),
      hasher.localHash(tokens, 4, BlockSalt.NONE, objects, 1, 2)
    };
    assertThat(sequence).isEqualTo(SequenceHashes.chain(locals));
  }

  private static PlaceholderTokens placeholders(Json vector) {
    return new PlaceholderTokens(
        token(vector.get("image_token")), token(vector.get("video_token")));
  }

  private static long token(Json token) {
    return token.isNull() ? PlaceholderTokens.ABSENT : token.u64();
  }

  private static BlockObjects distribute(RequestObjects request, int blockSize, int blockCount) {
    BlockObjects blocks = new BlockObjects();
    request.toBlocks(blockSize, blockCount, blocks);
    assertThat(blocks.blockCount()).isEqualTo(blockCount);
    return blocks;
  }

  private static String describe(BlockObjects blocks) {
    StringBuilder out = new StringBuilder();
    for (int block = 0; block < blocks.blockCount(); block++) {
      out.append(block == 0 ? "" : " | ");
      for (int object = 0; object < blocks.objectCount(block); object++) {
        out.append(object == 0 ? "" : " ").append(blocks.mmHash(block, object));
        for (int range = 0; range < blocks.rangeCount(block, object); range++) {
          out.append('[').append(blocks.rangeStart(block, object, range)).append(',');
          out.append(blocks.rangeEnd(block, object, range)).append(')');
        }
      }
    }
    return out.toString();
  }
}
