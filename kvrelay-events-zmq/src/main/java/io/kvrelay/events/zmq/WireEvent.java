package io.kvrelay.events.zmq;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One event as an engine wrote it, nothing interpreted. Reusable: the decoder fills it, the
 * normaliser reads it before the next message is decoded. Texts are ranges of the payload.
 */
final class WireEvent {
  /** What the tag says. */
  enum Kind {
    STORED,
    REMOVED,
    CLEARED,
    /** vLLM's announced clear of one tier. */
    TIER_CLEARED,
    /** TensorRT-LLM: the sizes of its pools. */
    CREATED,
    /** TensorRT-LLM: a block changed its level or priority. */
    UPDATED,
    /** A tag that this version does not know. */
    UNKNOWN
  }

  /** The kind; of a refused event, as far as it was read. */
  Kind kind = Kind.UNKNOWN;

  /** Why the event could not be read, or null. */
  @Nullable Refusal refusal;

  long[] hashes = new long[16];
  int hashCount;

  boolean hasParent;
  long parent;

  /** Unsigned 32-bit ids. Of pairs: the first of the first pair, and the second of each. */
  int[] tokens = new int[64];

  int tokenCount;

  /** Whether the tokens came as pairs. */
  boolean pairs;

  /** Indexes of tokens that came as texts. */
  int[] textTokens = new int[4];

  int textTokenCount;

  long blockSize;
  boolean hasLoraId;
  long loraId;
  int loraNameFrom;
  int loraNameLength = -1;
  Medium medium = Medium.UNTAGGED;
  boolean hasGroup;
  long group;
  AttentionKind attention = AttentionKind.ABSENT;
  int saltFrom;

  /** Length of the cache salt, {@link #NO_TEXT}, or {@link #NOT_A_TEXT}. */
  int saltLength = NO_TEXT;

  /** TensorRT-LLM's window; 0 if it gives none. */
  long window;

  final TextSpans extraKeys = new TextSpans();
  final TextSpans objectKeys = new TextSpans();

  static final int NO_TEXT = -1;
  static final int NOT_A_TEXT = -2;

  void reset() {
    kind = Kind.UNKNOWN;
    refusal = null;
    hashCount = 0;
    hasParent = false;
    parent = 0;
    tokenCount = 0;
    pairs = false;
    textTokenCount = 0;
    blockSize = 0;
    hasLoraId = false;
    loraId = 0;
    loraNameFrom = 0;
    loraNameLength = NO_TEXT;
    medium = Medium.UNTAGGED;
    hasGroup = false;
    group = 0;
    attention = AttentionKind.ABSENT;
    saltFrom = 0;
    saltLength = NO_TEXT;
    window = 0;
    extraKeys.clear();
    objectKeys.clear();
  }

  /** Tokens as the engine counts them: pairs, if it sent pairs. */
  int wireTokens() {
    return pairs ? tokenCount - 1 : tokenCount;
  }

  void roomForHashes(int count) {
    if (hashes.length < count) {
      hashes = new long[Math.max(count, 2 * hashes.length)];
    }
  }

  void roomForTokens(int count) {
    if (tokens.length < count) {
      tokens = Arrays.copyOf(tokens, Math.max(count, 2 * tokens.length));
    }
  }

  void addTextToken(int index) {
    if (textTokenCount == textTokens.length) {
      textTokens = Arrays.copyOf(textTokens, 2 * textTokenCount);
    }
    textTokens[textTokenCount++] = index;
  }
}
