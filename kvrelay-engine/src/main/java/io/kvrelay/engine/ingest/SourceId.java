package io.kvrelay.engine.ingest;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.EventSourceAdvertisement;

/** Names one life of one rank's source; equal only if all three parts are. */
record SourceId(EndpointId kvStateEndpoint, Member member, long publisherId) {
  static SourceId of(EventSourceAdvertisement source) {
    return new SourceId(source.kvStateEndpoint(), source.member(), source.publisherId());
  }

  @Override
  public String toString() {
    return "source " + Long.toUnsignedString(publisherId) + " of rank " + member;
  }
}
