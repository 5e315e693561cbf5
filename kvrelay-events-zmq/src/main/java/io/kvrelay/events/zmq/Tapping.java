package io.kvrelay.events.zmq;

import io.kvrelay.api.Member;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Copies batches for those who look at a stream; costs nothing while nobody does. */
final class Tapping {
  private static final System.Logger LOG = System.getLogger(Tapping.class.getName());

  private volatile @Nullable Consumer<TappedBatch> consumer;

  void to(@Nullable Consumer<TappedBatch> newConsumer) {
    consumer = newConsumer;
  }

  void take(Member member, long sequence, boolean replayed, WireBatch batch) {
    Consumer<TappedBatch> current = consumer;
    if (current == null) {
      return;
    }
    try {
      show(current, member, sequence, replayed, batch);
    } catch (RuntimeException e) {
      LOG.log(System.Logger.Level.ERROR, "who looks at a stream threw, and is shown no more", e);
      consumer = null;
    }
  }

  private static void show(
      Consumer<TappedBatch> current,
      Member member,
      long sequence,
      boolean replayed,
      WireBatch batch) {
    List<TappedBatch.Event> events = new ArrayList<>(batch.size());
    for (int i = 0; i < batch.size(); i++) {
      events.add(event(batch.get(i), batch.payload()));
    }
    OptionalInt rank = batch.hasRank ? OptionalInt.of(batch.rank) : OptionalInt.empty();
    current.accept(new TappedBatch(member, sequence, replayed, batch.timestamp, rank, events));
  }

  private static TappedBatch.Event event(WireEvent event, byte[] payload) {
    Refusal refusal = event.refusal;
    int blocks = refusal == null ? event.hashCount : 0;
    return new TappedBatch.Event(
        event.kind.name().toLowerCase(Locale.ROOT),
        refusal == null ? null : refusal.label(),
        event.medium.label(),
        blocks,
        refusal == null && event.tokenCount > 0 ? event.wireTokens() : 0,
        event.blockSize,
        event.hasParent,
        event.parent,
        blocks == 0 ? 0 : event.hashes[0],
        blocks == 0 ? 0 : event.hashes[blocks - 1],
        event.loraNameLength > 0
            ? new String(payload, event.loraNameFrom, event.loraNameLength, StandardCharsets.UTF_8)
            : null,
        event.hasGroup ? event.group : -1);
  }
}
