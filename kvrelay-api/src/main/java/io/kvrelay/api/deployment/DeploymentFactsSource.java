package io.kvrelay.api.deployment;

import java.util.concurrent.Flow;

/** Provider interface: where a relay's deployment facts come from. Thread safe. */
public interface DeploymentFactsSource {
  /**
   * Watches the facts. Each subscriber first gets the current snapshot as soon as one is complete,
   * then the latest one whenever the facts changed; values in between may be skipped. Revisions of
   * one subscription never decrease.
   *
   * <p>A provider that loses its own source keeps what it knows and reports it again when it is
   * back, or fails the stream. After a failure or an end the relay keeps cards and event sources,
   * takes no worker for known to be live or dead, and subscribes again; the first snapshot then
   * replaces everything.
   *
   * @param scope what the relay looks at; a provider may deliver more, which the relay ignores
   * @return a publisher; {@code subscribe} does not block
   */
  Flow.Publisher<DeploymentFacts> facts(DiscoveryScope scope);
}
