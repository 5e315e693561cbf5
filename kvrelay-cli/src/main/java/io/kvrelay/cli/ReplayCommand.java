package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.cli.replay.EventFile;
import io.kvrelay.cli.replay.EventFileException;
import io.kvrelay.cli.replay.Replay;
import io.kvrelay.cli.replay.ServedReplay;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.pool.PoolStatistics;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kvrelay replay}. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Feeds recorded KV events to a pool, and prints what came of them: exact ownership, the"
          + " filter, errors, speed.",
      ""
    },
    footer = {
      "",
      "EVENTS is .jsonl, one router event in its JSON form a line, or .bin, little-endian records:"
          + " kind u8 (1 stored, 2 removed), worker u64, rank u32, event id u64, has-parent u8,"
          + " parent u64, n u32, then n x (engine hash u64, local hash u64) or n x engine hash u64."
    })
final class ReplayCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(paramLabel = "EVENTS", description = "The recording.")
  private Path events = Path.of("");

  @Option(
      names = "--expected-blocks",
      paramLabel = "N",
      defaultValue = "1048576",
      description = "Unique blocks the filter is sized for (default: ${DEFAULT-VALUE}).")
  private long expectedBlocks;

  @Option(
      names = "--flush-every",
      paramLabel = "N",
      defaultValue = "16",
      description = "Events that close a publication window (default: ${DEFAULT-VALUE}).")
  private int flushEvery;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "Times to run it, each on a new pool; the fastest is printed (default:"
              + " ${DEFAULT-VALUE}).")
  private int rounds;

  @Option(
      names = "--dump",
      paramLabel = "FILE",
      description = "Where to write the filter's words at the end, little-endian.")
  private @Nullable Path dump;

  @Option(names = "--json", description = "Print one JSON object.")
  private boolean json;

  @Option(
      names = "--bind",
      paramLabel = "URI",
      description =
          "Serve the pool meanwhile under this address, such as grpc://127.0.0.1:0; the address is"
              + " told on standard error before the first event.")
  private @Nullable String bind;

  @ArgGroup(exclusive = false, heading = "With --bind:%n")
  private ServeOptions serve = new ServeOptions();

  @Mixin private TlsOptions tls = new TlsOptions();

  @Override
  public Integer call() {
    CkfConfig config = config();
    String address = bind;
    if (address != null) {
      return serve(address, config);
    }
    if (serve.isGiven() || tls.isGiven()) {
      throw new InputException(
          serve.isGiven() ? serve.names() + " need --bind" : "TLS needs --bind");
    }
    List<KvEvent> recorded = load();
    Replay.Result best = Replay.run(recorded, config, flushEvery);
    for (int round = 1; round < rounds; round++) {
      Replay.Result next = Replay.run(recorded, config, flushEvery);
      best = next.nanos() < best.nanos() ? next : best;
    }
    print(recorded, best);
    return 0;
  }

  private int serve(String text, CkfConfig config) {
    if (rounds != 1) {
      throw new InputException("--rounds = " + rounds + ": only 1 with --bind");
    }
    URI address = RelayAddress.parse("--bind", text);
    ServedReplay.Settings settings = serve.settings(address, tls.server(address));
    List<KvEvent> recorded = load();
    PrintWriter err = spec.commandLine().getErr();
    try (Interrupt interrupt = new Interrupt()) {
      ServedReplay.Result result =
          ServedReplay.run(
              recorded,
              config,
              flushEvery,
              settings,
              where -> err.println("kvrelay replay: serving " + where),
              () -> interrupt.isRequested() || Thread.currentThread().isInterrupted());
      print(recorded.subList(0, result.applied()), result.outcome());
    } catch (RelayException e) {
      if (e.reason() == RelayErrorReason.INVALID_CONFIGURATION
          || e.reason() == RelayErrorReason.ADDRESS_UNAVAILABLE) {
        throw new InputException("--bind = " + text + ": " + e.getMessage(), e);
      }
      throw FailureException.of("--bind = " + text, e);
    } catch (IllegalArgumentException e) {
      // Credentials are files until the transport reads them as certificates and keys.
      throw new InputException("--bind = " + text + ": " + e.getMessage(), e);
    }
    return 0;
  }

  private void print(List<KvEvent> applied, Replay.Result result) {
    writeDump(result);
    Map<String, Object> report = report(applied, result);
    PrintWriter out = spec.commandLine().getOut();
    out.print(json ? asJson(report) : asTable(report));
    out.flush();
  }

  private CkfConfig config() {
    positive("--flush-every", flushEvery);
    positive("--rounds", rounds);
    try {
      return CkfConfig.of(expectedBlocks);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(
          spec.commandLine(), "--expected-blocks = " + expectedBlocks + ": must be in 1..53687091");
    }
  }

  private void positive(String option, int value) {
    if (value < 1) {
      throw new ParameterException(
          spec.commandLine(), option + " = " + value + ": must be positive");
    }
  }

  private List<KvEvent> load() {
    try {
      return EventFile.read(events);
    } catch (EventFileException e) {
      throw new InputException(String.valueOf(e.getMessage()), e);
    }
  }

  private void writeDump(Replay.Result result) {
    if (dump == null) {
      return;
    }
    try {
      Files.write(dump, result.wordBytes());
    } catch (IOException e) {
      throw new InputException("--dump = " + dump + ": cannot be written: " + e.getMessage(), e);
    }
  }

  private static Map<String, Object> report(List<KvEvent> recorded, Replay.Result result) {
    PoolStatistics statistics = result.statistics();
    long operations = Replay.blockOperations(recorded);
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("events", (long) recorded.size());
    report.put("block_ops", operations);
    report.put("seconds", decimal(result.seconds(), 6));
    report.put("mops", decimal(operations / result.seconds() / 1e6, 3));
    report.put("images", result.images());
    report.put("contributions", statistics.contributions());
    report.put("unique", statistics.uniqueBlocks());
    report.put("occupied_slots", statistics.occupiedSlots());
    report.put("capacity_failures", statistics.capacityFailures());
    report.put("parent_not_found", statistics.parentNotFound());
    report.put("unknown_removals", statistics.unknownRemovals());
    Map<String, Long> errors = new LinkedHashMap<>();
    statistics.errors().forEach((kind, count) -> putPositive(errors, kind.wireName(), count));
    report.put("errors", errors);
    Map<String, Long> ignored = new LinkedHashMap<>();
    statistics.ignored().forEach((reason, count) -> putPositive(ignored, reason.label(), count));
    report.put("ignored", ignored);
    report.put("state_bytes", statistics.stateBytes());
    report.put("buckets", statistics.buckets());
    report.put("words_xxh3", result.wordsXxh3());
    return report;
  }

  private static void putPositive(Map<String, Long> counts, String name, long count) {
    if (count > 0) {
      counts.put(name, count);
    }
  }

  private static BigDecimal decimal(double value, int digits) {
    // No events take no time, and then there is no rate.
    return BigDecimal.valueOf(Double.isFinite(value) ? value : 0)
        .setScale(digits, RoundingMode.HALF_UP);
  }

  private static String asTable(Map<String, Object> report) {
    StringBuilder table = new StringBuilder();
    report.forEach((name, value) -> table.append(String.format("%-18s %s%n", name, shown(value))));
    return table.toString();
  }

  private static Object shown(Object value) {
    return value instanceof Map<?, ?> counts && counts.isEmpty() ? "none" : value;
  }

  private static String asJson(Map<String, Object> report) {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = new JsonFactory().createGenerator(text)) {
      write(out, report);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    return text + System.lineSeparator();
  }

  private static void write(JsonGenerator out, Object value) throws IOException {
    if (value instanceof Map<?, ?> entries) {
      out.writeStartObject();
      for (Map.Entry<?, ?> entry : entries.entrySet()) {
        out.writeFieldName(String.valueOf(entry.getKey()));
        write(out, entry.getValue());
      }
      out.writeEndObject();
    } else if (value instanceof Long number) {
      out.writeNumber(number);
    } else if (value instanceof BigDecimal number) {
      out.writeNumber(number);
    } else {
      out.writeString(String.valueOf(value));
    }
  }
}
