package io.kvrelay.engine.view;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.LoadSnapshot;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolCatalog;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.api.RelayPublicationSource;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.ServingState;
import io.kvrelay.api.TopologyEntry;
import io.kvrelay.api.TopologyMember;
import io.kvrelay.api.TopologySnapshot;
import io.kvrelay.api.WorkerRole;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/** A relay whose every stream does what a test says, and the values that tests build with. */
final class ScriptedRelay implements RelayPublicationSource {
  static final String NAMESPACE = "prod";
  static final String MODEL = "m";
  static final int BLOCK = 4;
  static final QuerySemantics SEMANTICS =
      new QuerySemantics(BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1);
  static final CkfFormat FORMAT = new CkfFormat(CkfFormat.DEFAULT_SEED, 64);

  RelayIdentity identity;
  final ScriptedPublisher<PoolCatalog> catalog = new ScriptedPublisher<>();
  final ScriptedPublisher<TopologySnapshot> readiness = new ScriptedPublisher<>();
  final ScriptedPublisher<LoadSnapshot> load = new ScriptedPublisher<>();
  final Map<ProducerIdentity, ScriptedPublisher<PublicationFrame>> pools = new LinkedHashMap<>();
  final CompletableFuture<Void> shutdown = new CompletableFuture<>();

  ScriptedRelay(long incarnation) {
    this.identity = new RelayIdentity(7, incarnation);
  }

  @Override
  public RelayIdentity relayIdentity() {
    return identity;
  }

  @Override
  public Flow.Publisher<PoolCatalog> catalog() {
    return catalog;
  }

  @Override
  public Flow.Publisher<TopologySnapshot> readiness() {
    return readiness;
  }

  @Override
  public Flow.Publisher<LoadSnapshot> load() {
    return load;
  }

  @Override
  public Flow.Publisher<PublicationFrame> pool(ProducerIdentity expected) {
    return stream(expected);
  }

  ScriptedPublisher<PublicationFrame> stream(ProducerIdentity producer) {
    return pools.computeIfAbsent(producer, p -> new ScriptedPublisher<>());
  }

  @Override
  public CompletionStage<Void> shutdown() {
    return shutdown;
  }

  /** Streams of this filter start with its current image from now on. */
  void serve(ScriptedFilter filter) {
    stream(filter.producer()).onSubscribe = sub -> filter.snapshot(2).forEach(sub::send);
  }

  void publish(ScriptedFilter filter, PublicationFrame frame) {
    stream(filter.producer()).sendAll(frame);
  }

  /** Catalog, readiness and load that show these pools ready and a quarter full. */
  void show(long revision, PoolDescriptor... descriptors) {
    PoolCatalog next = new PoolCatalog(revision, List.of(descriptors));
    TopologySnapshot topology = topology(revision, ServingState.READY, descriptors);
    LoadSnapshot loads =
        new LoadSnapshot(
            List.of(descriptors).stream().map(d -> load(d.producer(), 25, 100)).toList());
    catalog.answer(next);
    catalog.sendAll(next);
    readiness.answer(topology);
    readiness.sendAll(topology);
    load.answer(loads);
    load.sendAll(loads);
  }

  static TopologySnapshot topology(
      long revision, ServingState state, PoolDescriptor... descriptors) {
    Map<String, TopologyEntry> entries = new LinkedHashMap<>();
    for (PoolDescriptor descriptor : descriptors) {
      for (ModelRegistration registration : descriptor.registrations()) {
        String model = registration.target().baseModel();
        entries.computeIfAbsent(model, m -> entry(m, state, descriptors));
      }
    }
    return new TopologySnapshot(revision, List.copyOf(entries.values()));
  }

  static TopologyEntry entry(String model, ServingState state, PoolDescriptor... descriptors) {
    List<TopologyMember> members =
        List.of(descriptors).stream()
            .map(d -> new TopologyMember(d.servingEndpoint(), d.roles(), d.poolId()))
            .distinct()
            .toList();
    return new TopologyEntry(
        NAMESPACE, model, state, List.of(), List.of(), members, List.of(), false, List.of());
  }

  static PoolLoad load(ProducerIdentity producer, long used, long total) {
    return new PoolLoad(producer, OptionalLong.of(used), OptionalLong.of(total), 2, 2, 2);
  }

  static IndexerDomainId domain(int number) {
    return new IndexerDomainId(
        new CacheSemanticsId(new Digest(1, number), IdentitySource.EXPLICIT),
        new RoutingScopeId(new Digest(2, number), IdentitySource.EXPLICIT));
  }

  static PoolId pool(int domain, long dc) {
    return new PoolId(domain(domain), new DcId(dc));
  }

  static ProducerIdentity producer(int domain, long dc, long incarnation, long generation) {
    return new ProducerIdentity(pool(domain, dc), incarnation, generation, FORMAT);
  }

  static PoolDescriptor descriptor(ProducerIdentity producer) {
    return descriptor(producer, WorkerRole.AGGREGATED, ModelRegistration.base(MODEL, "alias"));
  }

  static PoolDescriptor descriptor(
      ProducerIdentity producer, WorkerRole role, ModelRegistration... registrations) {
    PoolId pool = producer.poolId();
    String component =
        "w" + pool.indexerDomain().cacheSemantics().digest().low() + "-" + pool.dcId().value();
    return new PoolDescriptor(
        producer,
        new EndpointId(NAMESPACE, component, "generate"),
        List.of(registrations),
        SEMANTICS,
        List.of(role));
  }
}
