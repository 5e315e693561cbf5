package io.kvrelay.engine.hash;

import static io.kvrelay.api.QueryHashFormat.DYNAMO_EAGLE_V1;
import static io.kvrelay.api.QueryHashFormat.DYNAMO_STANDARD_V1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Seeds;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EngineBlocksTest {
  private static final Member MEMBER = new Member(7, 1);
  private static final int[] TOKENS = IntStream.range(0, 12).toArray();

  private final BlockHasher hasher = new BlockHasher(4, DYNAMO_STANDARD_V1);
  private final EngineBlocks blocks = new EngineBlocks(hasher, PlaceholderTokens.NONE).reset();

  @Test
  void publishesEveryFullBlockWithItsLocalHash() {
    KvEvent event = blocks.parent(99).event(MEMBER, 5, new long[] {1, 2, 3}, TOKENS);
    assertThat(event.kind()).isEqualTo(KvEvent.Kind.STORED);
    assertThat(event.hasParent()).isTrue();
    assertThat(event.parentHash()).isEqualTo(99);
    assertThat(event.startPosition()).isEqualTo(KvEvent.NO_START_POSITION);
    assertThat(event.engineHashes()).containsExactly(1, 2, 3);
    long[] expected = new long[3];
    hasher.localHashes(TOKENS, 0, 12, BlockSalt.NONE, expected, 0);
    assertThat(event.localHashes()).isEqualTo(expected);
  }

  @Test
  void aRepeatedEngineHashBecomesARemovalOfNothingUnderTheSameId() {
    KvEvent event = blocks.event(MEMBER, 5, new long[] {1, 2, 1}, TOKENS);
    assertThat(event.kind()).isEqualTo(KvEvent.Kind.REMOVED);
    assertThat(event.length()).isZero();
    assertThat(event.eventId()).isEqualTo(5);
    assertThat(blocks.cut(new long[] {0, 2, 0}, TOKENS, 0, 12))
        .isEqualTo(EngineBlocks.REPEATED_HASH);
  }

  @Test
  void aBlockThatIsItsOwnParentIsARepetition() {
    assertThat(blocks.parent(2).cut(new long[] {1, 2}, TOKENS, 0, 12))
        .isEqualTo(EngineBlocks.REPEATED_HASH);
    assertThat(blocks.reset().parent(0).cut(new long[] {0}, TOKENS, 0, 12))
        .isEqualTo(EngineBlocks.REPEATED_HASH);
    assertThat(blocks.reset().cut(new long[] {0, 1}, TOKENS, 0, 12)).isEqualTo(2);
  }

  @Test
  void anotherDeclaredSizeStopsTheStoreThere() {
    assertThat(blocks.declaredSizes(new int[] {4, 3, 4}).cut(new long[] {1, 2, 3}, TOKENS, 0, 12))
        .isEqualTo(1);
    assertThat(blocks.declaredSizes(new int[] {5, 4, 4}).cut(new long[] {1, 2, 3}, TOKENS, 0, 12))
        .isZero();
    assertThatThrownBy(
            () -> blocks.declaredSizes(new int[] {4}).cut(new long[] {1, 2, 3}, TOKENS, 0, 12))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("declaredSizes.length = 1");
  }

  @Test
  void tokensThatRunOutStopTheStoreThere() {
    assertThat(blocks.cut(new long[] {1, 2, 3}, TOKENS, 0, 11)).isEqualTo(2);
    assertThat(blocks.cut(new long[] {1, 2, 3}, TOKENS, 9, 12)).isZero();
    KvEvent none = blocks.event(MEMBER, 6, new long[] {1}, new int[3]);
    assertThat(none.kind()).isEqualTo(KvEvent.Kind.STORED);
    assertThat(none.length()).isZero();
  }

  @Test
  void eagleNeedsOneTokenMore() {
    EngineBlocks eagle =
        new EngineBlocks(new BlockHasher(4, DYNAMO_EAGLE_V1), PlaceholderTokens.NONE).reset();
    assertThat(eagle.cut(new long[] {1, 2, 3}, TOKENS, 0, 8)).isEqualTo(1);
    assertThat(eagle.cut(new long[] {1, 2, 3}, TOKENS, 0, 9)).isEqualTo(2);
  }

  @Test
  void fewerEngineHashesThanTokensPublishOnlyThose() {
    assertThat(blocks.cut(new long[] {1}, TOKENS, 0, 12)).isEqualTo(1);
    assertThat(blocks.cut(new long[0], TOKENS, 0, 12)).isZero();
  }

  @Test
  void theSaltReachesTheLocalHashes() {
    BlockSalt salt = BlockSalt.of("adapter-a", null);
    blocks.salt(salt).cut(new long[] {1}, TOKENS, 0, 12);
    assertThat(blocks.localHashes()[0])
        .isEqualTo(hasher.sequenceHashes(TOKENS, salt)[0])
        .isNotEqualTo(hasher.sequenceHashes(TOKENS, BlockSalt.NONE)[0]);
  }

  @Test
  void distinctnessEqualsAComparisonOfAllPairs() {
    Random random = Seeds.random();
    DistinctHashes distinct = new DistinctHashes();
    for (int i = 0; i < 3_000; i++) {
      long[] hashes = random.longs(random.nextInt(40), 0, 600).toArray();
      long parent = random.nextInt(600);
      boolean hasParent = random.nextBoolean();
      long all = Arrays.stream(hashes).distinct().count();
      boolean parentRepeated = hasParent && Arrays.stream(hashes).anyMatch(h -> h == parent);
      assertThat(distinct.allDistinct(hasParent, parent, hashes, hashes.length))
          .isEqualTo(all == hashes.length && !parentRepeated);
    }
  }

  @Test
  void cuttingAllocatesNothing() {
    long[] hashes = {1, 2, 3};
    BlockObjects objects = new BlockObjects().endBlock().object(4).range(0, 2).endBlock();
    EngineBlocks images =
        new EngineBlocks(hasher, new PlaceholderTokens(5, PlaceholderTokens.ABSENT));
    Runnable cut = () -> images.reset().parent(9).objects(objects).cut(hashes, TOKENS, 0, 12);
    assertThat(Allocations.bytes(2_000, cut)).isZero();
  }
}
