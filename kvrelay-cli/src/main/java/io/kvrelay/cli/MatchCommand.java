package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.engine.view.Attachment;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.LoadReading;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.ViewConfig;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code kvrelay match}. */
@Command(
    name = "match",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Tells which data center holds how much of a prompt: follows one or more relays until all is"
          + " installed and quiet, then answers for each prompt with every pool's depth.",
      ""
    },
    footer = {
      "",
      "A depth is the number of leading blocks that the pool probably holds. Exit code 1: a relay"
          + " cannot be reached, or a pool was not installed in time."
    })
final class MatchCommand implements Callable<Integer> {
  private static final int MAX_WAIT_SECONDS = 86_400;
  private static final long DETACH_SECONDS = 5;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      arity = "1..*",
      paramLabel = "URI",
      description = "Addresses of relays, such as grpc://10.0.0.7:5561.")
  private List<String> uris = new ArrayList<>();

  @Option(
      names = "--tokens",
      paramLabel = "FILE",
      required = true,
      description = "Prompts: a JSON list of token ids a line.")
  private Path tokens = Path.of("");

  @Option(
      names = "--hashes",
      description = "The lists hold local block hashes instead of token ids, salts included.")
  private boolean hashes;

  @Option(
      names = "--model",
      paramLabel = "NAME",
      description = "Ask only the pools that serve this name (default: every pool).")
  private @Nullable String model;

  @Option(
      names = "--lora",
      paramLabel = "NAME",
      description = "The prompts are of this adapter: select its pools and salt the hashes.")
  private @Nullable String lora;

  @Option(
      names = "--cache-namespace",
      paramLabel = "NAME",
      description = "Salt the hashes with this cache namespace.")
  private @Nullable String cacheNamespace;

  @Option(
      names = "--wait",
      paramLabel = "SECONDS",
      defaultValue = "30",
      description =
          "Longest wait until every pool is installed and quiet for a second (default:"
              + " ${DEFAULT-VALUE}).")
  private int waitSeconds;

  @Option(
      names = "--json",
      description = "Print one JSON object a prompt, in input order, and nothing else.")
  private boolean json;

  @Mixin private TlsOptions tls = new TlsOptions();

  @Override
  public Integer call() throws InterruptedException {
    List<URI> addresses = new ArrayList<>();
    for (String uri : uris) {
      addresses.add(RelayAddress.parse("URI", uri));
    }
    if (waitSeconds < 1 || waitSeconds > MAX_WAIT_SECONDS) {
      throw new InputException("--wait = " + waitSeconds + ": must be in 1.." + MAX_WAIT_SECONDS);
    }
    List<long[]> prompts = PromptFile.read(tokens, hashes ? Long.SIZE : Integer.SIZE);
    List<ConnectedSource> sources = new ArrayList<>();
    try (SystemRuntime runtime = SystemRuntime.create();
        KvGlobalView view = KvGlobalView.create(config(addresses.size()), runtime)) {
      List<Attachment> attachments = new ArrayList<>();
      try {
        attach(addresses, runtime, view, sources, attachments);
        answer(view, attachments, prompts);
      } finally {
        detach(attachments);
      }
    } finally {
      sources.forEach(ConnectedSource::close);
    }
    return 0;
  }

  private void attach(
      List<URI> addresses,
      SystemRuntime runtime,
      KvGlobalView view,
      List<ConnectedSource> sources,
      List<Attachment> attachments) {
    for (URI address : addresses) {
      ConnectedSource source =
          RelayAddress.connect(address, "kvrelay-match", tls.client(address), runtime);
      sources.add(source);
      attachments.add(view.attach(source));
    }
  }

  /** Waits until the view has let go of everything, so that the runtime ends with nothing to do. */
  private static void detach(List<Attachment> attachments) {
    attachments.forEach(Attachment::close);
    CompletableFuture.allOf(
            attachments.stream()
                .map(attachment -> attachment.detached().toCompletableFuture())
                .toArray(CompletableFuture<?>[]::new))
        .completeOnTimeout(null, DETACH_SECONDS, TimeUnit.SECONDS)
        .join();
  }

  /** A relay has one pool in a domain and format, unless it hands on other relays' pools. */
  private static ViewConfig config(int relays) {
    ViewConfig defaults = ViewConfig.DEFAULTS;
    return relays <= defaults.lanes() ? defaults : defaults.toBuilder().lanes(64).build();
  }

  private void answer(KvGlobalView view, List<Attachment> attachments, List<long[]> prompts)
      throws InterruptedException {
    if (!new Settling(attachments, System::nanoTime).await(Duration.ofSeconds(waitSeconds))) {
      PrintWriter err = spec.commandLine().getErr();
      err.println("kvrelay match: still moving after " + waitSeconds + " s; these are its answers");
    }
    PromptMatcher matcher = new PromptMatcher(view, hashes, model, lora, cacheNamespace);
    PrintWriter out = spec.commandLine().getOut();
    for (int i = 0; i < prompts.size(); i++) {
      List<PoolMatch> matches = matcher.match(prompts.get(i));
      out.println(json ? toJson(i, matches) : toText(i, prompts.get(i).length, matches));
    }
  }

  private static String toJson(int prompt, List<PoolMatch> matches) {
    return JsonLine.of(
        json -> {
          json.writeNumberField("prompt", prompt);
          json.writeArrayFieldStart("matches");
          for (PoolMatch match : matches) {
            writeMatch(json, match);
          }
          json.writeEndArray();
        });
  }

  private static void writeMatch(JsonGenerator json, PoolMatch match) throws IOException {
    json.writeStartObject();
    JsonLine.unsigned(json, "dc_id", match.poolId().dcId().value());
    json.writeStringField("pool", match.poolId().toString());
    writeBlocks(json, "depth", match.depth());
    writeBlocks(json, "blocks", match.queryBlocks());
    json.writeStringField("readiness", match.readiness().name());
    LoadReading load = match.load();
    json.writeObjectFieldStart("load");
    json.writeStringField("coverage", load.coverage().name());
    JsonLine.optional(json, "used_blocks", load.usedBlocks());
    JsonLine.optional(json, "total_blocks", load.totalBlocks());
    json.writeNumberField("observed_ranks", Integer.toUnsignedLong(load.observedRanks()));
    json.writeNumberField("expected_ranks", Integer.toUnsignedLong(load.expectedRanks()));
    json.writeEndObject();
    json.writeEndObject();
  }

  private static void writeBlocks(JsonGenerator json, String name, int blocks) throws IOException {
    if (blocks < 0) {
      json.writeNullField(name);
    } else {
      json.writeNumberField(name, blocks);
    }
  }

  private String toText(int prompt, int length, List<PoolMatch> matches) {
    StringBuilder text = new StringBuilder();
    text.append("prompt ").append(prompt).append(", ").append(length);
    text.append(hashes ? " blocks" : " tokens");
    if (matches.isEmpty()) {
      text.append(": no pool");
    }
    for (PoolMatch match : matches) {
      String depth =
          match.hasAnswer()
              ? match.depth() + " of " + match.queryBlocks() + " blocks"
              : "no answer (" + match.answer() + ")";
      text.append(
          String.format(
              Locale.ROOT,
              "%n  %-20s %s@%s, %s, load %s",
              depth,
              match.descriptor().servingEndpoint(),
              match.poolId().dcId(),
              match.readiness(),
              match.load()));
    }
    return text.toString();
  }
}
