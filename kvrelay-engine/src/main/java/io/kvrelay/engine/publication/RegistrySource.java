package io.kvrelay.engine.publication;

import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.TopologySnapshot;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** The registry as its subscribers see it: they get no hand on the watches themselves. */
final class RegistrySource implements RelayPublicationSource {
  private final PoolRegistry registry;

  RegistrySource(PoolRegistry registry) {
    this.registry = registry;
  }

  @Override
  public RelayIdentity relayIdentity() {
    return registry.identity();
  }

  @Override
  public Flow.Publisher<PoolCatalog> catalog() {
    return subscriber -> registry.catalog().subscribe(subscriber);
  }

  @Override
  public Flow.Publisher<TopologySnapshot> readiness() {
    return subscriber -> registry.readiness().subscribe(subscriber);
  }

  @Override
  public Flow.Publisher<LoadSnapshot> load() {
    return subscriber -> registry.load().subscribe(subscriber);
  }

  @Override
  public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
    Objects.requireNonNull(expected, "expected");
    return subscriber ->
        new PoolStream(registry, expected, Objects.requireNonNull(subscriber, "subscriber"))
            .start();
  }

  @Override
  public CompletionStage<Void> shutdown() {
    return registry.shutdownStage();
  }
}
