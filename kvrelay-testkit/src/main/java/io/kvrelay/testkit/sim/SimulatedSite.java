package io.kvrelay.testkit.sim;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import io.kvrelay.engine.load.HostLoadReports;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.topology.HostDeployment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * One data center without its relay: workers, the facts of their deployment, and their load
 * reports. Any number of relays may follow it, each with {@linkplain #faultyEvents() faults of its
 * own}. Thread safe; nothing blocks.
 *
 * <pre>{@code
 * VirtualRuntime time = VirtualRuntime.inOrder(1);
 * SimulatedSite site = new SimulatedSite("dc-a", time, 64);
 * FaultyEventSource events = site.faultyEvents();
 * KvDcRelay relay = site.relay(events).start();
 * SimulatedWorker worker = site.start(card, 1000);
 * events.next(LiveFault.LOSE, 1);
 * worker.rank(0).serve(1, 2, 3);
 * time.advance(Duration.ofSeconds(1));
 * }</pre>
 */
public final class SimulatedSite {
  private final String dcName;
  private final RelayRuntime runtime;
  private final InMemoryEventSource workers;
  private final HostDeployment facts;
  private final HostLoadReports loads;
  // Guarded by this.
  private final Map<EndpointId, Set<Long>> live = new HashMap<>();

  /**
   * A site without workers.
   *
   * @param dcName the data center's name
   * @param runtime where everything runs; a virtual one makes the site deterministic
   * @param ringEvents recent events that each rank keeps for recovery; what is older is recovered
   *     by a dump
   */
  public SimulatedSite(String dcName, RelayRuntime runtime, int ringEvents) {
    this.dcName = dcName;
    this.runtime = runtime;
    this.workers = new InMemoryEventSource(runtime, ringEvents);
    this.facts = new HostDeployment(runtime.executor());
    this.loads = new HostLoadReports(runtime.executor());
  }

  /**
   * The data center's name.
   *
   * @return the name
   */
  public String dcName() {
    return dcName;
  }

  /**
   * Where it runs.
   *
   * @return the runtime
   */
  public RelayRuntime runtime() {
    return runtime;
  }

  /**
   * The workers' events as they are sent, without faults on the way.
   *
   * @return the source of all ranks
   */
  public InMemoryEventSource workers() {
    return workers;
  }

  /**
   * What is stated of the deployment; may be edited beside the workers.
   *
   * @return the facts
   */
  public HostDeployment facts() {
    return facts;
  }

  /**
   * What is stated of the load.
   *
   * @return the reports
   */
  public HostLoadReports loads() {
    return loads;
  }

  /**
   * The workers' events with a way of their own on which faults can happen.
   *
   * @return a new fault controller
   */
  public FaultyEventSource faultyEvents() {
    return new FaultyEventSource(workers, runtime);
  }

  /**
   * A relay that follows this site; still to be configured and started.
   *
   * @param events how it hears the workers
   * @return a builder with runtime, data center, facts, events and load reports set
   */
  public KvDcRelay.Builder relay(FaultyEventSource events) {
    return KvDcRelay.builder()
        .dcName(dcName)
        .runtime(runtime)
        .deployment(facts, DiscoveryScope.ALL)
        .events(events)
        .loadReports(loads);
  }

  /**
   * Starts a worker with empty caches and lists it. Worker ids are unique within a site.
   *
   * @param card what it serves where, with how many ranks
   * @param cacheBlocks blocks that fit into each rank's cache
   * @return the worker
   * @throws IllegalArgumentException if nothing fits
   */
  public SimulatedWorker start(ModelCard card, int cacheBlocks) {
    if (cacheBlocks < 1) {
      throw new IllegalArgumentException("cacheBlocks = " + cacheBlocks + ": must be positive");
    }
    SimulatedWorker worker = new SimulatedWorker(this, card, cacheBlocks);
    worker.start();
    return worker;
  }

  synchronized void list(SimulatedWorker worker, List<EventSourceAdvertisement> sources) {
    Set<Long> ids = live.computeIfAbsent(worker.endpoint(), endpoint -> new TreeSet<>());
    ids.add(worker.id());
    facts.edit(
        edited -> {
          edited.put(worker.card());
          edited.live(worker.endpoint(), ids);
          sources.forEach(edited::advertise);
        });
  }

  synchronized void unlist(SimulatedWorker worker, List<EventSourceAdvertisement> sources) {
    Set<Long> ids = live.computeIfAbsent(worker.endpoint(), endpoint -> new TreeSet<>());
    ids.remove(worker.id());
    facts.edit(
        edited -> {
          edited.remove(worker.endpoint(), worker.id(), worker.card().suffix());
          edited.live(worker.endpoint(), ids);
          sources.forEach(
              source ->
                  edited.withdraw(source.kvStateEndpoint(), source.member(), source.publisherId()));
        });
  }

  void readvertise(List<EventSourceAdvertisement> old, List<EventSourceAdvertisement> fresh) {
    facts.edit(
        edited -> {
          old.forEach(
              source ->
                  edited.withdraw(source.kvStateEndpoint(), source.member(), source.publisherId()));
          fresh.forEach(edited::advertise);
        });
  }

  synchronized void live(SimulatedWorker worker, boolean isLive) {
    Set<Long> ids = live.computeIfAbsent(worker.endpoint(), endpoint -> new TreeSet<>());
    if (isLive ? ids.add(worker.id()) : ids.remove(worker.id())) {
      facts.live(worker.endpoint(), ids);
    }
  }
}
