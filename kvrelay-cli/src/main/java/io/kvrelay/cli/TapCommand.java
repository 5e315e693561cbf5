package io.kvrelay.cli;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.events.zmq.EngineKind;
import io.kvrelay.events.zmq.EngineSource;
import io.kvrelay.events.zmq.ZmqEventSource;
import io.kvrelay.events.zmq.ZmqOptions;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kvrelay tap}. */
@Command(
    name = "tap",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Shows what an inference engine publishes about its KV cache: each event as the engine wrote"
          + " it, gaps, restarts, rates, and how far the picture can be trusted.",
      ""
    },
    footer = {"", "Ctrl-C ends it."})
final class TapCommand implements Callable<Integer> {
  private static final EndpointId ENDPOINT = new EndpointId("kvrelay", "tap", "engine");
  private static final long POLL_MILLIS = 50;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      paramLabel = "ADDRESS",
      description = "Where the engine publishes, such as tcp://10.0.0.11:5557.")
  private String address = "";

  @Option(
      names = "--replay",
      paramLabel = "ADDRESS",
      description = "Where it replays. Without it only what comes from now on is seen.")
  private @Nullable String replay;

  @Option(
      names = "--engine",
      paramLabel = "NAME",
      defaultValue = "vllm",
      description = "vllm, sglang or trtllm (default: ${DEFAULT-VALUE}).")
  private String engine = "vllm";

  @Option(
      names = "--topic",
      paramLabel = "TEXT",
      description = "Only messages with this topic. Default: any.")
  private @Nullable String topic;

  @Option(
      names = "--block-size",
      paramLabel = "N",
      description = "Tokens of a block. Default: what the first store says.")
  private @Nullable Integer blockSize;

  @Option(names = "--eagle", description = "Hash pairs of tokens, as the Eagle format does.")
  private boolean eagle;

  @Option(
      names = "--worker",
      paramLabel = "N",
      defaultValue = "0",
      description = "Worker id in what is recorded (default: ${DEFAULT-VALUE}).")
  private String worker = "0";

  @Option(
      names = "--rank",
      paramLabel = "N",
      defaultValue = "0",
      description = "Data-parallel rank in what is recorded (default: ${DEFAULT-VALUE}).")
  private int rank;

  @Option(
      names = "--record",
      paramLabel = "FILE",
      description = "Write the relay's events to a .jsonl file that kvrelay replay reads.")
  private @Nullable Path record;

  @Option(
      names = "--every",
      paramLabel = "SECONDS",
      defaultValue = "10",
      description = "How often rates are printed (default: ${DEFAULT-VALUE}).")
  private int every;

  @Option(names = "--json", description = "Print one JSON object a line and nothing else.")
  private boolean json;

  /** What it says about trust is part of the output. */
  private static final Logger NOTES = Logger.getLogger("io.kvrelay.events.zmq");

  @Override
  public Integer call() {
    NOTES.setLevel(Level.SEVERE);
    if (every < 1) {
      throw new InputException("--every = " + every + ": must be positive");
    }
    EngineSource source = source(blockSize == null ? 16 : blockSize);
    PrintWriter out = spec.commandLine().getOut();
    try (Interrupt interrupt = new Interrupt();
        Writer recording = recording();
        SystemRuntime runtime = SystemRuntime.create(1);
        ZmqEventSource events = ZmqEventSource.start(List.of(), ZmqOptions.DEFAULT, runtime)) {
      TapOutput output = json ? new JsonTapOutput(out) : new TextTapOutput(out);
      EngineTap tap = new EngineTap(output, recording);
      events.follow(ENDPOINT, tap);
      events.tap(tap::onBatch);
      events.replaceSources(List.of(source));
      watch(events, tap, interrupt);
      tap.rates(events.statistics());
    } catch (IOException e) {
      throw new InputException("--record = " + record + ": " + e.getMessage(), e);
    }
    return 0;
  }

  private void watch(ZmqEventSource events, EngineTap tap, Interrupt interrupt) throws IOException {
    long nextRates = System.nanoTime() + TimeUnit.SECONDS.toNanos(every);
    boolean sizeIsKnown = blockSize != null;
    try {
      while (!interrupt.isRequested()) {
        Thread.sleep(POLL_MILLIS);
        if (!sizeIsKnown && tap.blockSize() > 0) {
          sizeIsKnown = true;
          events.replaceSources(List.of(source(tap.blockSize())));
        }
        tap.check();
        if (System.nanoTime() - nextRates >= 0) {
          nextRates += TimeUnit.SECONDS.toNanos(every);
          tap.rates(events.statistics());
        }
      }
    } catch (InterruptedException e) {
      // The command ends; what follows only waits for its own thread.
      tap.check();
    }
  }

  private @Nullable Writer recording() throws IOException {
    return record == null ? null : Files.newBufferedWriter(record);
  }

  private long workerId() {
    try {
      return Long.parseUnsignedLong(worker);
    } catch (NumberFormatException e) {
      throw new InputException("--worker = " + worker + ": must be an unsigned 64-bit number", e);
    }
  }

  private EngineSource source(int tokens) {
    EngineKind kind = EngineKind.ofName(engine);
    if (kind == null) {
      throw new InputException("--engine = " + engine + ": must be vllm, sglang or trtllm");
    }
    try {
      QueryHashFormat format =
          eagle ? QueryHashFormat.DYNAMO_EAGLE_V1 : QueryHashFormat.DYNAMO_STANDARD_V1;
      return EngineSource.builder(
              ENDPOINT, new Member(workerId(), rank), address, new QuerySemantics(tokens, format))
          .engine(kind)
          .replayAddress(replay)
          .topic(topic)
          .rankChecked(false)
          .build();
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()), e);
    }
  }
}
