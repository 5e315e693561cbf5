package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.ModelCard;
import java.util.List;
import java.util.OptionalInt;

/** Cards and sources of tests. */
final class Cards {
  static final EndpointId E1 = EndpointId.parse("ns.comp.one");
  static final EndpointId E2 = EndpointId.parse("ns.comp.two");
  static final EndpointId E3 = EndpointId.parse("ns.comp.three");

  private Cards() {}

  static ModelCard.Builder base(EndpointId endpoint, long worker, String model) {
    return ModelCard.builder(endpoint, worker, model).role(WorkerRole.AGGREGATED);
  }

  static ModelCard.Builder adapter(
      EndpointId endpoint, long worker, String served, String runtimeName) {
    return ModelCard.builder(endpoint, worker, served)
        .suffix(served + "-suffix")
        .lora(new ModelCard.Lora(runtimeName, OptionalInt.empty()));
  }

  static EventSourceAdvertisement source(
      EndpointId endpoint, long worker, int rank, long publisher) {
    return new EventSourceAdvertisement(
        endpoint, new Member(worker, rank), publisher, "query-" + publisher, null);
  }

  static MembershipView view(ModelCard... cards) {
    return new MembershipTracker().update(List.of(cards));
  }

  static EndpointContent content(MembershipView view, EndpointId endpoint) {
    return view.endpoints().get(endpoint).content();
  }
}
