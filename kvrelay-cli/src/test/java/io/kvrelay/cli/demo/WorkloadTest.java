package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.engine.hash.SequenceHashes;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WorkloadTest {
  private static Request request(long... ids) {
    return new Request(0, ids);
  }

  private static long[] sequence(Workload workload, int index) {
    Request request = workload.requests().get(index);
    long[] locals = new long[workload.blockCount(request)];
    workload.localHashes(request, locals);
    return SequenceHashes.chain(locals);
  }

  @Test
  void eachIdBecomesItsOwnChainedBlocks() {
    Workload workload = new Workload("test", List.of(request(1, 2), request(1, 3)), 4);
    long[] a = sequence(workload, 0);
    long[] b = sequence(workload, 1);
    assertThat(a).hasSize(8).doesNotHaveDuplicates().startsWith(b[0], b[1], b[2], b[3]);
    assertThat(b[4]).isNotEqualTo(a[4]);
    assertThat(workload.blockTokens()).isEqualTo(128);
    assertThat(workload.longestRequest()).isEqualTo(8);
  }

  @Test
  void theSameIdAfterAnotherPrefixIsAnotherBlock() {
    Workload workload = new Workload("test", List.of(request(1, 2), request(3, 2)), 1);
    assertThat(workload.distinctBlocks()).isEqualTo(4);
    assertThat(sequence(workload, 0)[1]).isNotEqualTo(sequence(workload, 1)[1]);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 8})
  void countsBlocksAndDistinctBlocks(int blocksPerId) {
    Workload workload = new Workload("test", BuiltInWorkload.generate(300, 7), blocksPerId);
    Set<Long> distinct = new HashSet<>();
    long blocks = 0;
    for (int i = 0; i < 300; i++) {
      for (long hash : sequence(workload, i)) {
        distinct.add(hash);
        blocks++;
      }
    }
    assertThat(workload.blocks()).isEqualTo(blocks);
    assertThat(workload.distinctBlocks()).isEqualTo(distinct.size());
  }

  @Test
  void theBuiltInInputIsOneOfItsSeed() {
    List<Request> once = BuiltInWorkload.generate(500, 3);
    List<Request> again = BuiltInWorkload.generate(500, 3);
    List<Request> other = BuiltInWorkload.generate(500, 4);
    assertThat(once).usingRecursiveComparison().isEqualTo(again);
    assertThat(once).usingRecursiveComparison().isNotEqualTo(other);
    assertThat(once)
        .hasSize(500)
        .isSortedAccordingTo(Comparator.comparingLong(Request::timestampMillis));
  }

  @Test
  void theBuiltInInputIsConversationsOverSharedPrompts() {
    List<Request> requests = BuiltInWorkload.generate(2_000, 3);
    Set<Long> firstTwo = new HashSet<>();
    Set<List<Long>> seen = new HashSet<>();
    int continued = 0;
    for (Request request : requests) {
      List<Long> ids = java.util.Arrays.stream(request.ids()).boxed().toList();
      assertThat(ids.get(0)).isZero();
      firstTwo.add(ids.get(1));
      boolean continuesATurn = false;
      for (int length = 3; length < ids.size() && !continuesATurn; length++) {
        continuesATurn = seen.contains(ids.subList(0, length));
      }
      continued += continuesATurn ? 1 : 0;
      seen.add(ids);
    }
    assertThat(firstTwo).hasSizeBetween(15, 24);
    assertThat(continued).isBetween(1_200, 1_800);
  }
}
