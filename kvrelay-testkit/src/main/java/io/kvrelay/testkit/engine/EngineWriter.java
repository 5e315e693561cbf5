package io.kvrelay.testkit.engine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Writes batches, byte for byte as the engine of one wire generation does. */
final class EngineWriter {
  private static final String SALT_PREFIX = "dynamo-cache-salt:";

  private final EngineWire wire;
  private final boolean byteHashes;
  private final int rank;

  EngineWriter(EngineWire wire, boolean byteHashes, int rank) {
    this.wire = wire;
    this.byteHashes = byteHashes;
    this.rank = rank;
  }

  byte[] batch(double timestamp, List<EngineEvent> events) {
    try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
      out.packArrayHeader(wire == EngineWire.VLLM_SHORT_ARRAYS ? 2 : 3);
      out.packDouble(timestamp);
      out.packArrayHeader(events.size());
      for (EngineEvent event : events) {
        if (wire.hasMaps()) {
          map(out, event);
        } else {
          array(out, event);
        }
      }
      if (wire != EngineWire.VLLM_SHORT_ARRAYS) {
        out.packInt(rank);
      }
      return out.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void array(MessageBufferPacker out, EngineEvent event) throws IOException {
    switch (event.kind()) {
      case CLEARED -> {
        out.packArrayHeader(1);
        out.packString("AllBlocksCleared");
      }
      case REMOVED -> {
        out.packArrayHeader(removedElements());
        out.packString("BlockRemoved");
        hashes(out, event.hashes());
        if (removedElements() > 2) {
          text(out, event.medium());
        }
        if (removedElements() > 3) {
          out.packNil();
        }
      }
      case STORED -> storedArray(out, event);
    }
  }

  private int removedElements() {
    return switch (wire) {
      case VLLM_SHORT_ARRAYS -> 2;
      case VLLM_ARRAYS -> 4;
      default -> 3;
    };
  }

  private void storedArray(MessageBufferPacker out, EngineEvent event) throws IOException {
    boolean salted = wire == EngineWire.SGLANG_ARRAYS && event.salt() != null;
    out.packArrayHeader(
        switch (wire) {
          case VLLM_SHORT_ARRAYS -> 6;
          case VLLM_ARRAYS -> 12;
          default -> salted ? 8 : 7;
        });
    out.packString("BlockStored");
    hashes(out, event.hashes());
    parent(out, event.parent());
    tokens(out, event.tokens());
    out.packInt(event.blockSize());
    out.packNil();
    if (wire == EngineWire.VLLM_SHORT_ARRAYS) {
      return;
    }
    text(out, event.medium());
    if (salted) {
      metadata(out, event.salt());
    } else if (wire == EngineWire.VLLM_ARRAYS) {
      text(out, event.adapter());
      extraKeys(out, event);
      out.packNil();
      out.packNil();
      out.packNil();
    }
  }

  private void map(MessageBufferPacker out, EngineEvent event) throws IOException {
    switch (event.kind()) {
      case CLEARED -> {
        out.packMapHeader(1);
        type(out, "AllBlocksCleared");
      }
      case REMOVED -> {
        out.packMapHeader(3);
        type(out, "BlockRemoved");
        out.packString("block_hashes");
        hashes(out, event.hashes());
        out.packString("medium");
        text(out, event.medium());
      }
      case STORED -> storedMap(out, event);
    }
  }

  private void storedMap(MessageBufferPacker out, EngineEvent event) throws IOException {
    boolean vllm = wire == EngineWire.VLLM_MAPS;
    boolean keys = vllm && (event.adapter() != null || event.salt() != null);
    boolean metadata = wire == EngineWire.SGLANG_MAPS && event.salt() != null;
    out.packMapHeader(7 + (wire.isSglang() ? 0 : 1) + (keys ? 1 : 0) + (metadata ? 1 : 0));
    type(out, "BlockStored");
    out.packString("block_hashes");
    hashes(out, event.hashes());
    out.packString("parent_block_hash");
    parent(out, event.parent());
    out.packString("token_ids");
    tokens(out, event.tokens());
    out.packString("block_size");
    out.packInt(event.blockSize());
    out.packString("lora_id");
    out.packNil();
    out.packString("medium");
    text(out, event.medium());
    if (!wire.isSglang()) {
      out.packString("lora_name");
      text(out, event.adapter());
    }
    if (keys) {
      out.packString("extra_keys");
      extraKeys(out, event);
    }
    if (metadata) {
      out.packString("metadata");
      metadata(out, event.salt());
    }
  }

  private static void type(MessageBufferPacker out, String tag) throws IOException {
    out.packString("type");
    out.packString(tag);
  }

  private static void metadata(MessageBufferPacker out, @Nullable String salt) throws IOException {
    out.packMapHeader(1);
    out.packString("cache_salt");
    text(out, salt);
  }

  /** vLLM: the adapter's name for each block, the salt for the first block of a sequence. */
  private static void extraKeys(MessageBufferPacker out, EngineEvent event) throws IOException {
    String adapter = event.adapter();
    String salt = event.salt();
    if (adapter == null && salt == null) {
      out.packNil();
      return;
    }
    out.packArrayHeader(event.hashes().length);
    for (int i = 0; i < event.hashes().length; i++) {
      boolean first = i == 0 && event.parent() == null && salt != null;
      int items = (adapter == null ? 0 : 1) + (first ? 1 : 0);
      if (items == 0) {
        out.packNil();
        continue;
      }
      out.packArrayHeader(items);
      if (adapter != null) {
        out.packString(adapter);
      }
      if (first) {
        out.packString(SALT_PREFIX + salt);
      }
    }
  }

  private void hashes(MessageBufferPacker out, byte[][] digests) throws IOException {
    out.packArrayHeader(digests.length);
    for (byte[] digest : digests) {
      hash(out, digest);
    }
  }

  private void parent(MessageBufferPacker out, byte @Nullable [] digest) throws IOException {
    if (digest == null) {
      out.packNil();
    } else {
      hash(out, digest);
    }
  }

  private void hash(MessageBufferPacker out, byte[] digest) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(digest);
    if (wire.isSglang()) {
      out.packLong(bytes.getLong(0));
    } else if (byteHashes) {
      out.packBinaryHeader(digest.length);
      out.writePayload(digest);
    } else {
      unsigned(out, bytes.getLong(digest.length - Long.BYTES));
    }
  }

  private static void unsigned(MessageBufferPacker out, long value) throws IOException {
    if (value >= 0) {
      out.packLong(value);
    } else {
      out.packBigInteger(new BigInteger(Long.toUnsignedString(value)));
    }
  }

  private static void tokens(MessageBufferPacker out, int[] tokens) throws IOException {
    out.packArrayHeader(tokens.length);
    for (int token : tokens) {
      out.packLong(Integer.toUnsignedLong(token));
    }
  }

  private static void text(MessageBufferPacker out, @Nullable String text) throws IOException {
    if (text == null) {
      out.packNil();
    } else {
      out.packString(text);
    }
  }
}
