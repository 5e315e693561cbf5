package io.kvrelay.simulation;

import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.testkit.sim.FaultyEventSource;
import io.kvrelay.testkit.sim.JumpingRuntime;
import io.kvrelay.testkit.sim.SimulatedSite;
import io.kvrelay.transport.inproc.InprocFaults;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** One data center: a site, the relay that follows it, and the relay's links to the views. */
final class SiteModel {
  static final Duration RECOVERY_TIMEOUT = Duration.ofSeconds(2);

  final int number;
  final SimulatedSite site;
  final JumpingRuntime host;
  final List<PoolModel> pools = new ArrayList<>();
  private final String run;
  private final int views;
  private final List<RelayExport> exports = new ArrayList<>();
  FaultyEventSource events;
  KvDcRelay relay;

  SiteModel(int number, String run, int views, VirtualRuntime time, int ring) {
    this.number = number;
    this.run = run;
    this.views = views;
    this.site = new SimulatedSite("dc-" + number, time, ring);
    this.host = new JumpingRuntime(time);
    this.events = site.faultyEvents();
    this.relay = startRelay();
  }

  private KvDcRelay startRelay() {
    KvDcRelay started =
        site.relay(events)
            .runtime(host)
            .deploymentConfig(
                DeploymentConfig.builder()
                    .expectedUniqueBlocks(2000)
                    .recoveryTimeout(RECOVERY_TIMEOUT)
                    .build())
            .start();
    exports.clear();
    for (int view = 0; view < views; view++) {
      exports.add(started.export(address(view), ExportOptions.defaults(host)));
    }
    return started;
  }

  /** Where a view finds this relay: a link of its own. */
  URI address(int view) {
    return URI.create("inproc:" + run + "-" + number + "-" + view);
  }

  InprocFaults link(int view) {
    return InprocFaults.of(address(view).getSchemeSpecificPart());
  }

  /** Ends the relay's life and begins another. */
  void restartRelay() {
    exports.forEach(RelayExport::close);
    relay.close();
    events.heal();
    events = site.faultyEvents();
    relay = startRelay();
  }

  void end() {
    exports.forEach(RelayExport::close);
    relay.close();
  }

  PoolModel pool(String model) {
    return pools.stream().filter(pool -> pool.model.equals(model)).findFirst().orElseThrow();
  }
}
