package io.kvrelay.cli.config;

import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.KvEventSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Engines that are advertised, and from which nothing ever comes. */
public class FakeEngines implements EngineEvents {
  /** What was to be followed, one list each time. */
  public final List<List<EventsEntry>> followed = new ArrayList<>();

  /** What following ends with, if with anything. */
  public Throwable failure;

  /** How often it was let go. */
  public int closed;

  @Override
  public Set<String> engines() {
    return Set.of("vllm", "sglang", "trtllm");
  }

  @Override
  public String check(EventsEntry entry) {
    return entry.live().startsWith("tcp://") ? null : "live = " + entry.live() + ": must be tcp";
  }

  @Override
  public List<EventSourceAdvertisement> follow(List<EventsEntry> entries) {
    if (failure instanceof RuntimeException defect) {
      throw defect;
    } else if (failure instanceof Error defect) {
      throw defect;
    }
    followed.add(entries);
    return entries.stream()
        .map(
            entry ->
                new EventSourceAdvertisement(
                    entry.kvStateEndpoint(),
                    entry.member(),
                    entry.live().hashCode(),
                    entry.replay(),
                    entry.live()))
        .toList();
  }

  /** One message from each engine that is followed. */
  @Override
  public List<EngineReading> readings() {
    if (followed.isEmpty()) {
      return List.of();
    }
    return followed.get(followed.size() - 1).stream()
        .map(
            entry ->
                new EngineReading(
                    entry.kvStateEndpoint(),
                    entry.member(),
                    entry.live(),
                    Map.of("messages", 1L, "events.stored.untagged", 2L, "gaps", 0L)))
        .toList();
  }

  @Override
  public KvEventSource source() {
    return KvEventSource.NONE;
  }

  @Override
  public void close() {
    closed++;
  }
}
