package io.kvrelay.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.api.deployment.RuntimeConfig;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.engine.ingest.IngestCount;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.PoolStatistics;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.relay.KvPoolStatistics;
import io.kvrelay.engine.relay.RelayPeek;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PrefixMatch;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import io.kvrelay.testkit.sim.FaultyEventSource;
import io.kvrelay.testkit.sim.SimulatedRank;
import io.kvrelay.testkit.sim.SimulatedSite;
import io.kvrelay.testkit.sim.SimulatedWorker;
import io.kvrelay.transport.inproc.InprocFaults;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** One data center, its relay, and a router's view of it, in virtual time and in default order. */
final class Deployed {
  static final EndpointId E = new EndpointId("prod", "backend", "generate");
  static final int INBOX = 1024;
  static final DeploymentConfig CONFIG =
      DeploymentConfig.builder().expectedUniqueBlocks(10_000).build();
  private static final int CACHE_BLOCKS = 4000;
  private static final int RING = 64;

  final VirtualRuntime time;
  final SimulatedSite site;
  final FaultyEventSource events;
  final KvDcRelay relay;
  final KvGlobalView view;
  private final String link;

  Deployed() {
    this("dc-a", VirtualRuntime.inOrder(1), null);
  }

  private Deployed(String dcName, VirtualRuntime time, KvGlobalView shared) {
    Quiet.please();
    this.time = time;
    this.link = dcName + "-" + System.identityHashCode(this);
    this.site = new SimulatedSite(dcName, time, RING);
    this.events = site.faultyEvents();
    this.relay = site.relay(events).deploymentConfig(CONFIG).start();
    this.view = shared == null ? newView() : shared;
    URI address = URI.create("inproc:" + link);
    relay.export(address, ExportOptions.defaults(time));
    view.attach(address);
  }

  /** Another data center that the same view follows. */
  Deployed neighbour(String dcName) {
    return new Deployed(dcName, time, view);
  }

  KvGlobalView newView() {
    return KvGlobalView.create(ViewConfig.DEFAULTS, time);
  }

  /** A listed worker of one rank, settled. */
  SimulatedWorker worker(long id) {
    SimulatedWorker worker =
        site.start(
            ModelCard.builder(E, id, "llama")
                .kvBlockSize(16)
                .role(WorkerRole.AGGREGATED)
                .runtime(RuntimeConfig.ranks(0, 1, CACHE_BLOCKS))
                .build(),
            CACHE_BLOCKS);
    seconds(1);
    return worker;
  }

  /** Breaks the way to the view. */
  void cutLink() {
    InprocFaults.of(link).cut();
  }

  void millis(long millis) {
    time.advance(Duration.ofMillis(millis));
  }

  void seconds(long seconds) {
    time.advance(Duration.ofSeconds(seconds));
  }

  static PrefixRequest request(long... locals) {
    return PrefixRequest.builder("llama").localHashes(null, locals).build();
  }

  PrefixMatch match(long... locals) {
    return view.match(request(locals));
  }

  PoolMatch look(long... locals) {
    return look(view, locals);
  }

  static PoolMatch look(KvGlobalView view, long... locals) {
    List<PoolMatch> pools = view.match(request(locals)).pools();
    assertThat(pools).hasSize(1);
    return pools.get(0);
  }

  int depth(long... locals) {
    return look(locals).depthBlocks().orElseThrow();
  }

  KvPoolStatistics statistics() {
    assertThat(relay.statistics().pools()).hasSize(1);
    return relay.statistics().pools().get(0);
  }

  PoolStatistics pool() {
    return statistics().actor().pool();
  }

  PoolId poolId() {
    return statistics().producer().poolId();
  }

  PoolActor actor() {
    return Objects.requireNonNull(RelayPeek.actor(relay, E));
  }

  long counted(IngestCount what) {
    return Objects.requireNonNull(statistics().following()).ingest().of(what);
  }

  List<RankStatus> ranks() {
    return Objects.requireNonNull(statistics().following()).ranks();
  }

  RankStatus rank(Member member) {
    return ranks().stream().filter(rank -> rank.member().equals(member)).findFirst().orElseThrow();
  }

  SourceTrust trust(Member member) {
    return rank(member).trust();
  }

  /** The index holds exactly what these ranks hold of theirs. */
  void assertExact(SimulatedRank... exact) {
    for (SimulatedRank rank : exact) {
      assertThat(trust(rank.member())).isEqualTo(SourceTrust.EXACT);
      Invariants.assertRank("", rank, actor());
    }
  }
}
