package io.kvrelay.engine.hash;

/**
 * The token ids that a model's engine writes where an image or a video stands. Their runs are
 * replaced by pad values before a block is hashed, so that an engine with placeholders and one with
 * pad tokens name a block alike.
 *
 * @param imageToken unsigned 32-bit token id, or {@link #ABSENT}
 * @param videoToken unsigned 32-bit token id, or {@link #ABSENT}
 */
public record PlaceholderTokens(long imageToken, long videoToken) {
  /** The model has no such token. */
  public static final long ABSENT = -1;

  /** A model without placeholder tokens. */
  public static final PlaceholderTokens NONE = new PlaceholderTokens(ABSENT, ABSENT);

  /**
   * Checks the ids.
   *
   * @throws IllegalArgumentException if one is neither absent nor an unsigned 32-bit value
   */
  public PlaceholderTokens {
    check(imageToken, "imageToken");
    check(videoToken, "videoToken");
  }

  private static void check(long token, String field) {
    if (token < ABSENT || token > 0xFFFF_FFFFL) {
      throw new IllegalArgumentException(
          field + " = " + token + ": must be -1 or an unsigned 32-bit token id");
    }
  }

  /**
   * Writes pad values over the placeholder runs of one window, if the rules allow it.
   *
   * @param window the tokens; changed only if the result is true
   * @param length number of tokens
   * @param objects the hashes of the block's objects, in their order
   * @param from index of the first object
   * @param to index after the last one
   * @return true if the window now names its objects itself; false if it must be hashed natively,
   *     with the objects' hashes
   */
  boolean replace(int[] window, int length, long[] objects, int from, int to) {
    if (from == to) {
      return false;
    }
    return videoToken == ABSENT
        ? replaceImages(window, length, objects, from, to)
        : replaceExactly(window, length, objects, from, to);
  }

  /**
   * Without a video token each image run takes one object, and runs beyond the objects reuse the
   * last.
   */
  private boolean replaceImages(int[] window, int length, long[] objects, int from, int to) {
    int object = from - 1;
    boolean inRun = false;
    for (int i = 0; i < length; i++) {
      boolean image = isImage(window[i]);
      if (image) {
        if (!inRun && object < to - 1) {
          object++;
        }
        window[i] = Multimodal.padValue(objects[object]);
      }
      inRun = image;
    }
    return object >= from;
  }

  /** With a video token only an exact match of groups and objects counts. */
  private boolean replaceExactly(int[] window, int length, long[] objects, int from, int to) {
    if (imageToken == videoToken || groups(window, length) != to - from) {
      return false;
    }
    int object = from - 1;
    boolean inImageRun = false;
    boolean inVideoGroup = false;
    for (int i = 0; i < length; i++) {
      boolean image = isImage(window[i]);
      boolean video = isVideo(window[i]);
      if ((image && !inImageRun) || (video && !inVideoGroup)) {
        object++;
      }
      inVideoGroup = video || (inVideoGroup && !image);
      inImageRun = image;
      if (image || video) {
        window[i] = Multimodal.padValue(objects[object]);
      }
    }
    return true;
  }

  /** An image run is a group; video runs are one group until an image run separates them. */
  private int groups(int[] window, int length) {
    int groups = 0;
    boolean inImageRun = false;
    boolean inVideoGroup = false;
    for (int i = 0; i < length; i++) {
      boolean image = isImage(window[i]);
      boolean video = isVideo(window[i]);
      if ((image && !inImageRun) || (video && !inVideoGroup)) {
        groups++;
      }
      inVideoGroup = video || (inVideoGroup && !image);
      inImageRun = image;
    }
    return groups;
  }

  private boolean isImage(int token) {
    return (token & 0xFFFF_FFFFL) == imageToken;
  }

  private boolean isVideo(int token) {
    return (token & 0xFFFF_FFFFL) == videoToken;
  }
}
