package io.kvrelay.engine.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Json;
import io.kvrelay.engine.testing.Seeds;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SequenceHashesTest {
  private static final Json VECTORS = Json.resource("/vectors/hash_vectors.json");

  @Test
  void chainsEveryVector() {
    for (Json vector : VECTORS.get("chains")) {
      assertThat(SequenceHashes.chain(vector.get("local").u64s()))
          .isEqualTo(vector.get("expect").u64s());
    }
  }

  @Test
  void aRootIsItsLocalHashAndAChildOneStep() {
    long[] chained = SequenceHashes.chain(17, 23);
    assertThat(chained[0]).isEqualTo(17);
    assertThat(chained[1]).isEqualTo(SequenceHashes.child(17, 23));
    assertThat(chained[1]).isEqualTo(Long.parseUnsignedLong("16705486771261340143"));
  }

  @Test
  void aChainIsOneStepAfterTheOther() {
    Random random = Seeds.random();
    long[] locals = random.longs(2000).toArray();
    long[] chained = SequenceHashes.chain(locals);
    for (int i = 1; i < locals.length; i++) {
      assertThat(chained[i]).isEqualTo(SequenceHashes.child(chained[i - 1], locals[i]));
    }
  }

  @Test
  void anEngineAliasDoesNotTouchTheCanonicalName() {
    for (Json alias : VECTORS.get("engine_aliases")) {
      assertThat(SequenceHashes.root(alias.get("local_hash").u64()))
          .isEqualTo(alias.get("expect_canonical").u64());
    }
  }

  @Test
  void continuesAfterAPrefixInPlace() {
    long[] whole = SequenceHashes.chain(1, 2, 3, 4);
    long[] tail = {3, 4};
    SequenceHashes.chainAfter(whole[1], tail, 0, 2, tail, 0);
    assertThat(tail).containsExactly(whole[2], whole[3]);
  }

  @Test
  void writesOnlyItsRange() {
    long[] out = {-1, -1, -1, -1};
    SequenceHashes.chain(new long[] {9, 1, 2, 9}, 1, 3, out, 1);
    assertThat(out).containsExactly(-1, 1, SequenceHashes.child(1, 2), -1);
    SequenceHashes.chain(new long[0], 0, 0, out, 4);
    assertThatThrownBy(() -> SequenceHashes.chain(new long[3], 0, 3, out, 2))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void equalsTheRollingVectors() {
    Json vectors = Json.resource("/vectors/xxh3_vectors.json");
    long[] sequence =
        SequenceHashes.chain(
            vectors.get("local").get(2).get("xxh3_64_seed1337").u64(),
            vectors.get("local").get(3).get("xxh3_64_seed1337").u64());
    assertThat(sequence)
        .containsExactly(
            vectors.get("rolling").get("first_seq").u64(),
            vectors.get("rolling").get("second_seq").u64());
  }

  @Test
  void allocatesNothing() {
    long[] hashes = new long[1000];
    assertThat(Allocations.bytes(200, () -> SequenceHashes.chain(hashes, 0, 1000, hashes, 0)))
        .isZero();
  }
}
