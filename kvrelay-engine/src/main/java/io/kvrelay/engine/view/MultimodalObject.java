package io.kvrelay.engine.view;

/**
 * One token range of one multimodal object of a request. Ranges of one hash belong to one object.
 *
 * @param hash the object's hash; {@code Multimodal.mmHash} derives it from an identifier
 * @param startToken first token of the range
 * @param endToken token after the last one
 */
public record MultimodalObject(long hash, int startToken, int endToken) {
  /**
   * Checks the range.
   *
   * @param hash the object's hash
   * @param startToken first token of the range
   * @param endToken token after the last one
   * @throws IllegalArgumentException if the range is negative
   */
  public MultimodalObject {
    if (startToken < 0 || endToken < startToken) {
      throw new IllegalArgumentException(
          "range = [" + startToken + ", " + endToken + "): must be within the request");
    }
  }
}
