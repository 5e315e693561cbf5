package io.kvrelay.cli.config;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.engine.relay.DeploymentConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * Reads one version of the file. Finds everything that is wrong with it in one pass; JSON is read
 * as the YAML that it is. Thread safe.
 */
public final class RelayFileReader {
  /** Longest file that is read, in characters. */
  public static final int MAX_CHARACTERS = 16 << 20;

  static final Map<String, QueryHashFormat> HASH_FORMATS =
      Map.of(
          "standard", QueryHashFormat.DYNAMO_STANDARD_V1, "eagle", QueryHashFormat.DYNAMO_EAGLE_V1);

  private final EngineEvents engines;

  /**
   * A reader.
   *
   * @param engines whose {@code events} entries are understood
   */
  public RelayFileReader(EngineEvents engines) {
    this.engines = engines;
  }

  /**
   * What came of reading.
   *
   * @param file what it says; null if anything is wrong
   * @param problems everything that is wrong, a line each: {@code file:line: field = value: what}
   */
  public record Result(@Nullable RelayFile file, List<String> problems) {}

  /**
   * Reads a text.
   *
   * @param name what the file is called in problems
   * @param text its text
   * @return what it says, or what is wrong
   */
  public Result read(String name, String text) {
    ConfigProblems problems = new ConfigProblems(name);
    RelayFile file = null;
    try {
      LoadSettings settings =
          LoadSettings.builder().setLabel(name).setCodePointLimit(MAX_CHARACTERS).build();
      Optional<Node> root = new Compose(settings).composeString(text);
      file = read(Section.root(problems, root.orElse(null)), problems);
    } catch (MarkedYamlEngineException e) {
      problems.add(
          e.getProblemMark().map(Mark::getLine).orElse(0) + 1,
          "is neither YAML nor JSON: " + e.getProblem());
    } catch (YamlEngineException e) {
      problems.add(1, "is neither YAML nor JSON: " + firstLine(e));
    } catch (StackOverflowError e) { // the parser calls itself for each level
      problems.add(1, "lists and mappings are nested too deeply");
    }
    return problems.isEmpty() ? new Result(file, List.of()) : new Result(null, problems.lines());
  }

  private static String firstLine(Exception e) {
    return String.valueOf(e.getMessage()).lines().findFirst().orElse("no details");
  }

  private RelayFile read(Section root, ConfigProblems problems) {
    RelayFile.Settings settings = settings(root);
    EndpointReader reader = new EndpointReader(engines, problems);
    Map<EndpointId, Integer> lines = new HashMap<>();
    for (Section endpoint : root.sections("endpoints", ConfigSection.ENDPOINT)) {
      EndpointId id = endpoint.requiredParsed("endpoint", EndpointId::parse);
      Integer before = id == null ? null : lines.putIfAbsent(id, endpoint.line());
      if (before != null) {
        endpoint.refuse("endpoint", String.valueOf(id), "is described in line " + before);
      }
      reader.read(endpoint, id == null ? new EndpointId("?", "?", "?") : id);
    }
    reader.checkAddresses();
    return reader.file(settings);
  }

  private static RelayFile.Settings settings(Section root) {
    Section pools = root.section("pools", ConfigSection.POOLS);
    Section recovery = root.section("recovery", ConfigSection.RECOVERY);
    DeploymentConfig.Builder config = DeploymentConfig.builder();
    config.expectedUniqueBlocks(pools.number("expected-blocks", 1L << 20, 1, 53_687_091));
    pools.unsigned("filter-seed").ifPresent(config::filterSeed);
    config.maxKicks((int) pools.number("max-kicks", 500, 1, 4096));
    config.publicationThreshold(
        (int) pools.number("publication-threshold", 16, 1, Integer.MAX_VALUE));
    duration(pools, "publication-delay", config::publicationDelay);
    duration(recovery, "timeout", config::recoveryTimeout);
    config.maxConcurrentRecoveries((int) recovery.number("concurrent", 16, 1, 65_536));
    duration(recovery, "unknown-grace", config::unknownGrace);
    config.inboxBatches((int) recovery.number("inbox-batches", 1024, 1, 1 << 20));
    duration(root, "stop-timeout", config::stopTimeout);
    return new RelayFile.Settings(scope(root), build(root, config));
  }

  private static void duration(Section section, String key, Consumer<Duration> target) {
    Duration value = section.duration(key);
    if (value != null) {
      target.accept(value);
    }
  }

  private static DeploymentConfig build(Section root, DeploymentConfig.Builder config) {
    try {
      return config.build();
    } catch (RelayException e) {
      root.refuse("pools", "a mapping", String.valueOf(e.getMessage()));
      return DeploymentConfig.DEFAULTS;
    }
  }

  private static DiscoveryScope scope(Section root) {
    Section scope = root.section("scope", ConfigSection.SCOPE);
    List<String> namespaces = scope.names("namespaces");
    List<String> prefixes = new ArrayList<>(scope.names("prefixes"));
    try {
      return new DiscoveryScope(namespaces.isEmpty(), namespaces, prefixes);
    } catch (IllegalArgumentException e) {
      String message = String.valueOf(e.getMessage());
      scope.refuse("prefixes", prefixes, message.substring(message.indexOf(": ") + 2));
      return DiscoveryScope.ALL;
    }
  }
}
