package io.kvrelay.simulation;

import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.ViewConfig;
import io.kvrelay.testkit.sim.JumpingRuntime;

/** One router's view, on a host of its own. */
final class ViewModel {
  final JumpingRuntime host;
  final KvGlobalView view;

  ViewModel(int number, VirtualRuntime time) {
    this.host = new JumpingRuntime(time);
    this.view =
        KvGlobalView.create(
            ViewConfig.builder().lanes(8).subscriberId("view-" + number).build(), host);
  }
}
