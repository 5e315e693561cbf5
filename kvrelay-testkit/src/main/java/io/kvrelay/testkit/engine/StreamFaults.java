package io.kvrelay.testkit.engine;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * What can go wrong between an engine and its reader, on command or by chance: live messages are
 * dropped, delayed, duplicated and reordered; replays are truncated, cut off, robbed of their end
 * mark, or never come. Everything passes as it is until told otherwise.
 *
 * <p>Not thread safe.
 */
public final class StreamFaults {
  private final List<byte[][]> delayed = new ArrayList<>();
  private int dropNext;
  private boolean dropping;
  private int duplicateNext;
  private int delayNext;
  private boolean reorder;
  private byte @Nullable [][] swapped;
  private long truncateTo;
  private int cutAfter = -1;
  private boolean endMarkLost;
  private boolean replaysLost;

  /** Creates a controller that changes nothing. */
  public StreamFaults() {}

  /**
   * Drops the next live messages.
   *
   * @param messages how many
   * @return this
   */
  public StreamFaults dropNext(int messages) {
    dropNext = messages;
    return this;
  }

  /**
   * Drops live messages until told otherwise.
   *
   * @param on whether to drop
   * @return this
   */
  public StreamFaults dropping(boolean on) {
    dropping = on;
    return this;
  }

  /**
   * Delivers the next live messages twice.
   *
   * @param messages how many
   * @return this
   */
  public StreamFaults duplicateNext(int messages) {
    duplicateNext = messages;
    return this;
  }

  /**
   * Keeps the next live messages back until {@link #release}.
   *
   * @param messages how many
   * @return this
   */
  public StreamFaults delayNext(int messages) {
    delayNext = messages;
    return this;
  }

  /**
   * Lets the next live message wait for the one after it, and pass behind it.
   *
   * @return this
   */
  public StreamFaults reorderNext() {
    reorder = true;
    return this;
  }

  /**
   * Lets replays begin no earlier than a sequence, as a buffer does that has wrapped.
   *
   * @param firstSequence the oldest sequence held
   * @return this
   */
  public StreamFaults truncateReplays(long firstSequence) {
    truncateTo = firstSequence;
    return this;
  }

  /**
   * Ends the next replay without a word after some of its messages.
   *
   * @param messages how many pass
   * @return this
   */
  public StreamFaults cutNextReplayAfter(int messages) {
    cutAfter = messages;
    return this;
  }

  /**
   * Lets the end marks of replays get lost.
   *
   * @param on whether they do
   * @return this
   */
  public StreamFaults loseEndMarks(boolean on) {
    endMarkLost = on;
    return this;
  }

  /**
   * Lets replays get lost altogether.
   *
   * @param on whether they do
   * @return this
   */
  public StreamFaults loseReplays(boolean on) {
    replaysLost = on;
    return this;
  }

  /**
   * Picks a live fault by chance, most often none.
   *
   * @param random the chance
   */
  public void surprise(Random random) {
    switch (random.nextInt(16)) {
      case 0 -> dropNext(1 + random.nextInt(4));
      case 1 -> delayNext(1 + random.nextInt(3));
      default -> {}
    }
  }

  /**
   * Passes a live message.
   *
   * @param frames the message
   * @return what arrives now, in order
   */
  public List<byte[][]> live(byte[][] frames) {
    List<byte[][]> arrive = new ArrayList<>();
    if (dropping || dropNext > 0) {
      dropNext = Math.max(0, dropNext - 1);
      return arrive;
    }
    if (delayNext > 0) {
      delayNext--;
      delayed.add(frames);
      return arrive;
    }
    if (reorder) {
      reorder = false;
      swapped = frames;
      return arrive;
    }
    arrive.add(frames);
    if (duplicateNext > 0) {
      duplicateNext--;
      arrive.add(frames);
    }
    byte[][] behind = swapped;
    if (behind != null) {
      swapped = null;
      arrive.add(behind);
    }
    return arrive;
  }

  /**
   * Lets delayed live messages through.
   *
   * @return the messages, in the order in which they were sent
   */
  public List<byte[][]> release() {
    List<byte[][]> arrive = new ArrayList<>(delayed);
    delayed.clear();
    return arrive;
  }

  /**
   * Passes the replies of one replay.
   *
   * @param replies what the engine answers
   * @return what arrives, in order
   */
  public List<byte[][]> replay(List<byte[][]> replies) {
    List<byte[][]> arrive = new ArrayList<>();
    if (replaysLost) {
      return arrive;
    }
    for (byte[][] reply : replies) {
      boolean isEnd = reply[reply.length - 1].length == 0;
      long sequence = ByteBuffer.wrap(reply[reply.length - 2]).getLong();
      if (isEnd ? !endMarkLost : sequence >= truncateTo) {
        arrive.add(reply);
      }
    }
    if (cutAfter >= 0) {
      arrive = arrive.subList(0, Math.min(cutAfter, arrive.size()));
      cutAfter = -1;
    }
    return arrive;
  }
}
