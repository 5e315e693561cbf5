package io.kvrelay.events.zmq;

import java.util.Arrays;

/**
 * What a store event says about its blocks one by one: per block a list of items, each a text that
 * lies in the payload, or something that only its kind is known of. Reusable; not thread safe.
 */
final class TextSpans {
  /** A bare text. */
  static final byte TEXT = 0;

  /** A text with a number. */
  static final byte TEXT_WITH_NUMBER = 1;

  /** A bare number. */
  static final byte NUMBER = 2;

  /** Anything else. */
  static final byte OTHER = 3;

  private int blocks;
  private int items;
  private int[] endOfBlock = new int[16];
  private byte[] kinds = new byte[16];
  private int[] from = new int[16];
  private int[] length = new int[16];
  private long[] numbers = new long[16];

  void clear() {
    blocks = 0;
    items = 0;
  }

  void add(byte kind, int textFrom, int textLength, long number) {
    if (items == kinds.length) {
      kinds = Arrays.copyOf(kinds, 2 * items);
      from = Arrays.copyOf(from, 2 * items);
      length = Arrays.copyOf(length, 2 * items);
      numbers = Arrays.copyOf(numbers, 2 * items);
    }
    kinds[items] = kind;
    from[items] = textFrom;
    length[items] = textLength;
    numbers[items] = number;
    items++;
  }

  void endBlock() {
    if (blocks == endOfBlock.length) {
      endOfBlock = Arrays.copyOf(endOfBlock, 2 * blocks);
    }
    endOfBlock[blocks++] = items;
  }

  /** Number of blocks that something was said about, if only that there is nothing. */
  int blocks() {
    return blocks;
  }

  boolean isEmpty() {
    return items == 0;
  }

  /** Index of a block's first item. */
  int first(int block) {
    return block == 0 || blocks == 0 ? 0 : endOfBlock[Math.min(block, blocks) - 1];
  }

  /** Index after a block's last item. */
  int end(int block) {
    return block < blocks ? endOfBlock[block] : items;
  }

  byte kind(int item) {
    return kinds[item];
  }

  int from(int item) {
    return from[item];
  }

  int length(int item) {
    return length[item];
  }

  long number(int item) {
    return numbers[item];
  }
}
