package io.kvrelay.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The {@code kvrelay} command. A subcommand is a class of this package, listed in {@link Command}.
 *
 * <p>Bad input ends in one line on standard error that names the option and the value, and in exit
 * code 2. Subcommands report it as an {@link InputException} (or picocli's {@link
 * ParameterException}). Work that fails for another reason than the input is a {@link
 * FailureException}: one line too, and exit code 1. Any other exception is a defect and keeps its
 * stack trace.
 */
@Command(
    name = "kvrelay",
    description = "KV-cache-aware routing across data centers.",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      DemoCommand.class,
      MatchCommand.class,
      RelayCommand.class,
      ReplayCommand.class,
      TapCommand.class,
      WatchCommand.class
    })
final class Main implements Runnable {

  @Spec private CommandSpec spec = CommandSpec.create();

  /** Starts the command line. */
  public static void main(String[] args) {
    System.exit(run(lines(System.out), lines(System.err), args));
  }

  /** Runs one command line to its end and returns its exit code. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    return new CommandLine(new Main())
        .setOut(out)
        .setErr(err)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setParameterExceptionHandler((e, unused) -> refuse(e.getCommandLine(), e.getMessage()))
        .setExecutionExceptionHandler(Main::explain)
        .setExecutionStrategy(Main::runLast)
        .execute(args);
  }

  /** Help that is asked of a command that does not exist is not this command's help. */
  private static int runLast(CommandLine.ParseResult parsed) {
    List<String> unmatched = parsed.unmatched();
    if (!unmatched.isEmpty()) {
      throw new ParameterException(
          parsed.commandSpec().commandLine(),
          "no such command or option: " + unmatched.get(0) + ", see kvrelay --help");
    }
    return new CommandLine.RunLast().execute(parsed);
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing, see kvrelay --help");
  }

  private static PrintWriter lines(PrintStream stream) {
    return new PrintWriter(new OutputStreamWriter(stream, UTF_8), true);
  }

  private static int explain(Exception e, CommandLine command, CommandLine.ParseResult parsed)
      throws Exception {
    if (e instanceof InputException) {
      return refuse(command, e.getMessage());
    }
    if (e instanceof FailureException) {
      report(command, e.getMessage());
      return CommandLine.ExitCode.SOFTWARE;
    }
    throw e;
  }

  private static int refuse(CommandLine command, @Nullable String message) {
    report(command, message);
    return CommandLine.ExitCode.USAGE;
  }

  private static void report(CommandLine command, @Nullable String message) {
    String line = String.valueOf(message).lines().findFirst().orElse("no details");
    command.getErr().println(command.getCommandSpec().qualifiedName() + ": " + line);
  }
}
