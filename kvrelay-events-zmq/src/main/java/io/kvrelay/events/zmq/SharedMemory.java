package io.kvrelay.events.zmq;

import io.kvrelay.api.QuerySemantics;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.EngineBlocks;
import io.kvrelay.engine.hash.PlaceholderTokens;
import io.kvrelay.engine.hash.Xxh3Scratch;
import java.util.HashMap;
import java.util.Map;

/**
 * Working memory that the sources of one thread share: the decoder, and one cutter for each kind of
 * blocks. Not thread safe.
 */
final class SharedMemory {
  private record Kind(QuerySemantics semantics, PlaceholderTokens placeholders) {}

  private final Map<Kind, EngineBlocks> cutters = new HashMap<>();
  private final WireDecoder decoder;
  private final Xxh3Scratch scratch = new Xxh3Scratch();
  private final Tapping tapping = new Tapping();

  SharedMemory(WireLimits limits) {
    this.decoder = new WireDecoder(limits);
  }

  WireDecoder decoder() {
    return decoder;
  }

  Tapping tapping() {
    return tapping;
  }

  Xxh3Scratch scratch() {
    return scratch;
  }

  EngineBlocks of(EngineSource source) {
    return cutters.computeIfAbsent(
        new Kind(
            source.semantics(), new PlaceholderTokens(source.imageToken(), source.videoToken())),
        kind -> new EngineBlocks(new BlockHasher(kind.semantics()), kind.placeholders()));
  }
}
