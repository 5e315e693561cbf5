package io.kvrelay.engine.relay;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import io.kvrelay.engine.topology.HostDeployment;
import java.io.File;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A host that loads a relay, runs it, ends it and unloads its classes finds nothing left. */
class HostProcessTest {
  private static final int GC_ROUNDS = 50;

  /** What runs under the class loader of its own. */
  public static final class Host implements Runnable {
    @Override
    public void run() {
      try (SystemRuntime runtime = SystemRuntime.create(2)) {
        EndpointId endpoint = new EndpointId("ns", "worker", "generate");
        InMemoryEventSource events = new InMemoryEventSource(runtime, 16);
        HostDeployment facts = new HostDeployment(runtime.executor());
        InMemoryEventSource.Rank rank = events.start(endpoint, new Member(1, 0), true);
        facts.edit(
            deployment -> {
              deployment.put(ModelCard.builder(endpoint, 1, "m").build());
              deployment.live(endpoint, Set.of(1L));
              deployment.advertise(rank.advertisement());
            });
        follow(facts, events, rank, runtime);
        follow(facts, events, rank, null);
      }
    }

    private static void follow(
        HostDeployment facts,
        InMemoryEventSource events,
        InMemoryEventSource.Rank rank,
        SystemRuntime runtime) {
      KvDcRelay.Builder builder =
          KvDcRelay.builder()
              .dcName("dc")
              .deployment(facts, DiscoveryScope.ALL)
              .events(events)
              .deploymentConfig(DeploymentConfig.builder().expectedUniqueBlocks(100).build());
      KvDcRelay relay = (runtime == null ? builder : builder.runtime(runtime)).start();
      rank.store(new long[] {rank.nextEventId()}, new long[] {rank.nextEventId()});
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
      while (relay.statistics().pools().stream()
          .allMatch(pool -> pool.actor().pool().uniqueBlocks() == 0)) {
        if (System.nanoTime() > deadline) {
          throw new IllegalStateException("no block arrived: " + relay.health());
        }
        Thread.onSpinWait();
      }
      relay.close();
      relay.shutdown().toCompletableFuture().join();
    }
  }

  private record Part(int value) {}

  private record Whole(Part part) {}

  /**
   * JDK 17 caches the last type for which it linked a record's methods, whatever its loader, until
   * the next one is linked: here is the next one.
   */
  private static void linkARecordOfThisLoader() {
    Whole whole = new Whole(new Part(1));
    assertThat(whole).isEqualTo(new Whole(new Part(1))).hasSameHashCodeAs(new Whole(new Part(1)));
    assertThat(whole.toString()).contains("part");
  }

  @Test
  void nothingOfARelayOutlivesIt() throws Exception {
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    WeakReference<ClassLoader> loader = runOnce();
    linkARecordOfThisLoader();

    for (int i = 0; loader.get() != null && i < GC_ROUNDS; i++) {
      System.gc();
      byte[] pressure = new byte[1 << 20];
      assertThat(pressure).isNotEmpty();
    }
    assertThat(loader.get()).as("the class loader is reachable").isNull();
    assertThat(Thread.getAllStackTraces().keySet())
        .filteredOn(thread -> !before.contains(thread) && thread.getName().startsWith("kvrelay"))
        .isEmpty();
  }

  private static WeakReference<ClassLoader> runOnce() throws Exception {
    List<URL> path = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      path.add(new File(entry).toURI().toURL());
    }
    try (URLClassLoader loader =
        new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
      Class<?> host = loader.loadClass(Host.class.getName());
      assertThat(host).isNotSameAs(Host.class);
      ((Runnable) host.getDeclaredConstructor().newInstance()).run();
      return new WeakReference<>(loader);
    }
  }
}
