package io.kvrelay.events.zmq;

import io.kvrelay.engine.hash.BlockObjects;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.hash.Multimodal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What belongs to a block's identity besides its tokens: adapter, cache namespace, multimodal
 * objects. Reads them out of one store event at a time. What cannot be told apart is refused:
 * sharing blocks between tenants would be worse than not sharing them at all.
 *
 * <p>Reusable, not thread safe.
 */
final class StoreIdentity {
  private static final byte[] SALT_PREFIX =
      "dynamo-cache-salt:".getBytes(StandardCharsets.US_ASCII);
  private static final int DIGEST_DIGITS = 64;
  private static final int HASH_DIGITS = 16;

  private final EngineSource source;
  private final SourceCounters counters;
  private final Map<Long, String> adapters;
  private final Salts salts = new Salts();
  private final BlockObjects objects = new BlockObjects();

  private byte[] payload = {};
  private String adapter = "";
  private byte[] adapterBytes = {};
  private String namespace = "";

  StoreIdentity(EngineSource source, SourceCounters counters) {
    this.source = source;
    this.counters = counters;
    this.adapters = source.adapters();
  }

  /**
   * Reads a store.
   *
   * @param event the store
   * @param in where its texts lie
   * @param inherited the parent's namespace, or the empty text
   * @return why it has to be refused, or null
   */
  @Nullable Refusal read(WireEvent event, byte[] in, String inherited) {
    payload = in;
    namespace = inherited;
    objects.clear();
    if (!readAdapter(event)) {
      return Refusal.UNKNOWN_ADAPTER;
    }
    if (!readExtraKeys(event) || !readSalt(event)) {
      return Refusal.NAMESPACE;
    }
    if (event.textTokenCount > 0) {
      return replaceTextTokens(event) ? null : Refusal.STRING_TOKEN;
    }
    return null;
  }

  /** The namespace that the store or its parent gave; empty if none did. */
  String ownNamespace() {
    return namespace;
  }

  BlockSalt salt() {
    return salts.of(adapter, namespace.isEmpty() ? source.cacheNamespace() : namespace);
  }

  /** The blocks' objects; blocks beyond its count have none. */
  BlockObjects objects() {
    return objects;
  }

  private boolean readAdapter(WireEvent event) {
    if (event.loraNameLength > 0) {
      if (!isAdapter(event.loraNameFrom, event.loraNameLength)) {
        adapter = text(event.loraNameFrom, event.loraNameLength);
        adapterBytes = adapter.getBytes(StandardCharsets.UTF_8);
      }
      return true;
    }
    String name = "";
    if (event.hasLoraId && !(event.loraId == 0 && source.engine() == EngineKind.TRTLLM)) {
      name = adapters.getOrDefault(event.loraId, "");
      if (name.isEmpty()) {
        return false;
      }
    }
    if (!name.equals(adapter)) {
      adapter = name;
      adapterBytes = name.getBytes(StandardCharsets.UTF_8);
    }
    return true;
  }

  private boolean isAdapter(int from, int length) {
    return equal(adapterBytes, from, length);
  }

  private boolean equal(byte[] text, int from, int length) {
    return text.length == length && Arrays.equals(text, 0, length, payload, from, from + length);
  }

  private String text(int from, int length) {
    return new String(payload, from, length, StandardCharsets.UTF_8);
  }

  /** SGLang's salt, which each store gives. */
  private boolean readSalt(WireEvent event) {
    if (event.saltLength == WireEvent.NOT_A_TEXT) {
      counters.increment(Counter.SALTS_REFUSED);
      return false;
    }
    if (event.saltLength > 0) {
      namespace = text(event.saltFrom, event.saltLength);
    }
    return true;
  }

  private boolean readExtraKeys(WireEvent event) {
    TextSpans keys = event.extraKeys;
    TextSpans objectKeys = event.objectKeys;
    if (keys.isEmpty() && objectKeys.isEmpty()) {
      return true;
    }
    int blocks = Math.max(keys.blocks(), objectKeys.blocks());
    for (int block = 0; block < blocks; block++) {
      if (!readExtraKeys(event, keys, block) || !readObjectKeys(event, objectKeys, block)) {
        return false;
      }
      objects.endBlock();
    }
    return true;
  }

  private boolean readExtraKeys(WireEvent event, TextSpans keys, int block) {
    boolean adapterSeen = adapter.isEmpty();
    for (int i = keys.first(block); i < keys.end(block); i++) {
      boolean isAdapterKey =
          !adapterSeen
              && (keys.kind(i) == TextSpans.NUMBER
                  ? event.hasLoraId && keys.number(i) == event.loraId
                  : keys.kind(i) == TextSpans.TEXT && isAdapter(keys.from(i), keys.length(i)));
      if (isAdapterKey) {
        adapterSeen = true;
      } else if (!readKey(keys, i, block)) {
        counters.increment(Counter.AMBIGUOUS_KEYS);
        counters.increment(Counter.FILTERED_NAMESPACE);
        return false;
      }
    }
    return true;
  }

  private boolean readKey(TextSpans keys, int i, int block) {
    int from = keys.from(i);
    int length = keys.length(i);
    return switch (keys.kind(i)) {
      case TextSpans.TEXT_WITH_NUMBER -> readObject(from, length, true);
      case TextSpans.TEXT ->
          (block == 0 && readPrefixedSalt(from, length))
              || (isHex(from, length, DIGEST_DIGITS) && readObject(from, length, false));
      default -> false;
    };
  }

  private boolean readPrefixedSalt(int from, int length) {
    int prefix = SALT_PREFIX.length;
    if (length <= prefix || !equal(SALT_PREFIX, from, prefix)) {
      return false;
    }
    namespace = text(from + prefix, length - prefix);
    return true;
  }

  private boolean readObject(int from, int length, boolean withOffset) {
    if (source.multimodalRule() == MultimodalRule.PADDED_DIGEST) {
      if (isHex(from, length, DIGEST_DIGITS) && isZeros(from + HASH_DIGITS)) {
        objects.object(hexHash(from));
      } else {
        counters.increment(Counter.AMBIGUOUS_KEYS);
      }
      return true;
    }
    if (isHex(from, length, DIGEST_DIGITS)) {
      objects.object(hexHash(from));
    } else if (withOffset) {
      Multimodal.mmHash(text(from, length)).ifPresent(objects::object);
    }
    return true;
  }

  /** TensorRT-LLM's keys name their objects in hexadecimal. */
  private boolean readObjectKeys(WireEvent event, TextSpans keys, int block) {
    for (int i = keys.first(block); i < keys.end(block); i++) {
      if (keys.length(i) < HASH_DIGITS || !isHex(keys.from(i), HASH_DIGITS, HASH_DIGITS)) {
        counters.increment(Counter.AMBIGUOUS_KEYS);
        return false;
      }
      // Text tokens become pad values below, which name the objects already.
      if (event.textTokenCount == 0) {
        objects.object(hexHash(keys.from(i)));
      }
    }
    return true;
  }

  private boolean isHex(int from, int length, int digits) {
    if (length != digits) {
      return false;
    }
    for (int i = from; i < from + digits; i++) {
      if (Character.digit(payload[i], 16) < 0 || payload[i] < 0) {
        return false;
      }
    }
    return true;
  }

  private boolean isZeros(int from) {
    for (int i = from; i < from + DIGEST_DIGITS - HASH_DIGITS; i++) {
      if (payload[i] != '0') {
        return false;
      }
    }
    return true;
  }

  private long hexHash(int from) {
    long hash = 0;
    for (int i = from; i < from + HASH_DIGITS; i++) {
      hash = hash << 4 | Character.digit(payload[i], 16);
    }
    return hash;
  }

  /**
   * Puts pad values in the place of text tokens: each run takes one object of its block, in order,
   * and runs beyond the objects reuse the last.
   */
  private boolean replaceTextTokens(WireEvent event) {
    counters.add(Counter.STRING_TOKENS, event.textTokenCount);
    TextSpans keys = event.objectKeys;
    int size = (int) Math.max(1, event.blockSize);
    int lastBlock = -1;
    int lastIndex = -2;
    int key = 0;
    for (int i = 0; i < event.textTokenCount; i++) {
      int index = event.textTokens[i];
      int block = index / size;
      if (keys.first(block) == keys.end(block)) {
        counters.increment(Counter.POSITIONS_WITHOUT_KEY);
        return false;
      }
      if (block != lastBlock) {
        key = keys.first(block);
      } else if (index != lastIndex + 1) {
        key = Math.min(key + 1, keys.end(block) - 1);
      }
      event.tokens[index] = Multimodal.padValue(hexHash(keys.from(key)));
      lastBlock = block;
      lastIndex = index;
    }
    return true;
  }
}
