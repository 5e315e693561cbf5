package io.kvrelay.cli.demo;

import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.api.transport.ConnectOptions;
import io.kvrelay.api.transport.ExportOptions;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How large the demo's world is.
 *
 * @param dcs data centers
 * @param workers workers per data center
 * @param cacheBlocks blocks that each worker can keep
 * @param seed of everything random
 * @param transport where relays export: {@code inproc}, {@code grpc}, or an address
 * @param export attributes of every export
 * @param connect attributes of every connection
 * @param restarts workers that restart in the course of the input
 * @param lossPercent of a hundred batches of events, how many are lost on their way to the relay
 */
public record DemoSettings(
    int dcs,
    int workers,
    int cacheBlocks,
    long seed,
    String transport,
    Map<String, Object> export,
    Map<String, Object> connect,
    int restarts,
    double lossPercent) {
  /** Least blocks that a worker's default cache holds. */
  private static final int MIN_CACHE_BLOCKS = 16;

  /**
   * Settings for an input. Unless it is given, the cache is so large that all workers together hold
   * a third of the input's distinct blocks.
   *
   * @param workload the input
   * @param dcs data centers
   * @param workers workers per data center
   * @param cacheBlocks blocks per worker, or null for the default
   * @param seed of everything random
   * @param transport where relays export
   * @return the settings
   */
  public static DemoSettings of(
      Workload workload,
      int dcs,
      int workers,
      @Nullable Integer cacheBlocks,
      long seed,
      String transport) {
    long third = workload.distinctBlocks() / 3 / ((long) dcs * workers);
    int blocks = cacheBlocks != null ? cacheBlocks : (int) Math.max(MIN_CACHE_BLOCKS, third);
    return new DemoSettings(dcs, workers, blocks, seed, transport);
  }

  /** A world whose transport needs no attributes. */
  DemoSettings(int dcs, int workers, int cacheBlocks, long seed, String transport) {
    this(dcs, workers, cacheBlocks, seed, transport, Map.of(), Map.of(), 0, 0);
  }

  /**
   * The same world with attributes of its transport.
   *
   * @param exports attributes of every export
   * @param connections attributes of every connection
   * @return the settings
   */
  public DemoSettings with(Map<String, Object> exports, Map<String, Object> connections) {
    return new DemoSettings(
        dcs, workers, cacheBlocks, seed, transport, exports, connections, restarts, lossPercent);
  }

  /**
   * The same world with faults.
   *
   * @param restarting workers that restart in the course of the input
   * @param percentLost of a hundred batches of events, how many are lost on their way to the relay
   * @return the settings
   */
  public DemoSettings withFaults(int restarting, double percentLost) {
    return new DemoSettings(
        dcs, workers, cacheBlocks, seed, transport, export, connect, restarting, percentLost);
  }

  ExportOptions exportOptions(RelayRuntime runtime) {
    return ExportOptions.defaults(runtime).with(export);
  }

  ConnectOptions connectOptions(RelayRuntime runtime) {
    return ConnectOptions.defaults(runtime).with(connect);
  }
}
