package io.kvrelay.cli;

import io.kvrelay.api.AdapterReadiness;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologySnapshot;
import java.io.PrintWriter;
import java.net.URI;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Lines for people: the time, what came, and its content. */
final class TextWatchOutput implements WatchOutput {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss.SSS", Locale.ROOT);

  private final PrintWriter out;
  private final Map<ProducerIdentity, String> names = new HashMap<>();
  private final Map<ProducerIdentity, String> lastLoad = new HashMap<>();

  TextWatchOutput(PrintWriter out) {
    this.out = out;
  }

  @Override
  public boolean isBroken() {
    return out.checkError();
  }

  private void line(String what, String pattern, Object... values) {
    String text = String.format(Locale.ROOT, pattern, values);
    String time = TIME.format(LocalTime.now(ZoneId.systemDefault()));
    out.println(String.format(Locale.ROOT, "%-12s %-10s %s", time, what, text));
  }

  private void more(String pattern, Object... values) {
    out.println(" ".repeat(24) + String.format(Locale.ROOT, pattern, values));
  }

  @Override
  public void info(URI address, RelayIdentity relay) {
    line("info", "relay %s at %s", relay, address);
  }

  @Override
  public void catalog(PoolCatalog catalog, boolean repeated) {
    String revision = Long.toUnsignedString(catalog.revision());
    names.clear();
    catalog.pools().forEach(pool -> names.put(pool.producer(), name(pool)));
    if (repeated) {
      line("catalog", "revision %s, again", revision);
      return;
    }
    line("catalog", "revision %s, %s", revision, count(catalog.pools().size(), "pool"));
    for (PoolDescriptor pool : catalog.pools()) {
      more(
          "%s: pool %s, generation %s, %d buckets, blocks of %s tokens, %s, %s, %s",
          name(pool),
          pool.poolId(),
          Long.toUnsignedString(pool.producer().layoutGeneration()),
          pool.producer().format().bucketCount(),
          Integer.toUnsignedString(pool.querySemantics().kvBlockSize()),
          pool.querySemantics().hashFormat(),
          pool.roles(),
          pool.registrations().stream()
              .map(ModelRegistration::canonicalModelId)
              .collect(Collectors.toList()));
    }
    quarantined(catalog.quarantined());
  }

  private void quarantined(List<QuarantinedEntry> entries) {
    for (QuarantinedEntry entry : entries) {
      String kind = entry.unsupported() ? "unsupported" : "malformed";
      more("quarantined, %s: %s: %s", kind, entry.key(), entry.detail());
    }
  }

  private static String name(PoolDescriptor pool) {
    return pool.servingEndpoint() + "@" + pool.poolId().dcId();
  }

  private static String count(int number, String noun) {
    return number + " " + noun + (number == 1 ? "" : "s");
  }

  @Override
  public void readiness(TopologySnapshot readiness, boolean repeated) {
    String revision = Long.toUnsignedString(readiness.revision());
    if (repeated) {
      line("readiness", "revision %s, again", revision);
      return;
    }
    line("readiness", "revision %s", revision);
    for (TopologyEntry entry : readiness.entries()) {
      List<String> facts = new ArrayList<>();
      facts.add("present " + entry.presentRoles());
      facts.add("missing " + entry.missingRoles());
      if (entry.legacyFallbackActive()) {
        facts.add("any live worker counts");
      }
      for (AdapterReadiness adapter : entry.adapters()) {
        facts.add(adapter.canonicalModelId() + " " + adapter.state());
      }
      more(
          "%s/%s %s: %s",
          entry.namespace(), entry.canonicalModelId(), entry.state(), String.join(", ", facts));
    }
    quarantined(readiness.quarantined());
  }

  /** Windows come every second; one that says nothing new is told in one line. */
  @Override
  public void load(LoadSnapshot load) {
    Map<ProducerIdentity, String> pools = new LinkedHashMap<>();
    load.pools().forEach(pool -> pools.put(pool.producer(), describe(pool)));
    LoadSnapshot.Window window = load.window();
    line(
        "load",
        "window %s%s",
        window == null ? "none" : Long.toUnsignedString(window.sequence()),
        pools.equals(lastLoad) ? ", the same" : "");
    if (!pools.equals(lastLoad)) {
      pools.forEach(
          (producer, text) ->
              more("%s: %s", names.getOrDefault(producer, producer.toString()), text));
      lastLoad.clear();
      lastLoad.putAll(pools);
    }
    quarantined(load.quarantined());
  }

  private static String describe(PoolLoad load) {
    return String.format(
        Locale.ROOT,
        "%s of %s blocks used, %s of %s ranks reported",
        blocks(load.kvUsedBlocks()),
        blocks(load.totalKvBlocks()),
        Integer.toUnsignedString(load.kvObservedRanks()),
        Integer.toUnsignedString(load.kvExpectedRanks()));
  }

  private static String blocks(OptionalLong blocks) {
    return blocks.isPresent() ? Long.toUnsignedString(blocks.getAsLong()) : "unknown";
  }

  @Override
  public void frame(WatchedPool pool, FrameFacts frame) {
    String lag =
        frame.lagMicros().isPresent()
            ? String.format(Locale.ROOT, "%.3f ms", frame.lagMicros().getAsLong() / 1e3)
            : "unknown";
    String sequence = Long.toUnsignedString(frame.sequence());
    String where =
        switch (frame.kind()) {
          case HEARTBEAT -> "at " + sequence;
          case SNAPSHOT_CHUNK ->
              "at " + sequence + ", chunk " + (frame.chunk() + 1) + " of " + frame.chunks();
          case DELTA -> Long.toUnsignedString(frame.baseSequence()) + " -> " + sequence;
        };
    line(
        frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK
            ? "snapshot"
            : frame.kind().name().toLowerCase(Locale.ROOT),
        "%s %s, %d bytes, %s, lag %s",
        name(pool.descriptor()),
        where,
        frame.bytes(),
        count(frame.images(), "image"),
        lag);
  }

  @Override
  public void withdrawn(WatchedPool pool) {
    line("withdrawn", "%s generation %s", name(pool.descriptor()), pool.producer());
  }

  @Override
  public void ended(
      String stream,
      @Nullable WatchedPool pool,
      @Nullable Throwable failure,
      OptionalLong retryMillis) {
    line(
        "ended",
        "%s stream%s: %s%s",
        stream,
        pool == null ? "" : " of " + name(pool.descriptor()),
        failure == null ? "completed" : FailureException.describe(failure),
        retryMillis.isPresent() ? ", again in " + retryMillis.getAsLong() + " ms" : "");
  }
}
