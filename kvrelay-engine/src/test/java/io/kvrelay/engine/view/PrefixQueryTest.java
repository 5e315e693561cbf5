package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.LaneFixtures.errorOf;
import static io.kvrelay.engine.view.LaneFixtures.pool;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import io.kvrelay.engine.hash.SequenceHashes;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Seeds;
import java.lang.ref.WeakReference;
import java.util.BitSet;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrefixQueryTest {
  private static final int WINDOW = PrefixQuery.DEFAULT_WINDOW;

  @Test
  void theWindowIsChecked() {
    LaneIndex index = new LaneIndex(LaneFixtures.manifest(1));
    assertThat(errorOf(() -> new PrefixQuery(index, 0)))
        .isEqualTo(LaneError.INVALID_VERIFICATION_WINDOW);
    assertThat(errorOf(() -> new PrefixQuery(index, 9)))
        .isEqualTo(LaneError.INVALID_VERIFICATION_WINDOW);
  }

  @Test
  void withoutAReadyLaneThereIsNoAnswerNotEvenForAnEmptyPrompt() {
    PresenceTable table = new PresenceTable(3, 4);
    PrefixQuery query = new PrefixQuery(table.index, WINDOW);
    assertThat(query.searchSequence(table.index, table.hashes, 0, 4)).isFalse();
    assertThat(query.searchSequence(table.index, table.hashes, 2, 2)).isFalse();
    table.hold(1, PresenceTable.leading(4));
    assertThat(query.searchSequence(table.index, table.hashes, 2, 2)).isTrue();
    assertThat(query.capturedLanes()).isEqualTo(0b010);
    assertThat(query.depth(1)).isZero();
    assertThat(query.pool(1)).isEqualTo(pool(2));
  }

  @Test
  void aLaneThatIsWithdrawnLaterKeepsItsAnswer() {
    PresenceTable table = new PresenceTable(3, 40);
    table.hold(0, PresenceTable.leading(0));
    table.hold(2, PresenceTable.leading(33));
    PrefixQuery query = new PrefixQuery(table.index, WINDOW);
    table.search(query);
    table.index.withdraw(2);
    assertThat(query.capturedLanes()).isEqualTo(0b101);
    assertThat(query.depth(0)).isZero();
    assertThat(query.depth(2)).isEqualTo(33);
    assertThat(query.pool(2)).isEqualTo(pool(3));
  }

  /** A table may have half a gigabyte, and a query of a worker thread may idle for hours. */
  @Test
  void aReleasedQueryKeepsNoTableAlive() throws InterruptedException {
    PrefixQuery query = new PrefixQuery(new LaneIndex(LaneFixtures.manifest(1)), WINDOW);
    WeakReference<TransposedTable> table = searched(query);
    query.release();
    for (int i = 0; i < 200 && table.get() != null; i++) {
      System.gc();
      Thread.sleep(5);
    }
    assertThat(table.get()).isNull();
    assertThat(query.depth(1)).as("the result stays").isEqualTo(4);
    PresenceTable other = new PresenceTable(3, 4);
    other.hold(2, PresenceTable.leading(3));
    other.search(query);
    assertThat(query.depth(2)).isEqualTo(3);
  }

  private static WeakReference<TransposedTable> searched(PrefixQuery query) {
    PresenceTable presence = new PresenceTable(3, 4);
    presence.hold(1, PresenceTable.leading(4));
    presence.search(query);
    return new WeakReference<>(presence.index.table());
  }

  @Test
  void everyDepthOfEveryLengthIsExactWhereLanesHoldPrefixes() {
    PrefixQuery query = new PrefixQuery(new PresenceTable(1, 1).index, WINDOW);
    for (int length = 1; length <= 300; length += length < 70 ? 1 : 13) {
      PresenceTable table = new PresenceTable(64, length);
      for (int first = 0; first <= length; first += 64) {
        int[] expected = new int[64];
        for (int lane = 0; lane < 64; lane++) {
          expected[lane] = Math.min(length, first + lane);
          table.hold(lane, PresenceTable.leading(expected[lane]));
        }
        assertThat(table.search(query)).as("length %d", length).isEqualTo(expected);
      }
    }
  }

  @Test
  void everyPresenceOfUpToTwelveBlocksMeetsTheContractAtEveryWindow() {
    for (int window = 1; window <= PrefixQuery.MAX_WINDOW; window++) {
      for (int length = 1; length <= 12; length++) {
        PresenceTable table = new PresenceTable(64, length);
        PrefixQuery query = new PrefixQuery(table.index, window);
        for (int row = 0; row < 1 << length; row += 64) {
          assertRows(table, query, window, length, row);
        }
      }
    }
  }

  private static void assertRows(
      PresenceTable table, PrefixQuery query, int window, int length, int row) {
    int rows = Math.min(64, (1 << length) - row);
    for (int lane = 0; lane < rows; lane++) {
      table.hold(lane, BitSet.valueOf(new long[] {row + lane}));
    }
    int[] depths = table.search(query);
    for (int lane = 0; lane < rows; lane++) {
      BitSet presence = BitSet.valueOf(new long[] {row + lane});
      String violation = DepthContract.violation(presence, length, window, depths[lane]);
      if (violation != null) {
        throw new AssertionError(
            violation + ": presence " + presence + ", length " + length + ", window " + window);
      }
    }
  }

  @Test
  void theOracleMeetsTheContractUpToItsKnownResiduals() {
    int[] residuals = new int[13];
    for (int length = 1; length <= 12; length++) {
      for (int row = 1; row < 1 << length; row += 2) {
        BitSet presence = BitSet.valueOf(new long[] {row});
        for (int window = 1; window <= PrefixQuery.MAX_WINDOW; window++) {
          ReferenceSchedule oracle =
              SearchVectorsTest.oracle(length, window, new BitSet[] {presence}, true);
          int depth = oracle.search(1)[0];
          residuals[length] += DepthContract.windowIsClean(presence, depth, window) ? 0 : 1;
          assertThat(depth).isGreaterThanOrEqualTo(DepthContract.linear(presence, length));
          assertThat(oracle.probeCalls).isLessThanOrEqualTo(2 * length + 16);
        }
      }
    }
    assertThat(residuals[7]).isZero();
    assertThat(residuals[8]).isEqualTo(4);
    assertThat(residuals[9]).isEqualTo(26);
    assertThat(residuals[12]).isEqualTo(321);
  }

  @Test
  void randomStatesMeetTheContract() {
    Random random = Seeds.random();
    for (int round = 0; round < 300; round++) {
      int length = 1 + random.nextInt(round % 10 == 0 ? 2000 : 200);
      int window = 1 + random.nextInt(PrefixQuery.MAX_WINDOW);
      int lanes = 1 + random.nextInt(64);
      PresenceTable table = new PresenceTable(lanes, length);
      BitSet[] presence = new BitSet[lanes];
      for (int lane = 0; lane < lanes; lane++) {
        presence[lane] = randomPresence(random, length);
        table.hold(lane, presence[lane]);
      }
      int[] depths = table.search(new PrefixQuery(table.index, window));
      for (int lane = 0; lane < lanes; lane++) {
        assertThat(DepthContract.violation(presence[lane], length, window, depths[lane]))
            .as("%s, length %d, window %d", presence[lane], length, window)
            .isNull();
      }
    }
  }

  /** A prefix; often with holes, stray hits above it, or noise all over. */
  private static BitSet randomPresence(Random random, int length) {
    BitSet presence = PresenceTable.leading(random.nextInt(length + 1));
    int kind = random.nextInt(5);
    int flips = kind < 2 ? 0 : kind == 4 ? random.nextInt(length + 1) : 1 + random.nextInt(3);
    for (int i = 0; i < flips; i++) {
      presence.flip(random.nextInt(length));
    }
    return presence;
  }

  @Test
  void aLanesDepthDoesNotDependOnItsNeighbours() {
    Random random = Seeds.random();
    for (int round = 0; round < 200; round++) {
      int length = 1 + random.nextInt(400);
      int window = 1 + random.nextInt(PrefixQuery.MAX_WINDOW);
      BitSet mine = randomPresence(random, length);
      PresenceTable alone = new PresenceTable(1, length);
      alone.hold(0, mine);
      int expected = alone.search(new PrefixQuery(alone.index, window))[0];
      int lanes = 2 + random.nextInt(62);
      int lane = random.nextInt(lanes);
      PresenceTable crowd = new PresenceTable(lanes, length);
      for (int other = 0; other < lanes; other++) {
        if (other != lane && random.nextInt(4) > 0) {
          crowd.hold(other, randomPresence(random, length));
        }
      }
      crowd.hold(lane, mine);
      assertThat(crowd.search(new PrefixQuery(crowd.index, window))[lane]).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {20, 60, 150, 700})
  void aSingleHoleBelowTheEndRarelyHidesWhatLiesAbove(int length) {
    // Every hole at least a window below the end: the search goes on above it wherever it looked.
    int depth = length - 3;
    int lost = 0;
    PresenceTable table = new PresenceTable(1, length);
    PrefixQuery query = new PrefixQuery(table.index, WINDOW);
    for (int hole = 1; hole < depth - 2 * WINDOW; hole++) {
      BitSet presence = PresenceTable.leading(depth);
      presence.clear(hole);
      table.hold(0, presence);
      lost += table.search(query)[0] == depth ? 0 : 1;
    }
    assertThat(lost).isLessThanOrEqualTo(depth / 20);
  }

  @Test
  void localHashesAreChainedLikeTheProducerChainsThem() {
    Random random = Seeds.random();
    long[] locals = random.longs(500).toArray();
    long[] sequence = SequenceHashes.chain(java.util.Arrays.copyOfRange(locals, 7, 490));
    LaneIndex index = new LaneIndex(largeManifest());
    insert(index, sequence, 301);
    PrefixQuery query = new PrefixQuery(index, WINDOW);
    assertThat(query.searchLocals(index, locals, 7, 490)).isTrue();
    assertThat(query.depth(0)).isEqualTo(301);
    assertThat(query.searchSequence(index, sequence, 0, sequence.length)).isTrue();
    assertThat(query.depth(0)).isEqualTo(301);
    assertThat(query.searchSequence(index, sequence, 100, sequence.length)).isTrue();
    assertThat(query.depth(0)).isEqualTo(201);
  }

  private static Manifest largeManifest() {
    return Manifest.of(
        LaneFixtures.CONSUMER,
        LaneFixtures.DOMAIN,
        new CkfFormat(CkfFormat.DEFAULT_SEED, 1 << 16),
        pool(1));
  }

  private static void insert(LaneIndex index, long[] sequence, int depth) {
    for (int i = 0; i < depth; i++) {
      long mix = index.addressing().mix(sequence[i]);
      int fingerprint = CkfAddressing.fingerprint(mix);
      int bucket = index.addressing().bucketA(mix);
      long word = index.table().get(bucket, 0);
      int slot = CkfBuckets.firstEmpty(word);
      assertThat(slot).isNotEqualTo(CkfBuckets.NONE);
      index.table().set(bucket, 0, CkfBuckets.with(word, slot, fingerprint));
    }
    index.publish(0);
  }

  @Test
  void theWordTestEqualsASlotBySlotTest() {
    Random random = Seeds.random();
    PresenceTable table = new PresenceTable(5, 1);
    ProbeSlots slots = new ProbeSlots(1, table.index);
    slots.fill(0, table.hashes[0], 0b11111);
    long mix = table.index.addressing().mix(table.hashes[0]);
    int fingerprint = CkfAddressing.fingerprint(mix);
    int a = table.index.addressing().bucketA(mix);
    int b = table.index.addressing().bucketB(mix);
    for (int round = 0; round < 20_000; round++) {
      long expected = 0;
      for (int lane = 0; lane < 5; lane++) {
        long inA = randomWord(random, fingerprint);
        long inB = randomWord(random, fingerprint);
        table.index.table().set(a, lane, inA);
        table.index.table().set(b, lane, inB);
        expected |= holds(inA, fingerprint) || holds(inB, fingerprint) ? 1L << lane : 0;
      }
      assertThat(slots.holders(0, 0b11111)).isEqualTo(expected);
      assertThat(slots.holders(0, 0b01001)).isEqualTo(expected & 0b01001);
      for (int lane = 0; lane < 5; lane++) {
        assertThat(slots.presence(0, 1, lane)).isEqualTo(expected >>> lane & 1);
      }
    }
  }

  private static long randomWord(Random random, int fingerprint) {
    long word = 0;
    for (int slot = 0; slot < 4; slot++) {
      // Near misses on purpose: a borrow must not make a slot look equal that is not.
      int near =
          switch (random.nextInt(12)) {
            case 0 -> fingerprint;
            case 1 -> fingerprint ^ 1;
            case 2 -> fingerprint + 1;
            case 3 -> fingerprint ^ 0x8000;
            case 4 -> 0;
            default -> random.nextInt();
          };
      word |= (near & 0xFFFFL) << (16 * slot);
    }
    return word;
  }

  private static boolean holds(long word, int fingerprint) {
    for (int slot = 0; slot < 4; slot++) {
      if (CkfBuckets.fingerprint(word, slot) == fingerprint) {
        return true;
      }
    }
    return false;
  }

  @Test
  void aReusedQueryAllocatesNothing() {
    PresenceTable table = new PresenceTable(16, 600);
    Random random = Seeds.random();
    for (int lane = 0; lane < 16; lane++) {
      table.hold(lane, randomPresence(random, 600));
    }
    PrefixQuery query = new PrefixQuery(table.index, WINDOW);
    long[] locals = random.longs(600).toArray();
    long bytes =
        Allocations.bytes(
            2_000,
            () -> {
              query.searchSequence(table.index, table.hashes, 0, 600);
              query.searchLocals(table.index, locals, 0, 600);
              query.searchLocals(table.index, locals, 0, 20);
            });
    assertThat(bytes).isZero();
  }

  @Test
  void anUnstableTableNeverKeepsASearchFromEnding() throws InterruptedException {
    int length = 700;
    PresenceTable table = new PresenceTable(16, length);
    Random random = Seeds.random();
    for (int lane = 0; lane < 16; lane++) {
      table.hold(lane, randomPresence(random, length));
    }
    AtomicBoolean stop = new AtomicBoolean();
    long seed = random.nextLong();
    Thread writer =
        new Thread(
            () -> {
              Random noise = new Random(seed);
              while (!stop.get()) {
                table.hold(noise.nextInt(16), randomPresence(noise, length));
              }
            });
    writer.start();
    try {
      PrefixQuery query = new PrefixQuery(table.index, 8);
      for (int i = 0; i < 3_000; i++) {
        for (int depth : table.search(query)) {
          assertThat(depth).isBetween(0, length);
        }
      }
    } finally {
      stop.set(true);
      writer.join();
    }
  }
}
