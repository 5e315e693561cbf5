package io.kvrelay.cli.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DeploymentFactsSource;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.flow.StateWatch;
import io.kvrelay.engine.load.HostLoadReports;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Deployment facts out of a file that is read again whenever its content changes. A version that is
 * not acceptable changes nothing but what health says: the last good one stays in force.
 *
 * <p>The content is compared once a second, rather than times or notifications: neither survives
 * every way in which files are replaced. Thread safe; {@link #poll()} reads the file and so blocks.
 */
public final class WatchedFile implements DeploymentFactsSource, AutoCloseable {
  /** How often the file is looked at. */
  public static final long POLL_MILLIS = 1000;

  /** Longest file that is read: as many characters as the reader takes, of the longest kind. */
  private static final int MAX_BYTES = 4 * RelayFileReader.MAX_CHARACTERS;

  private static final System.Logger LOG = System.getLogger(WatchedFile.class.getName());
  private static final String NEXT_START = "is in force from the next start on";

  /**
   * What became of the versions of the file.
   *
   * @param applied versions in force, the first one included
   * @param refused versions refused
   * @param current whether the latest version is in force
   */
  public record Statistics(long applied, long refused, boolean current) {}

  private final Path path;
  private final RelayFileReader reader;
  private final EngineEvents engines;
  private final HostLoadReports loads;
  private final StateWatch<DeploymentFacts> watch;
  private final RelayFile.Settings settings;
  private final CountDownLatch closed = new CountDownLatch(1);
  // Guarded by this.
  private byte[] bytes;
  private byte[] lookedAt;
  private @Nullable String unreadable;
  private RelayFile good;
  private long applied;
  private long refused;
  private boolean current;

  private WatchedFile(
      Path path, EngineEvents engines, HostLoadReports loads, Executor executor, byte[] bytes) {
    this.path = path;
    this.engines = engines;
    this.loads = loads;
    this.reader = new RelayFileReader(engines);
    this.bytes = bytes;
    this.lookedAt = bytes;
    RelayFileReader.Result first = parse(bytes);
    RelayFile file = first.file();
    if (file == null) {
      throw new ConfigException(first.problems());
    }
    this.good = file;
    this.settings = file.settings();
    this.watch = new StateWatch<>(executor, DeploymentFacts.EMPTY);
    apply(file);
  }

  /**
   * Reads the first version.
   *
   * @param path the file
   * @param engines reads its event sources
   * @param loads takes the load that it states
   * @param executor where subscribers are called
   * @return the facts
   * @throws ConfigException if it is not acceptable
   */
  public static WatchedFile open(
      Path path, EngineEvents engines, HostLoadReports loads, Executor executor) {
    try {
      return new WatchedFile(path, engines, loads, executor, read(path));
    } catch (IOException e) {
      throw new ConfigException(List.of(path + ":1: cannot be read: " + e));
    }
  }

  /** Looks at the file once a second from now on, on a thread of its own. */
  public void start() {
    Thread thread = new Thread(this::run, "kvrelay-config");
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    try {
      while (!closed.await(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
        look();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * One look of the watch. A version counts once two looks in a row found it: a file that is being
   * written is, for a moment, a file that names less, and what it does not name would be withdrawn.
   */
  synchronized void look() {
    try {
      byte[] latest = read(path);
      boolean settled = Arrays.equals(latest, lookedAt);
      lookedAt = latest;
      if (settled) {
        take(latest);
      }
    } catch (IOException e) {
      lost(e.toString());
    } catch (RuntimeException | Error e) { // the next version may be better
      LOG.log(Level.ERROR, path + " could not be applied", e);
      refuse(List.of(path + ":1: could not be applied: " + e));
    }
  }

  private static byte[] read(Path path) throws IOException {
    // A pipe or a device would hold this thread, and the monitor, until somebody writes.
    if (Files.exists(path) && !Files.isRegularFile(path)) {
      throw new IOException("is not a regular file");
    }
    try (InputStream in = Files.newInputStream(path)) {
      byte[] all = in.readNBytes(MAX_BYTES + 1);
      if (all.length > MAX_BYTES) {
        throw new IOException("has more than " + MAX_BYTES + " bytes");
      }
      return all;
    }
  }

  /** Settings of the first version, in force until the process ends. */
  public RelayFile.Settings settings() {
    return settings;
  }

  /** What became of the versions so far. */
  public synchronized Statistics statistics() {
    return new Statistics(applied, refused, current);
  }

  @Override
  public Flow.Publisher<DeploymentFacts> facts(DiscoveryScope scope) {
    return watch;
  }

  /**
   * Looks at the file now, and takes what is there.
   *
   * @return true if it differs from the last time
   */
  public synchronized boolean poll() {
    try {
      return take(read(path));
    } catch (IOException e) {
      return lost(e.toString());
    }
  }

  private synchronized boolean take(byte[] latest) {
    if (Arrays.equals(latest, bytes) && unreadable == null) {
      return false;
    }
    unreadable = null;
    bytes = latest;
    RelayFileReader.Result result = parse(latest);
    RelayFile file = result.file();
    if (file == null) {
      refuse(result.problems());
    } else {
      apply(file);
    }
    return true;
  }

  private RelayFileReader.Result parse(byte[] latest) {
    try {
      String text = UTF_8.newDecoder().decode(ByteBuffer.wrap(latest)).toString();
      return reader.read(path.toString(), text);
    } catch (CharacterCodingException e) {
      return new RelayFileReader.Result(null, List.of(path + ":1: is not UTF-8"));
    }
  }

  private synchronized boolean lost(String why) {
    if (why.equals(unreadable)) {
      return false;
    }
    unreadable = why;
    refuse(List.of(path + ":1: cannot be read: " + why));
    return true;
  }

  private synchronized void refuse(List<String> problems) {
    refused++;
    current = false;
    problems.forEach(problem -> LOG.log(Level.WARNING, "the last good version stays: " + problem));
    give(problems.stream().map(WatchedFile::entry).toList());
  }

  /** {@code file:line} and the rest. */
  private static QuarantinedEntry entry(String problem) {
    int end = problem.indexOf(": ");
    return new QuarantinedEntry(
        null,
        problem.substring(0, end),
        false,
        "refused, the last good version stays: " + problem.substring(end + 2));
  }

  private synchronized void apply(RelayFile file) {
    List<EventSourceAdvertisement> sources = engines.follow(file.events());
    RelayFile before = good;
    good = file;
    applied++;
    current = true;
    report(before.loads(), file.loads());
    List<QuarantinedEntry> notes = new ArrayList<>();
    if (!file.settings().saysTheSameAs(settings)) {
      notes.add(
          new QuarantinedEntry(
              null, path.toString(), false, "scope, pools or recovery " + NEXT_START));
    }
    publish(file, sources, notes);
    LOG.log(
        Level.INFO,
        "{0}: version {1} is in force, {2} endpoints, {3} cards, {4} event sources",
        path,
        applied,
        file.liveWorkers().size(),
        file.cards().size(),
        sources.size());
  }

  private void report(
      Map<EndpointId, List<LoadReport>> before, Map<EndpointId, List<LoadReport>> now) {
    before.forEach(
        (endpoint, reports) ->
            reports.forEach(report -> loads.forget(endpoint, report.member().workerId())));
    now.forEach((endpoint, reports) -> reports.forEach(report -> loads.report(endpoint, report)));
  }

  private void publish(
      RelayFile file, List<EventSourceAdvertisement> sources, List<QuarantinedEntry> notes) {
    watch.publish(
        new DeploymentFacts(
            watch.value().revision() + 1, file.cards(), file.liveWorkers(), sources, notes));
  }

  /** The facts as they are, with something to say about the file. */
  private synchronized void give(List<QuarantinedEntry> notes) {
    publish(good, watch.value().eventSources(), notes);
  }

  @Override
  public void close() {
    closed.countDown();
  }
}
