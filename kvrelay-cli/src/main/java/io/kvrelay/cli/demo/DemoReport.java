package io.kvrelay.cli.demo;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a run of the demo found, as text for people and as JSON for programs.
 *
 * @param workload the input
 * @param settings the world
 * @param results the policies, in the order they ran
 * @param interrupted whether the run was ended before its input was
 */
public record DemoReport(
    Workload workload, DemoSettings settings, List<PolicyResult> results, boolean interrupted) {
  private static final int LABEL_WIDTH = 22;

  /** Copies the list. */
  public DemoReport {
    results = List.copyOf(results);
  }

  /** A table, and a paragraph about {@code kv} if that ran. No final line end. */
  public String toText() {
    List<String> lines = new ArrayList<>();
    lines.add(
        format(
            "%s: %,d requests, %,d blocks of %d tokens, %,d of them distinct",
            workload.source(),
            workload.requests().size(),
            workload.blocks(),
            workload.blockTokens(),
            workload.distinctBlocks()));
    lines.add(
        format(
            "%d data centers of %d workers with %,d cached blocks each, over %s",
            settings.dcs(), settings.workers(), settings.cacheBlocks(), settings.transport()));
    if (interrupted) {
      lines.add("interrupted: what was measured so far");
    }
    lines.add("");
    lines.add(
        format(
            "%-12s %10s %12s %12s %9s  %s",
            "policy", "requests", "blocks", "hit blocks", "hit ratio", "requests per data center"));
    results.forEach(result -> lines.add(row(result)));
    for (PolicyResult result : results) {
      if (result.kv() != null) {
        lines.add("");
        addKv(lines, result.kv());
      }
    }
    return String.join(System.lineSeparator(), lines);
  }

  private static String row(PolicyResult result) {
    StringBuilder shares = new StringBuilder();
    for (long requests : result.dcRequests()) {
      shares.append(format(" %4.1f%%", 100.0 * requests / Math.max(1, result.requests())));
    }
    return format(
        "%-12s %,10d %,12d %,12d %9.4f %s",
        result.name(),
        result.requests(),
        result.blocks(),
        result.hitBlocks(),
        result.hitRatio(),
        shares);
  }

  private static void addKv(List<String> lines, KvResult kv) {
    lines.add("kv:");
    add(
        lines,
        "published",
        format(
            "%s in %,d deltas (%,d bucket images) after %s of snapshots",
            bytes(kv.deltaBytes()), kv.deltas(), kv.images(), bytes(kv.snapshotBytes())));
    add(lines, "every event instead", bytes(kv.exactEventBytes()));
    add(
        lines,
        "depth after a drain",
        format(
            "%,d checks: %,d too long, %,d too short; %,d blocks omitted",
            kv.depthChecks(), kv.depthInflated(), kv.depthMissed(), kv.omissions()));
    add(
        lines,
        "faults on the way",
        format(
            "%,d batches lost, %,d workers restarted: %,d gaps noticed, %,d recoveries",
            kv.lostBatches(), kv.restarts(), kv.gaps(), kv.recoveries()));
    add(lines, "event to visible", latency(kv.freshnessMicros()));
    add(lines, "one routing decision", latency(kv.routeMicros()));
    add(
        lines,
        "converged",
        kv.converged() ? "yes: every lane equals its producer's filter" : "NO: lanes differ");
  }

  private static void add(List<String> lines, String label, String value) {
    lines.add(format("  %-" + LABEL_WIDTH + "s %s", label, value));
  }

  private static String latency(KvResult.@Nullable Latency micros) {
    return micros == null
        ? "not measured"
        : format("p50 %,.1f us, p99 %,.1f us", micros.p50(), micros.p99());
  }

  private static String bytes(long bytes) {
    return bytes < 1_000_000 ? format("%,.1f kB", bytes / 1e3) : format("%,.1f MB", bytes / 1e6);
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }

  /** One JSON object on one line. */
  public String toJson() {
    StringWriter text = new StringWriter();
    try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
      json.writeStartObject();
      writeInput(json);
      json.writeArrayFieldStart("policies");
      for (PolicyResult result : results) {
        writePolicy(json, result);
      }
      json.writeEndArray();
      json.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException("a StringWriter failed", e);
    }
    return text.toString();
  }

  private void writeInput(JsonGenerator json) throws IOException {
    json.writeObjectFieldStart("input");
    json.writeStringField("source", workload.source());
    json.writeNumberField("requests", workload.requests().size());
    json.writeNumberField("blocks", workload.blocks());
    json.writeNumberField("distinct_blocks", workload.distinctBlocks());
    json.writeNumberField("blocks_per_id", workload.blocksPerId());
    json.writeNumberField("block_tokens", workload.blockTokens());
    json.writeNumberField("dcs", settings.dcs());
    json.writeNumberField("workers", settings.workers());
    json.writeNumberField("cache_blocks", settings.cacheBlocks());
    json.writeStringField("transport", settings.transport());
    json.writeNumberField("seed", settings.seed());
    json.writeNumberField("restarts", settings.restarts());
    json.writeNumberField("loss_percent", settings.lossPercent());
    json.writeBooleanField("interrupted", interrupted);
    json.writeEndObject();
  }

  private static void writePolicy(JsonGenerator json, PolicyResult result) throws IOException {
    json.writeStartObject();
    json.writeStringField("name", result.name());
    json.writeNumberField("requests", result.requests());
    json.writeNumberField("blocks", result.blocks());
    json.writeNumberField("hit_blocks", result.hitBlocks());
    json.writeArrayFieldStart("dc_share");
    for (long requests : result.dcRequests()) {
      json.writeNumber(requests);
    }
    json.writeEndArray();
    json.writeNumberField("hit_ratio", result.hitRatio());
    if (result.kv() != null) {
      writeKv(json, result.kv());
    }
    json.writeEndObject();
  }

  private static void writeKv(JsonGenerator json, KvResult kv) throws IOException {
    json.writeNumberField("snapshot_bytes", kv.snapshotBytes());
    json.writeNumberField("delta_bytes", kv.deltaBytes());
    json.writeNumberField("deltas", kv.deltas());
    json.writeNumberField("images", kv.images());
    json.writeNumberField("exact_event_bytes", kv.exactEventBytes());
    json.writeNumberField("depth_checks", kv.depthChecks());
    json.writeNumberField("depth_inflated", kv.depthInflated());
    json.writeNumberField("depth_missed", kv.depthMissed());
    json.writeNumberField("omissions", kv.omissions());
    json.writeNumberField("lost_batches", kv.lostBatches());
    json.writeNumberField("restarts", kv.restarts());
    json.writeNumberField("gaps", kv.gaps());
    json.writeNumberField("recoveries", kv.recoveries());
    writeLatency(json, "freshness_us", kv.freshnessMicros());
    writeLatency(json, "route_us", kv.routeMicros());
    json.writeBooleanField("converged", kv.converged());
  }

  private static void writeLatency(JsonGenerator json, String name, KvResult.@Nullable Latency us)
      throws IOException {
    json.writeObjectFieldStart(name);
    for (String percentile : List.of("p50", "p99")) {
      if (us == null) {
        json.writeNullField(percentile);
      } else {
        json.writeNumberField(percentile, percentile.equals("p50") ? us.p50() : us.p99());
      }
    }
    json.writeEndObject();
  }
}
