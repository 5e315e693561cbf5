package io.kvrelay.cli.config;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.events.zmq.EngineKind;
import io.kvrelay.events.zmq.EngineSource;
import io.kvrelay.events.zmq.MultimodalRule;
import io.kvrelay.events.zmq.ZmqEventSource;
import io.kvrelay.events.zmq.ZmqOptions;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads engines' own event streams: vLLM, SGLang, TensorRT-LLM. Thread safe. */
public final class ZmqEngines implements EngineEvents {
  private static final System.Logger LOG = System.getLogger(ZmqEngines.class.getName());

  /** Keys of the file, by the names that the adapter's messages begin with. */
  private static final Map<String, String> KEYS =
      Map.of(
          "address", "live",
          "replayAddress", "replay",
          "imageToken", "image-token",
          "videoToken", "video-token",
          "maxBlocks", "max-blocks",
          "historyEvents", "history-events",
          "heldBatches", "held-batches");

  private static final Map<String, MultimodalRule> RULES =
      Arrays.stream(MultimodalRule.values())
          .collect(
              Collectors.toMap(
                  rule -> rule.name().toLowerCase(Locale.ROOT).replace('_', '-'), rule -> rule));

  private final SystemRuntime runtime = SystemRuntime.create(1);
  private final ZmqEventSource source =
      ZmqEventSource.start(List.of(), ZmqOptions.DEFAULT, runtime);
  private boolean followed;

  /** Reads nothing yet. */
  public ZmqEngines() {}

  @Override
  public Set<String> engines() {
    return Arrays.stream(EngineKind.values())
        .map(EngineKind::configName)
        .collect(Collectors.toSet());
  }

  @Override
  public @Nullable String check(EventsEntry entry) {
    String rule = entry.multimodal();
    if (rule != null && !RULES.containsKey(rule)) {
      return "multimodal = "
          + rule
          + ": must be one of "
          + RULES.keySet().stream().sorted().collect(Collectors.joining(", "));
    }
    if (entry.live().startsWith("ipc://") && entry.member().dpRank() > 0) {
      return "live = " + entry.live() + ": engines give an ipc address to rank 0 only";
    }
    try {
      sourceOf(entry);
      return null;
    } catch (IllegalArgumentException e) {
      return inTheFilesWords(String.valueOf(e.getMessage()));
    }
  }

  private static String inTheFilesWords(String message) {
    int end = message.indexOf(' ');
    String key = end < 0 ? null : KEYS.get(message.substring(0, end));
    return key == null ? message : key + message.substring(end).replace("\"", "");
  }

  private static EngineSource sourceOf(EventsEntry entry) {
    EngineKind engine = EngineKind.ofName(entry.engine());
    EngineSource.Builder builder =
        EngineSource.builder(
                entry.kvStateEndpoint(), entry.member(), entry.live(), entry.semantics())
            .engine(engine == null ? EngineKind.VLLM : engine)
            .replayAddress(entry.replay())
            .topic(entry.topic())
            .bind(entry.bind())
            .adapters(entry.adapterIds())
            .cacheNamespace(entry.cacheNamespace())
            .placeholderTokens(entry.imageToken().orElse(-1), entry.videoToken().orElse(-1));
    String rule = entry.multimodal();
    MultimodalRule known = rule == null ? null : RULES.get(rule);
    if (known != null) {
      builder.multimodalRule(known);
    }
    Boolean checked = entry.checkRank();
    if (checked != null) {
      builder.rankChecked(checked);
    }
    entry.maxBlocks().ifPresent(builder::maxBlocks);
    entry.historyEvents().ifPresent(builder::historyEvents);
    entry.heldBatches().ifPresent(builder::heldBatches);
    return builder.build();
  }

  /**
   * {@inheritDoc}
   *
   * <p>An address to be bound that cannot be had fails the first call. Later ones keep what can be
   * kept, and say so in the log.
   */
  @Override
  public synchronized List<EventSourceAdvertisement> follow(List<EventsEntry> entries) {
    List<EngineSource> sources = entries.stream().map(ZmqEngines::sourceOf).toList();
    try {
      List<EventSourceAdvertisement> advertised = source.replaceSources(sources);
      followed = true;
      return advertised;
    } catch (IllegalArgumentException | RelayException e) {
      if (!followed) {
        throw e;
      }
      LOG.log(Level.ERROR, "event sources of the file are not read: " + e.getMessage());
      return source.advertisements();
    }
  }

  @Override
  public KvEventSource source() {
    return source;
  }

  @Override
  public List<EngineReading> readings() {
    return source.statistics().stream()
        .map(
            one ->
                new EngineReading(
                    one.kvStateEndpoint(), one.member(), one.address(), one.counters()))
        .toList();
  }

  @Override
  public void close() {
    source.close();
    runtime.close();
  }
}
