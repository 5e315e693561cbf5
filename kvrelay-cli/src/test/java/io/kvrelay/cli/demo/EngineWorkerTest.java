package io.kvrelay.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EngineWorkerTest {
  private static final Member MEMBER = new Member(1, 0);

  private final LongIntMap owners = new LongIntMap(16);
  private final List<KvEvent> events = new ArrayList<>();

  private static int execute(EngineWorker worker, List<KvEvent> events, long... locals) {
    return worker.execute(0, Prompt.of(locals), events::add);
  }

  @Test
  void storesWhatItComputedUnderTheLastServedBlock() {
    EngineWorker worker = new EngineWorker(MEMBER, 10, 42, owners);
    assertThat(execute(worker, events, 1, 2)).isZero();
    assertThat(execute(worker, events, 1, 2, 3, 4)).isEqualTo(2);
    assertThat(events).extracting(KvEvent::kind).containsOnly(KvEvent.Kind.STORED);
    KvEvent first = events.get(0);
    KvEvent second = events.get(1);
    assertThat(first.hasParent()).isFalse();
    assertThat(first.startPosition()).isZero();
    assertThat(second.parentHash()).isEqualTo(first.engineHash(1));
    assertThat(second.localHashes()).containsExactly(3, 4);
    assertThat(second.eventId()).isEqualTo(1);
    assertThat(worker.load().at(0)).isEqualTo(4);
  }

  @Test
  void sayNothingWhenEverythingIsServed() {
    EngineWorker worker = new EngineWorker(MEMBER, 10, 42, owners);
    execute(worker, events, 1, 2);
    events.clear();
    assertThat(execute(worker, events, 1, 2)).isEqualTo(2);
    assertThat(execute(worker, events)).isZero();
    assertThat(events).isEmpty();
  }

  @Test
  void keepsTheBeginningOfARequestLongerThanTheCache() {
    EngineWorker worker = new EngineWorker(MEMBER, 3, 42, owners);
    assertThat(execute(worker, events, 1, 2, 3, 4, 5)).isZero();
    assertThat(execute(worker, events, 1, 2, 3, 4, 5)).isEqualTo(3);
    assertThat(events).hasSize(1);
    assertThat(worker.load().at(0)).isEqualTo(5 + 2);
  }

  @Test
  void workersNameTheSameBlockDifferently() {
    execute(new EngineWorker(MEMBER, 3, 42, owners), events, 1);
    execute(new EngineWorker(new Member(2, 0), 3, 43, owners), events, 1);
    assertThat(events.get(0).engineHash(0)).isNotEqualTo(events.get(1).engineHash(0));
    assertThat(owners.get(SequenceHashes.root(1))).isEqualTo(2);
  }

  @Test
  void clearEmptiesItWithOneEvent() {
    EngineWorker worker = new EngineWorker(MEMBER, 3, 42, owners);
    execute(worker, events, 1, 2);
    worker.clear(events::add);
    assertThat(events.get(1)).isEqualTo(KvEvent.cleared(MEMBER, 1).build());
    assertThat(owners.size()).isZero();
    assertThat(execute(worker, events, 1, 2)).isZero();
  }

  /** The stream is read by somebody who is as strict as a relay. */
  @Test
  void theEventsAloneTellExactlyWhatItHolds() {
    SplittableRandom random = Seed.random();
    EngineWorker worker = new EngineWorker(MEMBER, 30, random.nextLong(), owners);
    StrictReader reader = new StrictReader();
    for (int i = 0; i < 3_000; i++) {
      long[] locals = random.longs(random.nextInt(9), 1, 4).toArray();
      execute(worker, events, locals);
      if (random.nextInt(200) == 0) {
        worker.clear(events::add);
      }
      events.forEach(reader::read);
      events.clear();
      Set<Long> held = new HashSet<>(reader.sequences.values());
      assertThat(owners.size()).isEqualTo(held.size());
      assertThat(held).allMatch(owners::contains);
    }
  }

  private static final class StrictReader {
    private final Map<Long, Long> sequences = new HashMap<>();
    private long nextEventId;

    void read(KvEvent event) {
      assertThat(event.eventId()).isEqualTo(nextEventId++);
      switch (event.kind()) {
        case CLEARED -> sequences.clear();
        case REMOVED -> {
          for (int i = 0; i < event.length(); i++) {
            assertThat(sequences.remove(event.engineHash(i))).isNotNull();
          }
        }
        case STORED -> store(event);
      }
    }

    private void store(KvEvent event) {
      Long previous = event.hasParent() ? sequences.get(event.parentHash()) : null;
      assertThat(previous != null).as("parent is held").isEqualTo(event.hasParent());
      for (int i = 0; i < event.length(); i++) {
        long local = event.localHash(i);
        previous =
            previous == null
                ? SequenceHashes.root(local)
                : Long.valueOf(SequenceHashes.child(previous, local));
        assertThat(sequences.put(event.engineHash(i), previous)).isNull();
      }
    }
  }
}
