package io.kvrelay.cli;

import io.kvrelay.api.Text;
import io.kvrelay.cli.replay.ServedReplay;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How {@code replay --bind} serves its pool. */
final class ServeOptions {
  private static final String REPLAY = "replay";
  private static final int BLOCK_SIZE = 16;
  private static final double MAX_RATE = 1e9;
  private static final double MAX_HOLD_SECONDS = 365 * 86_400.0;

  @Option(
      names = "--dc-id",
      paramLabel = "NAME",
      description = "Name of the data center (default: " + REPLAY + ").")
  private @Nullable String dcName;

  @Option(
      names = "--rate",
      paramLabel = "EVENTS_PER_S",
      description = "Pace of the events (default: no pauses).")
  private @Nullable Double rate;

  @Option(
      names = "--hold",
      paramLabel = "SECONDS",
      description = "Go on serving after the last event (default: 0).")
  private @Nullable Double holdSeconds;

  @Option(
      names = "--block-size",
      paramLabel = "TOKENS",
      description = "Tokens of a block, as the catalog tells it (default: " + BLOCK_SIZE + ").")
  private @Nullable Integer blockSize;

  @Option(
      names = "--model",
      paramLabel = "NAME",
      description = "The model that the catalog tells (default: " + REPLAY + ").")
  private @Nullable String model;

  boolean isGiven() {
    return !names().isEmpty();
  }

  /** The options that are given. */
  List<String> names() {
    List<String> names = new ArrayList<>();
    note(names, "--dc-id", dcName);
    note(names, "--rate", rate);
    note(names, "--hold", holdSeconds);
    note(names, "--block-size", blockSize);
    note(names, "--model", model);
    return names;
  }

  private static void note(List<String> names, String name, @Nullable Object value) {
    if (value != null) {
      names.add(name);
    }
  }

  /** The settings, checked. */
  ServedReplay.Settings settings(URI address, Map<String, Object> attributes) {
    return new ServedReplay.Settings(
        address,
        attributes,
        text("--dc-id", dcName),
        text("--model", model),
        blockSize == null ? BLOCK_SIZE : positive("--block-size", blockSize),
        rate == null ? Double.POSITIVE_INFINITY : within("--rate", rate, 1e-6, MAX_RATE),
        holdSeconds == null ? 0 : within("--hold", holdSeconds, 0, MAX_HOLD_SECONDS));
  }

  private static String text(String option, @Nullable String given) {
    String value = given == null ? REPLAY : given;
    if (!Text.isValid(value)) {
      throw new InputException(
          option + " = \"" + value + "\": must not be empty or surrounded by white space");
    }
    return value;
  }

  private static int positive(String option, int value) {
    if (value < 1) {
      throw new InputException(option + " = " + value + ": must be positive");
    }
    return value;
  }

  private static double within(String option, double value, double least, double most) {
    if (!(value >= least && value <= most)) {
      throw new InputException(option + " = " + value + ": must be in " + least + ".." + most);
    }
    return value;
  }
}
