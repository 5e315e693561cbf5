package io.kvrelay.events.zmq;

import static io.kvrelay.events.zmq.Pack.list;
import static io.kvrelay.events.zmq.Pack.map;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is tolerated, and what is refused, and how much of a message that costs. */
class WireDecoderTest {
  private final WireDecoder decoder = new WireDecoder(WireLimits.DEFAULT);

  private WireBatch decode(Object batch) throws WireFault {
    return decoder.decode(Pack.bytes(batch));
  }

  private WireEvent event(Object event) throws WireFault {
    WireBatch batch = decode(list(1.5, list(event)));
    assertThat(batch.size()).isEqualTo(1);
    return batch.get(0);
  }

  private Refusal messageRefusal(byte[] payload) {
    WireFault fault = catchThrowableOfType(WireFault.class, () -> decoder.decode(payload));
    assertThat(fault).as("a refusal").isNotNull();
    assertThat(fault.spoilsMessage()).isTrue();
    return fault.refusal();
  }

  private Refusal messageRefusal(Object batch) {
    return messageRefusal(Pack.bytes(batch));
  }

  private static List<Object> store(Object... more) {
    List<Object> event =
        new ArrayList<>(list("BlockStored", list(1, 2), null, list(1, 2, 3, 4), 2));
    event.addAll(Arrays.asList(more));
    return event;
  }

  // ---- tolerated

  @Test
  void arraysAndMapsMixInOneBatch() throws WireFault {
    WireBatch batch =
        decode(
            list(
                2,
                list(
                    list("BlockRemoved", list(1)),
                    map("type", "BlockRemoved", "block_hashes", list(2)),
                    list("AllBlocksCleared"),
                    map("type", "AllBlocksCleared"))));
    assertThat(batch.size()).isEqualTo(4);
    assertThat(batch.get(1).hashes[0]).isEqualTo(2);
    assertThat(batch.get(3).kind).isEqualTo(WireEvent.Kind.CLEARED);
  }

  @Test
  void aBatchMayBeAMapWithKeysInAnyOrder() throws WireFault {
    WireBatch batch =
        decode(
            map(
                "epoch",
                "x",
                "events",
                list(list("BlockRemoved", list(1))),
                "attn_dp_rank",
                5,
                "ts",
                7));
    assertThat(batch.size()).isEqualTo(1);
    assertThat(batch.timestamp).isEqualTo(7);
    assertThat(batch.rank).isEqualTo(5);
  }

  @Test
  void aBatchMayHaveMoreElementsThanKnown() throws WireFault {
    WireBatch batch = decode(list(1.0, list(), 3, "epoch", map("digest", new byte[32]), list(1)));
    assertThat(batch.rank).isEqualTo(3);
    assertThat(batch.size()).isZero();
  }

  @Test
  void anAbsentRankANilRankAndRankZeroAreTold() throws WireFault {
    assertThat(decode(list(1.0, list())).hasRank).isFalse();
    assertThat(decode(list(1.0, list(), null)).hasRank).isFalse();
    assertThat(decode(list(1.0, list(), 0)).hasRank).isTrue();
    assertThat(decode(map("ts", 1, "events", list(), "data_parallel_rank", 0)).hasRank).isTrue();
  }

  @Test
  void unknownTrailingElementsAndKeysArePassedOver() throws WireFault {
    WireEvent array =
        event(store(null, "GPU", null, null, 0, "full_attention", 128, map("a", 1), list(9)));
    assertThat(array.refusal).isNull();
    assertThat(array.attention).isEqualTo(AttentionKind.FULL_ATTENTION);
    WireEvent map =
        event(
            map(
                "session_id",
                list(map("x", 1.5f)),
                "type",
                "BlockStored",
                "block_hashes",
                list(1),
                "locality",
                "LOCAL",
                "token_ids",
                list(1, 2),
                "block_size",
                2,
                7,
                "a key that is no text"));
    assertThat(map.refusal).isNull();
    assertThat(map.hasParent).isFalse();
  }

  @Test
  void nilStandsInEveryOptionalPosition() throws WireFault {
    WireEvent event = event(store(null, null, null, null, null, null, null));
    assertThat(event.refusal).isNull();
    assertThat(event.medium).isEqualTo(Medium.UNTAGGED);
    assertThat(event.hasGroup).isFalse();
    WireEvent removal = event(list("BlockRemoved", list(), null, null));
    assertThat(removal.refusal).isNull();
    assertThat(removal.hashCount).isZero();
  }

  @Test
  void hashesOfAllKindsMix() throws WireFault {
    WireEvent event =
        event(
            list(
                "BlockRemoved",
                list(
                    -5,
                    new BigInteger("18446744073709551611"),
                    new byte[] {1},
                    new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 9},
                    new byte[32],
                    Long.MIN_VALUE,
                    0)));
    assertThat(Arrays.copyOf(event.hashes, event.hashCount))
        .containsExactly(-5, -5, 1, 9, 0, Long.MIN_VALUE, 0);
  }

  @Test
  void aParentOfZeroIsAParent() throws WireFault {
    WireEvent event = event(list("BlockStored", list(1), 0, list(1, 2), 2));
    assertThat(event.hasParent).isTrue();
    assertThat(event.parent).isZero();
  }

  @Test
  void tokensComeAsNumbersPairsTextsOrNotAtAll() throws WireFault {
    assertThat(event(list("BlockStored", list(1), null, list(), 0)).tokenCount).isZero();
    WireEvent texts = event(list("BlockStored", list(1), null, list(1, "mm", 4294967295L), 3));
    assertThat(texts.refusal).isNull();
    assertThat(texts.textTokenCount).isEqualTo(1);
    assertThat(texts.tokens[2]).isEqualTo(-1);
    WireEvent pairs = event(list("BlockStored", list(1), null, list(list(7, 8), list(8, 9)), 2));
    assertThat(Arrays.copyOf(pairs.tokens, pairs.tokenCount)).containsExactly(7, 8, 9);
  }

  @Test
  void unknownTagsAreEventsOfAnUnknownKind() throws WireFault {
    assertThat(event(list("BlockMoved", 1, 2)).kind).isEqualTo(WireEvent.Kind.UNKNOWN);
    assertThat(event(map("type", "BlockMoved", "token_ids", "x")).refusal).isNull();
  }

  @Test
  void theTypeMayBeTheLastKey() throws WireFault {
    WireEvent event = event(map("block_hashes", list(3), "medium", "GPU", "type", "BlockRemoved"));
    assertThat(event.kind).isEqualTo(WireEvent.Kind.REMOVED);
    assertThat(event.hashes[0]).isEqualTo(3);
  }

  @Test
  void tensorRtsOwnObjectsAreUnderstood() throws WireFault {
    Object data =
        map(
            "type",
            "stored",
            "parent_hash",
            4,
            "blocks",
            list(trtBlock(5, 0, 1, 2, 3, 4), trtBlock(6, 0, 5, 6, 7, 8), trtBlock(7, 0, 9)));
    WireEvent event = event(map("event_id", 3, "data", data, "window_size", 4096));
    assertThat(event.refusal).isNull();
    assertThat(event.kind).isEqualTo(WireEvent.Kind.STORED);
    assertThat(event.parent).isEqualTo(4);
    assertThat(event.blockSize).isEqualTo(4);
    assertThat(event.window).isEqualTo(4096);
    assertThat(Arrays.copyOf(event.hashes, event.hashCount)).containsExactly(5, 6, 7);
    assertThat(Arrays.copyOf(event.tokens, event.tokenCount))
        .containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9);
    assertThat(event(map("data", map("type", "updated", "block_hash", 1))).kind)
        .isEqualTo(WireEvent.Kind.UPDATED);
    assertThat(event(map("data", map("type", "removed", "block_hashes", list(5)))).hashes[0])
        .isEqualTo(5);
  }

  private static Object trtBlock(int hash, int level, int... tokens) {
    List<Object> units = new ArrayList<>();
    for (int token : tokens) {
      units.add(map("type", "unique_token", "token_id", token, "token_extra_id", 0));
    }
    return map(
        "type",
        "stored_block",
        "block_hash",
        hash,
        "tokens",
        units,
        "cache_level",
        level,
        "priority",
        35);
  }

  // ---- refused with the message

  @Test
  void whatIsNotMessagePackIsRefusedWhole() {
    assertThat(messageRefusal(new byte[0])).isEqualTo(Refusal.NOT_MSGPACK);
    assertThat(messageRefusal(new byte[] {(byte) 0xC1})).isEqualTo(Refusal.NOT_MSGPACK);
    byte[] good = Pack.batch(store());
    for (int cut = 0; cut < good.length; cut++) {
      assertThat(messageRefusal(Arrays.copyOf(good, cut)))
          .isIn(Refusal.NOT_MSGPACK, Refusal.NOT_A_BATCH);
    }
    assertThat(messageRefusal(Arrays.copyOf(good, good.length + 1))).isEqualTo(Refusal.NOT_MSGPACK);
  }

  @Test
  void aHeaderThatPromisesMoreThanThereIsCostsNoMemory() {
    byte[] promise = {(byte) 0x92, 0, (byte) 0xDD, 0x7F, -1, -1, -1};
    assertThat(messageRefusal(promise)).isEqualTo(Refusal.NOT_MSGPACK);
  }

  @Test
  void aBatchWithoutTimeOrEventsIsRefused() {
    assertThat(messageRefusal(list(1.0))).isEqualTo(Refusal.NOT_A_BATCH);
    assertThat(messageRefusal(list(list(), 1.0))).isEqualTo(Refusal.NOT_A_BATCH);
    assertThat(messageRefusal(list(1.0, map()))).isEqualTo(Refusal.NOT_A_BATCH);
    assertThat(messageRefusal(list(1.0, list(), "rank"))).isEqualTo(Refusal.NOT_A_BATCH);
    assertThat(messageRefusal(list(1.0, list(), -1))).isEqualTo(Refusal.NOT_A_BATCH);
    assertThat(messageRefusal(map("events", list()))).isEqualTo(Refusal.NOT_A_BATCH);
    assertThat(messageRefusal(map("ts", 1))).isEqualTo(Refusal.NOT_A_BATCH);
    assertThat(messageRefusal("text")).isEqualTo(Refusal.NOT_A_BATCH);
  }

  @Test
  void deepNestingIsRefusedBeforeItIsFollowed() {
    Object deep = 1;
    for (int i = 0; i < 40; i++) {
      deep = list(deep);
    }
    assertThat(messageRefusal(list(1.0, list(list("Unknown", deep))))).isEqualTo(Refusal.TOO_LARGE);
  }

  @Test
  void sizesBeyondTheLimitsAreRefused() {
    WireDecoder small = new WireDecoder(new WireLimits(200, 2, 3, 2, 4, 8));
    Object[] tooLarge = {
      list(1.0, list(list("A"), list("A"), list("A"))),
      list(1.0, list(list("BlockRemoved", list(1, 2, 3)))),
      list(1.0, list(list("BlockStored", list(1), null, list(1, 2, 3, 4), 4))),
      list(1.0, list(list("BlockRemoved", list(1), "MEDIUM"))),
      list(1.0, list(list("A", "x".repeat(300)))),
    };
    for (Object batch : tooLarge) {
      WireFault fault =
          catchThrowableOfType(WireFault.class, () -> small.decode(Pack.bytes(batch)));
      assertThat(fault).as(batch.toString()).isNotNull();
      assertThat(fault.refusal()).isEqualTo(Refusal.TOO_LARGE);
    }
  }

  // ---- refused alone

  @Test
  void aBadEventIsRefusedAloneAndItsNeighboursAreRead() throws WireFault {
    WireBatch batch =
        decode(
            list(
                1.0,
                list(
                    list("BlockRemoved", list(1)),
                    list("BlockRemoved", "hashes"),
                    17,
                    map("type", "BlockStored", "block_hashes", list(1), "token_ids", 5),
                    list("BlockRemoved", list(2)))));
    assertThat(batch.size()).isEqualTo(5);
    assertThat(batch.get(0).refusal).isNull();
    assertThat(batch.get(1).refusal).isEqualTo(Refusal.FIELD_TYPE);
    assertThat(batch.get(1).kind).isEqualTo(WireEvent.Kind.REMOVED);
    assertThat(batch.get(2).refusal).isEqualTo(Refusal.NOT_AN_EVENT);
    assertThat(batch.get(3).refusal).isEqualTo(Refusal.FIELD_TYPE);
    assertThat(batch.get(4).refusal).isNull();
    assertThat(batch.get(4).hashes[0]).isEqualTo(2);
  }

  @Test
  void reasonsOfRefusedEvents() throws WireFault {
    assertRefused(Refusal.NO_TAG, list());
    assertRefused(Refusal.NO_TAG, list(5, list(1)));
    assertRefused(Refusal.NO_TAG, map("block_hashes", list(1)));
    assertRefused(Refusal.NO_TAG, map("type", 3));
    assertRefused(Refusal.FIELD_MISSING, list("BlockRemoved"));
    assertRefused(Refusal.FIELD_MISSING, list("BlockStored", list(1), null, list(1)));
    assertRefused(Refusal.FIELD_MISSING, map("type", "BlockStored", "block_hashes", list(1)));
    assertRefused(Refusal.EMPTY_HASH, list("BlockRemoved", list(new byte[0])));
    assertRefused(Refusal.HASH_RANGE, list("BlockRemoved", list(1.5)));
    assertRefused(Refusal.FIELD_TYPE, list("BlockRemoved", list("hash")));
    assertRefused(Refusal.FIELD_TYPE, list("BlockRemoved", list(list(1))));
    assertRefused(Refusal.TOKEN_RANGE, list("BlockStored", list(1), null, list(-1), 1));
    assertRefused(Refusal.TOKEN_RANGE, list("BlockStored", list(1), null, list(4294967296L), 1));
    assertRefused(Refusal.FIELD_TYPE, list("BlockStored", list(1), null, list(list(1, 2, 3)), 1));
    assertRefused(Refusal.FIELD_TYPE, list("BlockStored", list(1), null, list(list(1, 2), 3), 2));
    assertRefused(
        Refusal.BROKEN_BIGRAM, list("BlockStored", list(1), null, list(list(1, 2), list(3, 4)), 2));
    assertRefused(Refusal.FIELD_TYPE, list("BlockStored", list(1), null, list(1), -1));
    assertRefused(Refusal.FIELD_TYPE, list("BlockStored", list(1), null, list(1), null));
    assertRefused(Refusal.FIELD_TYPE, store(null, 5));
    assertRefused(Refusal.FIELD_TYPE, store(null, null, null, 5));
    assertRefused(Refusal.FIELD_TYPE, store(null, null, null, null, "group"));
  }

  private void assertRefused(Refusal refusal, Object event) throws WireFault {
    assertThat(event(event).refusal).as(event.toString()).isEqualTo(refusal);
  }

  @Test
  void refusalsCarryNoStackTrace() {
    WireFault fault =
        catchThrowableOfType(WireFault.class, () -> decoder.decode(new byte[] {(byte) 0xC1}));
    assertThat(fault.getStackTrace()).isEmpty();
  }
}
