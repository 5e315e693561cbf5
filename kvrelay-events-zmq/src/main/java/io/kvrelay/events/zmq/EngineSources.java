package io.kvrelay.events.zmq;

import io.kvrelay.api.Member;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Plans of sources: a worker's ranks on consecutive ports, and the checks that a plan must pass.
 */
public final class EngineSources {
  private EngineSources() {}

  /**
   * The sources of a worker's data-parallel ranks. Engines add the rank to the port of either
   * address.
   *
   * @param rankZero the source of rank 0
   * @param ranks how many ranks there are, positive
   * @return the sources, rank 0 first
   * @throws IllegalArgumentException if publishers and replay sockets would share a port, or a rank
   *     can have no address; the message names the value
   */
  public static List<EngineSource> ofRanks(EngineSource rankZero, int ranks) {
    if (ranks < 1) {
      throw new IllegalArgumentException("ranks = " + ranks + ": must be positive");
    }
    String address = rankZero.address();
    String replayAddress = rankZero.replayAddress();
    String collision = Addresses.collision(address, replayAddress, ranks);
    if (collision != null) {
      throw new IllegalArgumentException(
          "replayAddress = \"" + replayAddress + "\", ranks = " + ranks + ": " + collision);
    }
    List<EngineSource> sources = new ArrayList<>(ranks);
    for (int rank = 0; rank < ranks; rank++) {
      sources.add(ofRank(rankZero, rank));
    }
    return sources;
  }

  private static EngineSource ofRank(EngineSource rankZero, int rank) {
    Member first = rankZero.member();
    String replayAddress = rankZero.replayAddress();
    EngineSource.Builder builder =
        EngineSource.builder(
            rankZero.kvStateEndpoint(),
            new Member(first.workerId(), first.dpRank() + rank),
            Addresses.ofRank("address", rankZero.address(), rank),
            rankZero.semantics());
    return rankZero
        .copyTo(builder)
        .replayAddress(
            replayAddress == null ? null : Addresses.ofRank("replayAddress", replayAddress, rank))
        .build();
  }

  /**
   * Checks that sources can be read side by side.
   *
   * @param sources all sources of one process
   * @throws IllegalArgumentException if two of them are one rank, read one stream, or an address is
   *     one source's publisher and another's replay socket; the message names both
   */
  public static void check(List<EngineSource> sources) {
    Map<String, EngineSource> members = new HashMap<>();
    Map<String, EngineSource> publishers = new HashMap<>();
    for (EngineSource source : sources) {
      refuse(
          members.put(source.kvStateEndpoint() + " " + source.member(), source),
          source,
          "are one rank");
      refuse(
          publishers.put(source.address() + " " + source.topic(), source),
          source,
          "read one stream");
    }
    sharedAddresses(sources);
  }

  private static void sharedAddresses(List<EngineSource> sources) {
    Map<String, EngineSource> byAddress = new HashMap<>();
    for (EngineSource source : sources) {
      EngineSource other = byAddress.put(source.address(), source);
      if (other != null && (other.topic() == null || source.topic() == null)) {
        refuse(other, source, "read one address, and one of them takes every topic");
      }
      if (other != null && other.bind() != source.bind()) {
        refuse(other, source, "share an address that only one of them binds");
      }
    }
    Map<String, EngineSource> byReplay = new HashMap<>();
    for (EngineSource source : sources) {
      String replay = source.replayAddress();
      if (replay != null) {
        refuse(byReplay.put(replay, source), source, "replay from one address");
        refuse(byAddress.get(replay), source, "use " + replay + " to publish and to replay");
      }
    }
  }

  private static void refuse(@Nullable EngineSource other, EngineSource source, String why) {
    if (other != null) {
      throw new IllegalArgumentException("sources " + other + " and " + source + " " + why);
    }
  }
}
