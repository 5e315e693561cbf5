package io.kvrelay.events.zmq;

import static io.kvrelay.events.zmq.Pack.list;
import static io.kvrelay.events.zmq.Pack.map;
import static io.kvrelay.events.zmq.Pack.tokens;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.hash.Multimodal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What engine events become, one rule after the other. Blocks have four tokens. */
class NormaliserTest {
  private static final String DIGEST = "ab".repeat(32);

  private StreamHarness heard = StreamHarness.withoutReplay();
  private long next;

  NormaliserTest() {
    heard.stream.onConnected();
  }

  private void configured(UnaryOperator<EngineSource.Builder> changes) {
    heard = new StreamHarness(changes);
    heard.stream.onConnected();
    next = 0;
  }

  private NormaliserTest hear(Object... events) {
    heard.live(next++, events);
    return this;
  }

  private static List<Object> store(Object hashes, Object parent, Object tokens, Object... more) {
    List<Object> event = new ArrayList<>(list("BlockStored", hashes, parent, tokens, 4, null));
    event.addAll(Arrays.asList(more));
    return event;
  }

  /** Element 6: the medium. */
  private static List<Object> onMedium(String medium, Object hashes, Object parent, Object tokens) {
    return store(hashes, parent, tokens, medium);
  }

  private static Object keyed(
      Object hashes, Object parent, Object tokens, String lora, Object keys) {
    return store(hashes, parent, tokens, "GPU", lora, keys);
  }

  private static Object grouped(Object hashes, Object tokens, Object group, Object kind) {
    return store(hashes, null, tokens, "GPU", null, null, group, kind);
  }

  private static Object removed(Object... hashes) {
    return list("BlockRemoved", list(hashes));
  }

  private static long name(BlockSalt salt, int... tokens) {
    long[] names =
        new BlockHasher(4, QueryHashFormat.DYNAMO_STANDARD_V1).sequenceHashes(tokens, salt);
    return names[names.length - 1];
  }

  private static long name(int... tokens) {
    return name(BlockSalt.NONE, tokens);
  }

  private long count(Counter counter) {
    return heard.count(counter);
  }

  // ---- the plain path

  @Test
  void aStoreGetsCanonicalNamesAndAnExplicitDomain() {
    hear(store(list(101, 102), null, tokens(1, 9)));
    KvEvent event = heard.relay.seen().get(0);
    assertThat(event.domain()).isEqualTo(ResidencyDomain.WORKER);
    assertThat(event.tier()).isEqualTo(StorageTier.DEVICE);
    assertThat(event.startPosition()).isEqualTo(KvEvent.NO_START_POSITION);
    assertThat(event.eventId()).isEqualTo(1);
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(name(1, 2, 3, 4), name(1, 2, 3, 4, 5, 6, 7, 8));
  }

  @Test
  void neighboursOfOneKindBecomeOneEvent() {
    hear(
        store(list(1), null, tokens(1, 5)),
        store(list(2), 1, tokens(5, 9)),
        store(list(3), 2, tokens(9, 13)),
        removed(3),
        removed(2),
        store(list(4), 1, tokens(20, 24)));
    assertThat(heard.relay.seen()).extracting(KvEvent::length).containsExactly(3, 2, 1);
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(name(1, 2, 3, 4), name(1, 2, 3, 4, 20, 21, 22, 23));
  }

  @Test
  void neighboursThatDoNotContinueEachOtherStayApart() {
    hear(store(list(1), null, tokens(1, 5)), store(list(2), null, tokens(5, 9)));
    assertThat(heard.relay.seen()).hasSize(2);
  }

  // ---- media

  @Test
  void everyMediumGoesToItsTier() {
    String[] host = {"CPU", "CPU_PINNED", "CPU_TIER1"};
    String[] disk = {"CPU_TIER2", "DISK", "NVME", "STORAGE"};
    String[] external = {"EXTERNAL", "NETWORK", "REMOTE", "SHARED"};
    int hash = 1;
    for (String medium : new String[] {"GPU", "DEVICE", null}) {
      hear(onMedium(medium, list(hash++), null, tokens(1, 5)));
    }
    assertThat(heard.stream.blocks()).isEqualTo(3);
    for (String[] media : new String[][] {host, disk, external}) {
      for (String medium : media) {
        hear(onMedium(medium, list(hash++), null, tokens(1, 5)));
      }
    }
    assertThat(heard.relay.seen().subList(3, 14))
        .extracting(KvEvent::tier)
        .containsExactly(
            StorageTier.HOST_PINNED,
            StorageTier.HOST_PINNED,
            StorageTier.HOST_PINNED,
            StorageTier.DISK,
            StorageTier.DISK,
            StorageTier.DISK,
            StorageTier.DISK,
            StorageTier.EXTERNAL,
            StorageTier.EXTERNAL,
            StorageTier.EXTERNAL,
            StorageTier.EXTERNAL);
    assertThat(heard.stream.blocks()).isEqualTo(3);
    assertThat(heard.stream.counters().snapshot())
        .containsEntry("events.stored.untagged", 1L)
        .containsEntry("events.stored.GPU", 1L)
        .containsEntry("events.stored.NVME", 1L);
  }

  @Test
  void anUnknownMediumIsNeverTheDevice() {
    hear(onMedium("HBM9", list(1), null, tokens(1, 5)), list("BlockRemoved", list(1), "HBM9"));
    assertThat(heard.relay.seen()).isEmpty();
    assertThat(count(Counter.UNKNOWN_MEDIA)).isEqualTo(2);
    assertThat(heard.count(Refusal.UNKNOWN_MEDIUM)).isEqualTo(2);
    assertThat(heard.stream.counters().snapshot())
        .containsEntry("events.stored.unknown", 1L)
        .containsEntry("events.removed.unknown", 1L);
  }

  // ---- groups

  @Test
  void onlyMainGroupsEnterTheIndex() {
    hear(
        grouped(list(1), tokens(1, 5), 0, "full_attention"),
        grouped(list(2), tokens(2, 6), 3, "mla_attention"),
        grouped(list(3), tokens(3, 7), 4, "sink_full_attention"),
        grouped(list(4), tokens(4, 8), 1, "mamba"),
        grouped(list(5), tokens(5, 9), 1, "sliding_window"),
        grouped(list(6), tokens(6, 10), 2, "brand_new_attention"),
        grouped(list(7), tokens(7, 11), 5, null),
        grouped(list(8), tokens(8, 12), null, null));
    assertThat(heard.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L, 3L, 8L);
    assertThat(count(Counter.FILTERED_KIND)).isEqualTo(2);
    assertThat(count(Counter.FILTERED_UNKNOWN_KIND)).isEqualTo(1);
    assertThat(count(Counter.FILTERED_GROUP)).isEqualTo(1);
  }

  @Test
  void removalsGoByTheKindThatTheirGroupHasShown() {
    hear(
        grouped(list(1, 2), tokens(1, 9), 3, "mla_attention"),
        grouped(list(1), tokens(1, 5), 1, "mamba"),
        list("BlockRemoved", list(1), "GPU", 1),
        list("BlockRemoved", list(1), "GPU", 6),
        list("BlockRemoved", list(2), "GPU", 3));
    assertThat(heard.relay.engineHashes()).containsExactly(1L);
    assertThat(count(Counter.FILTERED_GROUP)).isEqualTo(1);
    assertThat(count(Counter.FILTERED_UNLEARNED)).isEqualTo(1);
  }

  // ---- stores that are not what they seem

  @Test
  void aStoreThatRepeatsAHashBecomesAnEventOfNothing() {
    hear(store(list(1, 2), null, tokens(1, 9)));
    hear(store(list(3, 3), 2, tokens(9, 17)), store(list(4, 2), 2, tokens(9, 17)));
    assertThat(count(Counter.SELF_REFERENCING)).isEqualTo(2);
    KvEvent nothing = heard.relay.seen().get(1);
    assertThat(nothing.kind()).isEqualTo(KvEvent.Kind.REMOVED);
    assertThat(nothing.length()).isZero();
    assertThat(heard.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L);
  }

  @Test
  void aSparseStoreIsSkippedWhole() {
    hear(store(list(1), null, tokens(1, 9)), store(list(), null, tokens(1, 5)));
    assertThat(heard.relay.seen()).isEmpty();
    assertThat(count(Counter.SPARSE_STORES)).isEqualTo(2);
    assertThat(heard.count(Refusal.SPARSE_STORE)).isEqualTo(2);
  }

  @Test
  void aShortTokenListGivesTheBlocksItCanFill() {
    hear(store(list(1, 2, 3), null, tokens(1, 11)));
    assertThat(heard.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L);
    assertThat(count(Counter.SHORT_TOKEN_LISTS)).isEqualTo(1);
    hear(removed(3));
    assertThat(count(Counter.PARTIAL_REMOVALS)).isEqualTo(1);
    assertThat(count(Counter.UNKNOWN_REMOVALS)).isZero();
  }

  @Test
  void theLastPageOfASequenceIsNoBlockAndItsRemovalIsSwallowed() {
    hear(
        store(list(1), null, tokens(1, 5)),
        list("BlockStored", list(2), 1, tokens(5, 8), 3, null, null),
        removed(2));
    assertThat(heard.relay.engineHashes()).containsExactly(1L);
    assertThat(count(Counter.PARTIAL_BLOCKS)).isEqualTo(1);
    assertThat(count(Counter.PARTIAL_REMOVALS)).isEqualTo(1);
    assertThat(heard.trust).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void anotherBlockSizeIsRefusedByNameOnce() {
    hear(list("BlockStored", list(1), null, tokens(1, 9), 8, null));
    hear(list("BlockStored", list(2), 1, tokens(9, 17), 8, null));
    assertThat(heard.count(Refusal.BLOCK_SIZE)).isEqualTo(2);
    assertThat(count(Counter.BLOCK_SIZE_MISMATCHES)).isEqualTo(2);
    assertThat(heard.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(heard.reason).isEqualTo("blockSize = 8: the pool has 4");
    assertThat(heard.trusts.stream().filter(t -> t == SourceTrust.DEGRADED)).hasSize(1);
    assertThat(heard.relay.seen()).isEmpty();
  }

  @Test
  void pagesOfOneTokenAreRecognisedWhenOneFollowsAnother() {
    hear(list("BlockStored", list(1), null, list(5), 1, null));
    assertThat(heard.count(Refusal.BLOCK_SIZE)).isZero();
    hear(list("BlockStored", list(2), 1, list(6), 1, null));
    assertThat(heard.count(Refusal.BLOCK_SIZE)).isEqualTo(1);
    assertThat(heard.reason).isEqualTo("blockSize = 1: the pool has 4");
  }

  @Test
  void childrenOfUnknownParentsAreCountedInBlocksAndPoisonNobody() {
    hear(store(list(2, 3), 1, tokens(5, 13)), store(list(9), null, tokens(1, 5)));
    assertThat(count(Counter.UNKNOWN_PARENTS)).isEqualTo(1);
    assertThat(count(Counter.UNKNOWN_PARENT_BLOCKS)).isEqualTo(2);
    assertThat(heard.relay.engineHashes()).containsExactly(9L);
    assertThat(heard.trust).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aHashWithTwoContentsKeepsTheFirst() {
    hear(store(list(1), null, tokens(1, 5)), store(list(5, 1, 6), null, tokens(2, 14)));
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(name(1, 2, 3, 4), name(2, 3, 4, 5));
    assertThat(count(Counter.CONFLICTING_BLOCKS)).isEqualTo(2);
    assertThat(heard.reason).contains("engine hash 1 stands for two contents");
  }

  @Test
  void moreBlocksThanTheBoundAreNotPublished() {
    configured(source -> source.maxBlocks(2));
    hear(store(list(1, 2, 3), null, tokens(1, 13)));
    assertThat(heard.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L);
    assertThat(count(Counter.BLOCKS_WITHOUT_ROOM)).isEqualTo(1);
    assertThat(heard.reason).contains("maxBlocks = 2");
    hear(list("AllBlocksCleared"));
    assertThat(heard.trust).isEqualTo(SourceTrust.EXACT);
  }

  // ---- copies

  @Test
  void aBlockGoesWithItsLastCopy() {
    hear(store(list(1, 2), null, tokens(1, 9)), store(list(1, 2), null, tokens(1, 9)));
    hear(removed(2), removed(1));
    assertThat(heard.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L);
    assertThat(count(Counter.HELD_REMOVALS)).isEqualTo(2);
    assertThat(count(Counter.REPEATED_BLOCKS)).isEqualTo(2);
    hear(removed(2, 1, 77));
    assertThat(heard.relay.engineHashes()).isEmpty();
    assertThat(count(Counter.UNKNOWN_REMOVALS)).isEqualTo(1);
    assertThat(heard.relay.unknownRemovals()).isEqualTo(1);
  }

  @Test
  void copiesAreCountedForEachTier() {
    hear(
        onMedium("GPU", list(1), null, tokens(1, 5)),
        onMedium("CPU", list(1), null, tokens(1, 5)),
        list("BlockRemoved", list(1), "CPU"));
    assertThat(heard.relay.engineHashes()).containsExactly(1L);
    assertThat(count(Counter.HELD_REMOVALS)).isZero();
  }

  @Test
  void aParentMayGoBeforeItsChildren() {
    hear(store(list(1, 2), null, tokens(1, 9)), removed(1), store(list(3), 2, tokens(9, 13)));
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(
            name(1, 2, 3, 4, 5, 6, 7, 8), name(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    hear(store(list(4), 1, tokens(30, 34)));
    assertThat(count(Counter.UNKNOWN_PARENTS)).isEqualTo(1);
  }

  // ---- clears

  @Test
  void aClearEmptiesTheDeviceAndNothingBelow() {
    hear(
        onMedium("GPU", list(1), null, tokens(1, 5)),
        onMedium("CPU", list(1, 2), null, tokens(1, 9)));
    hear(list("AllBlocksCleared"), list("AllBlocksCleared"));
    assertThat(count(Counter.CLEARS)).isEqualTo(2);
    assertThat(heard.relay.sequenceHashes()).isEmpty();
    KvEvent clear = heard.relay.seen().get(heard.relay.seen().size() - 1);
    assertThat(clear.domain()).isEqualTo(ResidencyDomain.WORKER);
    assertThat(clear.tier()).isEqualTo(StorageTier.DEVICE);
    hear(list("BlockRemoved", list(2), "CPU"));
    assertThat(count(Counter.UNKNOWN_REMOVALS)).isZero();
  }

  @Test
  void aClearOfALowerTierNeverClearsTheDevice() {
    hear(
        onMedium("GPU", list(1), null, tokens(1, 5)),
        onMedium("CPU", list(1), null, tokens(1, 5)),
        map("type", "TierBlocksCleared", "medium", "CPU"));
    assertThat(heard.relay.engineHashes()).containsExactly(1L);
    assertThat(heard.relay.seen()).extracting(KvEvent::kind).doesNotContain(KvEvent.Kind.CLEARED);
    assertThat(count(Counter.FILTERED_IGNORED)).isEqualTo(1);
    hear(map("type", "TierBlocksCleared", "medium", "GPU"));
    assertThat(heard.relay.engineHashes()).isEmpty();
  }

  // ---- stores without tokens

  @Test
  void aTokenlessStoreIsCompletedFromTheDevice() {
    hear(onMedium("CPU", list(50), null, tokens(50, 54)));
    hear(store(list(1, 2, 3), null, tokens(1, 13)));
    hear(list("BlockStored", list(1, 2, 9), null, list(), 0, null, "CPU"));
    KvEvent completed = heard.relay.seen().get(2);
    assertThat(completed.tier()).isEqualTo(StorageTier.HOST_PINNED);
    assertThat(completed.length()).isEqualTo(2);
    assertThat(completed.localHash(0)).isEqualTo(name(1, 2, 3, 4));
    assertThat(count(Counter.TOKENLESS_COMPLETED)).isEqualTo(2);
    assertThat(count(Counter.TOKENLESS_DROPPED)).isEqualTo(1);
    hear(list("BlockStored", list(2, 1), null, list(), 0, null, "CPU"));
    assertThat(count(Counter.TOKENLESS_COMPLETED)).isEqualTo(3);
    assertThat(heard.relay.seen().get(3).hasParent()).isTrue();
    assertThat(heard.relay.seen().get(3).parentHash()).isEqualTo(1);
  }

  @Test
  void aTokenlessStoreBeforeItsDeviceBlockIsCountedAsLost() {
    hear(list("BlockStored", list(1), null, list(), 0, null, "CPU"));
    hear(store(list(1), null, tokens(1, 5)));
    assertThat(count(Counter.TOKENLESS_DROPPED)).isEqualTo(1);
    assertThat(heard.relay.engineHashes()).containsExactly(1L);
    hear(list("BlockRemoved", list(1), "CPU"));
    assertThat(count(Counter.UNKNOWN_REMOVALS)).isEqualTo(1);
    assertThat(heard.relay.engineHashes()).containsExactly(1L);
  }

  // ---- identity beyond tokens

  @Test
  void anAdapterSaltsItsBlocks() {
    configured(source -> source.adapters(Map.of(3L, "ad")));
    hear(keyed(list(1), null, tokens(1, 5), "ad", list(list("ad"))));
    hear(list("BlockStored", list(2), null, tokens(1, 5), 4, 3));
    hear(list("BlockStored", list(3), null, tokens(1, 5), 4, 3, null, null, list(list(3))));
    assertThat(heard.relay.engineHashes()).containsExactlyInAnyOrder(1L, 2L, 3L);
    assertThat(heard.relay.sequenceHashes())
        .containsExactly(name(BlockSalt.of("ad", null), 1, 2, 3, 4));
    hear(list("BlockStored", list(4), null, tokens(1, 5), 4, 4));
    assertThat(heard.count(Refusal.UNKNOWN_ADAPTER)).isEqualTo(1);
  }

  @Test
  void tensorRtsAdapterZeroIsTheBaseModel() {
    configured(source -> source.engine(EngineKind.TRTLLM));
    hear(list("BlockStored", list(1), null, tokens(1, 5), 4, 0));
    assertThat(heard.relay.sequenceHashes()).containsExactly(name(1, 2, 3, 4));
  }

  @Test
  void aPrefixedSaltIsInheritedThroughParents() {
    BlockSalt salt = BlockSalt.of(null, "tenant");
    Object keys = list(list("dynamo-cache-salt:tenant"));
    hear(keyed(list(1), null, tokens(1, 5), null, keys));
    hear(store(list(2), 1, tokens(5, 9)));
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(name(salt, 1, 2, 3, 4), name(salt, 1, 2, 3, 4, 5, 6, 7, 8));
    hear(removed(2, 1));
    hear(store(list(1), null, tokens(1, 5)));
    assertThat(heard.relay.sequenceHashes()).containsExactly(name(1, 2, 3, 4));
  }

  @Test
  void textsThatMayBeAnythingAreRefused() {
    hear(keyed(list(1), null, tokens(1, 5), null, list(list("tenant"))));
    hear(keyed(list(2), null, tokens(1, 5), "ad", list(list("ad", "ad"))));
    hear(keyed(list(3), null, tokens(1, 5), null, list(list(new byte[32]))));
    hear(keyed(list(4), null, tokens(1, 5), null, list(list(5))));
    hear(keyed(list(5, 6), null, tokens(1, 9), null, list(null, list("dynamo-cache-salt:t"))));
    assertThat(heard.relay.seen()).isEmpty();
    assertThat(heard.count(Refusal.NAMESPACE)).isEqualTo(5);
    assertThat(count(Counter.AMBIGUOUS_KEYS)).isEqualTo(5);
    assertThat(count(Counter.FILTERED_NAMESPACE)).isEqualTo(5);
  }

  @Test
  void aSaltThatIsNoTextIsRefused() {
    hear(store(list(1), null, tokens(1, 5), "GPU", map("cache_salt", 17)));
    assertThat(count(Counter.SALTS_REFUSED)).isEqualTo(1);
    assertThat(heard.count(Refusal.NAMESPACE)).isEqualTo(1);
    hear(store(list(2), null, tokens(1, 5), "GPU", map("session_id", "s", "cache_salt", null)));
    assertThat(heard.relay.sequenceHashes()).containsExactly(name(1, 2, 3, 4));
  }

  @Test
  void theConfiguredNamespaceAppliesWhereTheEventGivesNone() {
    configured(source -> source.cacheNamespace("team"));
    hear(
        store(list(1), null, tokens(1, 5)),
        store(list(2), null, tokens(1, 5), "GPU", map("cache_salt", "other")));
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(
            name(BlockSalt.of(null, "team"), 1, 2, 3, 4),
            name(BlockSalt.of(null, "other"), 1, 2, 3, 4));
  }

  @Test
  void multimodalKeysEnterTheHash() {
    BlockHasher hasher = new BlockHasher(4, QueryHashFormat.DYNAMO_STANDARD_V1);
    long digest = Long.parseUnsignedLong(DIGEST.substring(0, 16), 16);
    long hashed = Multimodal.mmHash("image-7").getAsLong();
    hear(keyed(list(1), null, tokens(1, 5), null, list(list(list(DIGEST, -1)))));
    hear(keyed(list(2), null, tokens(1, 5), null, list(list(DIGEST))));
    hear(keyed(list(3), null, tokens(1, 5), null, list(list(list("image-7", 0)))));
    int[] tokens = {1, 2, 3, 4};
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(
            hasher.localHash(tokens, 0, BlockSalt.NONE, new long[] {digest}, 0, 1),
            hasher.localHash(tokens, 0, BlockSalt.NONE, new long[] {hashed}, 0, 1));
  }

  @Test
  void placeholderTokensTakeThePadValue() {
    configured(source -> source.placeholderTokens(900, -1));
    int pad = Multimodal.padValue(Long.parseUnsignedLong(DIGEST.substring(0, 16), 16));
    hear(keyed(list(1), null, list(1, 900, 900, 2), null, list(list(list(DIGEST, 1)))));
    assertThat(heard.relay.sequenceHashes()).containsExactly(name(1, pad, pad, 2));
  }

  @Test
  void thePaddedDigestRuleCountsNothingElse() {
    configured(source -> source.multimodalRule(MultimodalRule.PADDED_DIGEST));
    String padded = "0123456789abcdef" + "0".repeat(48);
    BlockHasher hasher = new BlockHasher(4, QueryHashFormat.DYNAMO_STANDARD_V1);
    hear(keyed(list(1), null, tokens(1, 5), null, list(list(list(padded, 0)))));
    hear(keyed(list(2), null, tokens(1, 5), null, list(list(list(DIGEST, 0), list("image-7", 1)))));
    assertThat(heard.relay.sequenceHashes())
        .containsExactlyInAnyOrder(
            hasher.localHash(
                new int[] {1, 2, 3, 4}, 0, BlockSalt.NONE, new long[] {0x0123456789abcdefL}, 0, 1),
            name(1, 2, 3, 4));
    assertThat(count(Counter.AMBIGUOUS_KEYS)).isEqualTo(2);
  }

  @Test
  void aTextTokenWithoutAKeyIsRefused() {
    hear(store(list(1), null, list(1, "mm", 3, 4)));
    assertThat(heard.count(Refusal.STRING_TOKEN)).isEqualTo(1);
    assertThat(count(Counter.POSITIONS_WITHOUT_KEY)).isEqualTo(1);
    assertThat(heard.relay.seen()).isEmpty();
  }

  @Test
  void tensorRtWindowsBelowTheLargestAreDropped() {
    hear(
        map(
            "data",
            map("type", "created", "num_blocks_per_cache_level", list(8)),
            "window_size",
            128));
    hear(trt(64, 1), trt(128, 2), trt(64, 3));
    assertThat(heard.relay.engineHashes()).containsExactly(2L);
    assertThat(count(Counter.OTHER_WINDOWS)).isEqualTo(2);
    hear(map("data", map("type", "updated", "block_hash", 2), "window_size", 128));
    assertThat(count(Counter.UPDATED_EVENTS)).isEqualTo(1);
  }

  private static Object trt(int window, int hash) {
    Object token = map("type", "unique_token", "token_id", hash, "token_extra_id", 0);
    Object block = map("block_hash", hash, "tokens", list(token, token, token, token));
    return map(
        "data",
        map("type", "stored", "parent_hash", null, "blocks", list(block)),
        "window_size",
        window);
  }

  // ---- refusals and trust

  @Test
  void aRefusedRemovalOrClearDegradesTheSourceAndARefusedStoreDoesNot() {
    hear(list("BlockStored", list(1), null, list(-1), 1, null));
    assertThat(heard.trust).isEqualTo(SourceTrust.EXACT);
    hear(list("BlockRemoved", 5));
    assertThat(heard.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(heard.reason).isEqualTo("a removal was refused: event.field_type");
    hear(list("AllBlocksCleared"));
    assertThat(heard.trust).isEqualTo(SourceTrust.EXACT);
    hear(17);
    assertThat(heard.reason).contains("an event of unknown kind was refused");
  }

  @Test
  void unknownTagsAreCountedAndHarmless() {
    hear(list("BlockMoved", 3), store(list(1), null, tokens(1, 5)));
    assertThat(count(Counter.UNKNOWN_TAGS)).isEqualTo(1);
    assertThat(heard.relay.engineHashes()).containsExactly(1L);
    assertThat(heard.trust).isEqualTo(SourceTrust.EXACT);
  }

  @Test
  void aSourceOfRefusedEventsOnlyIsDegradedWithinTenSeconds() {
    hear(list("BlockStored", list(1), null, list(-1), 1, null));
    heard.now = 9_000_000_000L;
    heard.stream.onTick(heard.now);
    assertThat(heard.trust).isEqualTo(SourceTrust.DEGRADED);
    assertThat(heard.reason).isEqualTo("nothing but refused events: event.token_range");
    hear(store(list(1), null, tokens(1, 5)));
    assertThat(heard.trust).isEqualTo(SourceTrust.EXACT);
  }
}
