package io.kvrelay.cli.config;

import io.kvrelay.api.Member;
import io.kvrelay.api.Text;
import io.kvrelay.api.deployment.RuntimeConfig;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the event sources of one worker. */
final class EventsReader {
  private static final Pattern PORT = Pattern.compile("(.*:)(\\d{1,5})");
  private static final long MAX_TOKEN = 0xFFFF_FFFFL;

  private final EngineEvents engines;
  private final ConfigProblems problems;
  private final EndpointReader.Shared shared;

  EventsReader(EngineEvents engines, ConfigProblems problems, EndpointReader.Shared shared) {
    this.engines = engines;
    this.problems = problems;
    this.shared = shared;
  }

  List<EventsEntry> read(Section worker, long workerId, RuntimeConfig runtime) {
    List<EventsEntry> entries = new ArrayList<>();
    Set<Integer> ranks = new HashSet<>();
    for (Section section : worker.sections("events", ConfigSection.EVENTS)) {
      for (EventsEntry entry : entries(section, workerId, runtime)) {
        if (!ranks.add(entry.member().dpRank())) {
          section.refuse(
              "rank",
              Integer.toUnsignedString(entry.member().dpRank()),
              "has an event source above");
        }
        check(entry);
        entries.add(entry);
      }
    }
    return entries;
  }

  private void check(EventsEntry entry) {
    if (!engines.engines().contains(entry.engine())) {
      problems.add(
          entry.line(),
          entry.field() + ".engine",
          entry.engine(),
          engines.engines().isEmpty()
              ? "no engine can be read by this build"
              : "must be one of "
                  + String.join(", ", engines.engines().stream().sorted().toList()));
      return;
    }
    String wrong = engines.check(entry);
    if (wrong != null) {
      problems.add(entry.line(), entry.field() + "." + wrong);
    }
  }

  /** One for the given rank; or one for each rank of the worker, on ports one after the other. */
  private List<EventsEntry> entries(Section section, long workerId, RuntimeConfig runtime) {
    if (section.has("rank") || runtime.dataParallelSize() == 1) {
      int rank = WorkerReader.rank(section, runtime);
      return List.of(entry(section, new Member(workerId, rank), 0));
    }
    List<EventsEntry> entries = new ArrayList<>();
    boolean distinctLive = check(section, "live", runtime);
    boolean distinctReplay = check(section, "replay", runtime); // both are looked at
    for (int i = 0; distinctLive && distinctReplay && i < runtime.dataParallelSize(); i++) {
      Member member = new Member(workerId, runtime.dataParallelStartRank() + i);
      entries.add(entry(section, member, i));
    }
    return entries;
  }

  private static boolean check(Section section, String key, RuntimeConfig runtime) {
    String address = section.text(key);
    Matcher parts = PORT.matcher(address == null ? "" : address);
    if (address == null || (parts.matches() && last(parts, runtime) <= 65_535)) {
      return true;
    }
    section.refuse(
        key,
        address,
        "without rank it must end with a port that leaves one to each of the worker's "
            + runtime.dataParallelSize()
            + " ranks");
    return false;
  }

  private static long last(Matcher parts, RuntimeConfig runtime) {
    return Long.parseLong(parts.group(2)) + runtime.dataParallelSize() - 1;
  }

  private static @Nullable String shifted(@Nullable String address, int by) {
    Matcher parts = PORT.matcher(address == null ? "" : address);
    return by == 0 || !parts.matches()
        ? address
        : parts.group(1) + (Integer.parseInt(parts.group(2)) + by);
  }

  private EventsEntry entry(Section section, Member member, int portOffset) {
    String live = section.requiredName("live");
    return new EventsEntry(
        section.line(),
        section.path(),
        shared.kvState(),
        member,
        shared.semantics(),
        section.requiredName("engine"),
        String.valueOf(shifted(live, portOffset)),
        shifted(section.text("replay"), portOffset),
        section.text("topic"),
        section.flag("bind", false),
        adapterIds(section),
        section.has("cache-namespace") ? section.name("cache-namespace", "") : "",
        token(section, "image-token"),
        token(section, "video-token"),
        section.text("multimodal"),
        section.has("check-rank") ? section.flag("check-rank", true) : null,
        count(section, "max-blocks", 1, 1 << 28),
        count(section, "history-events", 0, Integer.MAX_VALUE),
        count(section, "held-batches", 1, Integer.MAX_VALUE));
  }

  private static OptionalLong token(Section section, String key) {
    return section.has(key)
        ? OptionalLong.of(section.number(key, 0, 0, MAX_TOKEN))
        : OptionalLong.empty();
  }

  private static OptionalInt count(Section section, String key, int min, int max) {
    return section.has(key)
        ? OptionalInt.of((int) section.number(key, min, min, max))
        : OptionalInt.empty();
  }

  private static Map<Long, String> adapterIds(Section section) {
    Map<String, String> given = section.texts("adapter-ids");
    Map<Long, String> ids = new HashMap<>();
    if (given != null) {
      given.forEach(
          (id, name) -> {
            if (id.matches("\\d{1,18}") && Text.isValid(name)) {
              ids.put(Long.parseLong(id), name);
            } else {
              section.refuse(
                  "adapter-ids", id + ": " + name, "must map an adapter's number to its name");
            }
          });
    }
    return ids;
  }
}
