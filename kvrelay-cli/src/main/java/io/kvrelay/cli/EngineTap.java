package io.kvrelay.cli;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.cli.replay.JsonEventWriter;
import io.kvrelay.events.zmq.SourceStatistics;
import io.kvrelay.events.zmq.TappedBatch;
import java.io.IOException;
import java.io.Writer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Listens to one engine's stream, shows it, and records it if wanted. Thread safe. */
final class EngineTap implements KvEventListener {
  private final TapOutput output;
  private final @Nullable Writer recording;

  // Guarded by this.
  private @Nullable IOException failed;
  private @Nullable RelayException lost;
  private int blockSize;
  private long publisher;
  private long ratesAt = System.nanoTime();
  private long batches;
  private long blocks;

  EngineTap(TapOutput output, @Nullable Writer recording) {
    this.output = output;
    this.recording = recording;
  }

  /** What the first store said; 0 before. */
  synchronized int blockSize() {
    return blockSize;
  }

  synchronized void onBatch(TappedBatch batch) {
    output.batch(batch);
    for (TappedBatch.Event event : batch.events()) {
      boolean tells = event.refusal() == null && event.blocks() > 0 && event.tokens() > 0;
      if (blockSize == 0 && tells && event.blockSize() > 0) {
        blockSize = (int) Math.min(event.blockSize(), Integer.MAX_VALUE);
      }
    }
  }

  @Override
  public synchronized void onBatch(KvEventBatch batch) {
    Writer file = recording;
    if (file == null || failed != null) {
      return;
    }
    try {
      if (publisher != 0 && publisher != batch.publisherId()) {
        // The stream was begun again with the right block size: what came before does not count.
        JsonEventWriter.write(file, KvEvent.cleared(batch.events().get(0).member(), 0).build());
      }
      publisher = batch.publisherId();
      for (KvEvent event : batch.events()) {
        JsonEventWriter.write(file, event);
      }
      file.flush();
    } catch (IOException e) {
      failed = e;
    }
  }

  @Override
  public synchronized void onDiscontinuity(long publisherId, String reason) {
    output.trust(SourceTrust.UNKNOWN, reason);
  }

  @Override
  public synchronized void onTrust(long publisherId, SourceTrust trust, String reason) {
    output.trust(trust, reason);
  }

  @Override
  public synchronized void onFailure(RelayException error) {
    lost = error;
  }

  /** Throws what another thread has met. */
  synchronized void check() throws IOException {
    if (failed != null) {
      throw failed;
    }
    if (lost != null) {
      throw FailureException.of("the stream", lost);
    }
  }

  synchronized void rates(List<SourceStatistics> statistics) {
    if (statistics.isEmpty()) {
      return;
    }
    SourceStatistics now = statistics.get(0);
    long time = System.nanoTime();
    double seconds = Math.max(1e-3, (time - ratesAt) / 1e9);
    long batchesNow = now.counter("batches");
    long blocksNow = now.counter("emitted.blocks");
    output.rates(
        seconds,
        Math.max(0, batchesNow - batches) / seconds,
        Math.max(0, blocksNow - blocks) / seconds,
        now);
    ratesAt = time;
    batches = batchesNow;
    blocks = blocksNow;
  }
}
