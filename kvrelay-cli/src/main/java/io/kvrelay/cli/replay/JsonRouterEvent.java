package io.kvrelay.cli.replay;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import java.io.IOException;
import java.math.BigInteger;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The decoder of one event. Keys come in any order and unknown ones are skipped at every level. A
 * missing or unusable value is an {@link IllegalArgumentException} that names the field.
 *
 * <p>An unusable residency domain is no error here: the pool refuses that event alone.
 */
final class JsonRouterEvent {
  private static final BigInteger MAX_U64 = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
  private static final BigInteger MAX_U32 = BigInteger.ONE.shiftLeft(32).subtract(BigInteger.ONE);

  private final JsonParser in;

  private @Nullable Long workerId;
  private StorageTier tier = StorageTier.DEVICE;
  private ResidencyDomain domain = ResidencyDomain.MISSING;
  private boolean hasEvent;
  private @Nullable Long eventId;
  private int dpRank;
  private KvEvent.@Nullable Kind kind;
  private @Nullable Long parentHash;
  private long startPosition = KvEvent.NO_START_POSITION;
  private long[] engineHashes = {};
  private long[] localHashes = {};
  private int blocks;

  JsonRouterEvent(JsonParser in) {
    this.in = in;
  }

  void read() throws IOException {
    require(in.nextToken() == JsonToken.START_OBJECT, "the line is not a JSON object");
    while (in.nextToken() != JsonToken.END_OBJECT) {
      String key = in.currentName();
      in.nextToken();
      switch (key) {
        case "worker_id" -> workerId = unsigned(key, MAX_U64).longValue();
        case "storage_tier" -> tier = tier();
        case "residency_domain" -> domain = domain();
        case "event" -> readEvent();
        default -> in.skipChildren();
      }
    }
  }

  KvEvent build() {
    Member member = new Member(present(workerId, "worker_id"), dpRank);
    require(hasEvent, "event is missing");
    long id = present(eventId, "event_id");
    KvEvent.Builder event =
        switch (present(kind, "data")) {
          case STORED -> store(member, id);
          case REMOVED -> KvEvent.removed(member, id, Arrays.copyOf(engineHashes, blocks));
          case CLEARED -> KvEvent.cleared(member, id);
        };
    return event.tier(tier).domain(domain).build();
  }

  private KvEvent.Builder store(Member member, long id) {
    KvEvent.Builder store =
        KvEvent.stored(
            member, id, Arrays.copyOf(engineHashes, blocks), Arrays.copyOf(localHashes, blocks));
    if (parentHash != null) {
      store.parent(parentHash);
    }
    return store.startPosition(startPosition);
  }

  private StorageTier tier() throws IOException {
    StorageTier parsed =
        in.currentToken() == JsonToken.VALUE_STRING ? StorageTier.ofWireName(in.getText()) : null;
    if (parsed == null) {
      throw new IllegalArgumentException("storage_tier = " + shown() + ": is no tier");
    }
    return parsed;
  }

  /** Fail closed: an explicit null is not the same as an absent field. */
  private ResidencyDomain domain() throws IOException {
    if (in.currentToken() == JsonToken.VALUE_STRING) {
      return ResidencyDomain.ofWireName(in.getText());
    }
    in.skipChildren();
    return ResidencyDomain.INVALID;
  }

  private void readEvent() throws IOException {
    hasEvent = true;
    requireObject("event");
    while (in.nextToken() != JsonToken.END_OBJECT) {
      String key = in.currentName();
      in.nextToken();
      switch (key) {
        case "event_id" -> eventId = unsigned(key, MAX_U64).longValue();
        case "dp_rank" -> dpRank = unsigned(key, MAX_U32).intValue();
        case "data" -> readData();
        default -> in.skipChildren();
      }
    }
  }

  /** An externally tagged union: a bare tag, or one tag with its payload. */
  private void readData() throws IOException {
    if (in.currentToken() == JsonToken.VALUE_STRING) {
      require(
          "cleared".equals(in.getText()), "data = " + shown() + ": needs a payload or is no tag");
      kind = KvEvent.Kind.CLEARED;
      return;
    }
    requireObject("data");
    require(in.nextToken() != JsonToken.END_OBJECT, "data has no tag");
    String tag = in.currentName();
    in.nextToken();
    switch (tag) {
      case "stored" -> readStored();
      case "removed" -> readRemoved();
      case "cleared" -> {
        require(
            in.currentToken() == JsonToken.VALUE_NULL, "cleared = " + shown() + ": has no payload");
        kind = KvEvent.Kind.CLEARED;
      }
      default -> throw new IllegalArgumentException("data has the unknown tag \"" + tag + "\"");
    }
    require(in.nextToken() == JsonToken.END_OBJECT, "data has more than one tag");
  }

  private void readStored() throws IOException {
    kind = KvEvent.Kind.STORED;
    requireObject("stored");
    boolean hasBlocks = false;
    while (in.nextToken() != JsonToken.END_OBJECT) {
      String key = in.currentName();
      boolean isNull = in.nextToken() == JsonToken.VALUE_NULL;
      switch (key) {
        case "parent_hash" -> parentHash = isNull ? null : engineHash(key);
        case "start_position" ->
            startPosition = isNull ? KvEvent.NO_START_POSITION : unsigned(key, MAX_U32).longValue();
        case "blocks" -> {
          hasBlocks = true;
          readBlocks();
        }
        default -> in.skipChildren();
      }
    }
    require(hasBlocks, "stored.blocks is missing");
  }

  private void readBlocks() throws IOException {
    require(in.currentToken() == JsonToken.START_ARRAY, "blocks = " + shown() + ": is no list");
    while (in.nextToken() != JsonToken.END_ARRAY) {
      requireObject("block " + blocks);
      Long engine = null;
      Long local = null;
      while (in.nextToken() != JsonToken.END_OBJECT) {
        String key = in.currentName();
        in.nextToken();
        switch (key) {
          case "block_hash" -> engine = engineHash(key);
          case "tokens_hash" -> local = unsigned(key, MAX_U64).longValue();
          default -> in.skipChildren();
        }
      }
      add(
          present(engine, "block_hash of block " + blocks),
          present(local, "tokens_hash of block " + blocks));
    }
  }

  private void readRemoved() throws IOException {
    kind = KvEvent.Kind.REMOVED;
    requireObject("removed");
    boolean hasHashes = false;
    while (in.nextToken() != JsonToken.END_OBJECT) {
      String key = in.currentName();
      in.nextToken();
      if (!key.equals("block_hashes")) {
        in.skipChildren();
        continue;
      }
      hasHashes = true;
      require(in.currentToken() == JsonToken.START_ARRAY, key + " = " + shown() + ": is no list");
      while (in.nextToken() != JsonToken.END_ARRAY) {
        add(engineHash(key), 0);
      }
    }
    require(hasHashes, "removed.block_hashes is missing");
  }

  private void add(long engineHash, long localHash) {
    if (blocks == engineHashes.length) {
      int capacity = Math.max(16, 2 * blocks);
      engineHashes = Arrays.copyOf(engineHashes, capacity);
      localHashes = Arrays.copyOf(localHashes, capacity);
    }
    engineHashes[blocks] = engineHash;
    localHashes[blocks++] = localHash;
  }

  /** Engines also write their ids as signed numbers, which stand for the same 64 bits. */
  private long engineHash(String key) throws IOException {
    require(
        in.currentToken() == JsonToken.VALUE_NUMBER_INT, key + " = " + shown() + ": is no integer");
    BigInteger value = in.getBigIntegerValue();
    return value.signum() < 0 && value.bitLength() < 64
        ? value.longValue()
        : unsigned(key, MAX_U64).longValue();
  }

  private BigInteger unsigned(String key, BigInteger max) throws IOException {
    require(
        in.currentToken() == JsonToken.VALUE_NUMBER_INT, key + " = " + shown() + ": is no integer");
    BigInteger value = in.getBigIntegerValue();
    require(
        value.signum() >= 0 && value.compareTo(max) <= 0,
        key + " = " + value + ": must be in 0.." + max);
    return value;
  }

  private void requireObject(String what) throws IOException {
    require(in.currentToken() == JsonToken.START_OBJECT, what + " = " + shown() + ": is no object");
  }

  private String shown() throws IOException {
    JsonToken token = in.currentToken();
    return token == null || token.isStructStart() ? String.valueOf(token) : in.getText();
  }

  private static <T> T present(@Nullable T value, String field) {
    if (value == null) {
      throw new IllegalArgumentException(field + " is missing");
    }
    return value;
  }

  private static void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new IllegalArgumentException(otherwise);
    }
  }
}
