package io.kvrelay.cli.config;

import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.KvEventSource;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the engines that the file's {@code events} entries describe. Thread safe. */
public interface EngineEvents extends AutoCloseable {
  /** No adapter: every entry is refused. */
  EngineEvents NONE =
      new EngineEvents() {
        @Override
        public Set<String> engines() {
          return Set.of();
        }

        @Override
        public @Nullable String check(EventsEntry entry) {
          return null;
        }

        @Override
        public List<EventSourceAdvertisement> follow(List<EventsEntry> entries) {
          return List.of();
        }

        @Override
        public KvEventSource source() {
          return KvEventSource.NONE;
        }

        @Override
        public void close() {}
      };

  /** Names of the engines that it can read. */
  Set<String> engines();

  /**
   * Looks at an entry of one of its engines without following it.
   *
   * @param entry the entry
   * @return {@code key = value: what is wrong}, or null if it is acceptable
   */
  @Nullable String check(EventsEntry entry);

  /**
   * Follows exactly these sources from now on; one that was followed before and is described alike
   * is not disturbed.
   *
   * @param entries the entries, all of them acceptable
   * @return what is advertised to the relay
   */
  List<EventSourceAdvertisement> follow(List<EventsEntry> entries);

  /** What the relay reads. */
  KvEventSource source();

  /** What became of each source's messages so far; nothing unless the adapter counts. */
  default List<EngineReading> readings() {
    return List.of();
  }

  /** Lets go of every source. */
  @Override
  void close();
}
