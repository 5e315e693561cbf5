package io.kvrelay.cli;

import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.events.zmq.SourceStatistics;
import io.kvrelay.events.zmq.TappedBatch;
import java.io.PrintWriter;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Map;

/** A line for each event, for people. */
final class TextTapOutput implements TapOutput {
  private final PrintWriter out;

  TextTapOutput(PrintWriter out) {
    this.out = out;
  }

  private void line(String text) {
    out.println(LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.MILLIS) + " " + text);
  }

  @Override
  public void batch(TappedBatch batch) {
    String number =
        "#" + Long.toUnsignedString(batch.sequence()) + (batch.replayed() ? " replayed" : "");
    if (batch.events().isEmpty()) {
      line(number + " nothing");
    }
    batch.events().forEach(event -> line(number + " " + text(event)));
  }

  private static String text(TappedBatch.Event event) {
    if (event.refusal() != null) {
      return event.kind() + " refused: " + event.refusal();
    }
    StringBuilder text = new StringBuilder(event.kind());
    if (event.blocks() > 0) {
      text.append(' ').append(event.blocks()).append(event.blocks() == 1 ? " block" : " blocks");
      if (event.blockSize() > 0) {
        text.append(" of ").append(event.blockSize());
      }
      text.append(", ").append(hash(event.firstBlock()));
      if (event.blocks() > 1) {
        text.append("..").append(hash(event.lastBlock()));
      }
    }
    if (event.kind().equals("stored")) {
      text.append(", ").append(event.tokens()).append(" tokens");
      text.append(event.hasParent() ? ", after " + hash(event.parent()) : ", at the beginning");
    }
    if (!event.medium().equals("untagged")) {
      text.append(", ").append(event.medium());
    }
    if (event.adapter() != null) {
      text.append(", adapter ").append(event.adapter());
    }
    return event.group() > 0 ? text + ", group " + event.group() : text.toString();
  }

  private static String hash(long hash) {
    return String.format(Locale.ROOT, "%016x", hash);
  }

  @Override
  public void trust(SourceTrust trust, String reason) {
    line(trust + (reason.isEmpty() ? "" : ": " + reason));
  }

  @Override
  public void rates(double seconds, double batches, double blocks, SourceStatistics now) {
    line(
        String.format(
            Locale.ROOT,
            "%.1f batches/s, %.1f blocks/s over %.1f s; %d blocks held; %d gaps, %d batches missed",
            batches,
            blocks,
            seconds,
            now.blocks(),
            now.counter("gaps"),
            now.counter("gaps.batches_missed")));
    StringBuilder refused = new StringBuilder();
    for (Map.Entry<String, Long> counter : now.counters().entrySet()) {
      if (counter.getKey().startsWith("refused.") && counter.getValue() > 0) {
        refused.append(' ').append(counter.getKey().substring("refused.".length()));
        refused.append('=').append(counter.getValue());
      }
    }
    if (refused.length() > 0) {
      line("refused:" + refused);
    }
  }
}
