package io.kvrelay.cli.demo;

/** Somebody's knowledge of how much of a request each data center already holds. */
interface DepthOracle {
  /**
   * Looks a request up.
   *
   * @param prompt the request
   * @param depths receives the number of leading blocks believed present, per data center
   */
  void depths(Prompt prompt, int[] depths);
}
