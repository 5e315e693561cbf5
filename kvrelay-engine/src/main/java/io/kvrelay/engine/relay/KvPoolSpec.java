package io.kvrelay.engine.relay;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.engine.hash.Identities;
import io.kvrelay.engine.pool.PoolConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a pool of a {@code KvDcRelay} is: one serving endpoint, the names it serves, how its blocks
 * are hashed, and how large its filter is. Immutable; checked when built.
 *
 * <p>Required are the endpoint, a model and the block size. Pools of several data centers can be
 * compared if their cache semantics and their routing scope are equal: by default the first is
 * derived from the first model's name and the block size, the second from the endpoint. Where one
 * model has different names, or one service different endpoints, give both explicitly.
 */
public final class KvPoolSpec {
  private final EndpointId endpoint;
  private final List<ModelRegistration> registrations;
  private final QuerySemantics querySemantics;
  private final List<WorkerRole> roles;
  private final PoolConfig pool;
  private final IndexerDomainId indexerDomain;

  private KvPoolSpec(Builder b, EndpointId endpoint) {
    this.endpoint = endpoint;
    this.registrations = List.copyOf(b.registrations);
    this.querySemantics = new QuerySemantics(b.blockSize, b.hashFormat);
    this.roles = b.roles.isEmpty() ? List.of(WorkerRole.AGGREGATED) : List.copyOf(b.roles);
    this.pool = b.pool.build();
    this.indexerDomain = new IndexerDomainId(cacheSemantics(b), routingScope(b));
  }

  private CacheSemanticsId cacheSemantics(Builder b) {
    return b.cacheSemantics != null
        ? b.cacheSemantics
        : Identities.cacheSemantics(registrations.get(0).target().baseModel(), querySemantics);
  }

  private RoutingScopeId routingScope(Builder b) {
    return b.routingScope != null ? b.routingScope : Identities.routingScope(endpoint);
  }

  /**
   * A builder without an endpoint or a model.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * The serving endpoint.
   *
   * @return the endpoint
   */
  public EndpointId endpoint() {
    return endpoint;
  }

  /**
   * The names it serves.
   *
   * @return at least one
   */
  public List<ModelRegistration> registrations() {
    return registrations;
  }

  /**
   * How its queries are hashed.
   *
   * @return the semantics
   */
  public QuerySemantics querySemantics() {
    return querySemantics;
  }

  /**
   * What its workers do.
   *
   * @return at least one
   */
  public List<WorkerRole> roles() {
    return roles;
  }

  /**
   * The layout of its filter.
   *
   * @return the format
   */
  public CkfFormat filterFormat() {
    return pool.format();
  }

  /**
   * Events after which it publishes.
   *
   * @return at least 1
   */
  public int publicationThreshold() {
    return pool.publicationThreshold();
  }

  /**
   * How long an event waits for others before it publishes.
   *
   * @return positive
   */
  public Duration publicationDelay() {
    return pool.publicationDelay();
  }

  /**
   * With which other pools it can be compared.
   *
   * @return the domain
   */
  public IndexerDomainId indexerDomain() {
    return indexerDomain;
  }

  PoolConfig pool() {
    return pool;
  }

  PoolId poolId(DcId dcId) {
    return new PoolId(indexerDomain, dcId);
  }

  /** Collects a specification. Not thread safe. */
  public static final class Builder {
    private @Nullable EndpointId endpoint;
    private final List<ModelRegistration> registrations = new ArrayList<>();
    private int blockSize;
    private QueryHashFormat hashFormat = QueryHashFormat.DYNAMO_STANDARD_V1;
    private final List<WorkerRole> roles = new ArrayList<>();
    private final PoolConfig.Builder pool = PoolConfig.builder();
    private @Nullable CacheSemanticsId cacheSemantics;
    private @Nullable RoutingScopeId routingScope;

    private Builder() {}

    /**
     * Sets the serving endpoint. Required; an endpoint has one pool at a time.
     *
     * @param text {@code namespace.component.endpoint}
     * @return this
     * @throws IllegalArgumentException if the text is anything else
     */
    public Builder endpoint(String text) {
      return endpoint(EndpointId.parse(text));
    }

    /**
     * Sets the serving endpoint. Required; an endpoint has one pool at a time.
     *
     * @param endpoint the endpoint
     * @return this
     */
    public Builder endpoint(EndpointId endpoint) {
      this.endpoint = endpoint;
      return this;
    }

    /**
     * Adds a base model under its own name. At least one name is required.
     *
     * @param name the model
     * @param aliases further names
     * @return this
     */
    public Builder model(String name, String... aliases) {
      return registration(ModelRegistration.base(name, aliases));
    }

    /**
     * Adds a name, of a base model or of an adapter.
     *
     * @param registration the name and what it stands for
     * @return this
     */
    public Builder registration(ModelRegistration registration) {
      registrations.add(registration);
      return this;
    }

    /**
     * Sets the size of a KV block. Required.
     *
     * @param tokens tokens per block, unsigned, not 0
     * @return this
     */
    public Builder blockSize(int tokens) {
      this.blockSize = tokens;
      return this;
    }

    /**
     * Sets how tokens become hashes; {@link QueryHashFormat#DYNAMO_STANDARD_V1} unless set.
     *
     * @param format the format
     * @return this
     */
    public Builder hashFormat(QueryHashFormat format) {
      this.hashFormat = format;
      return this;
    }

    /**
     * Adds a role; {@link WorkerRole#AGGREGATED} if none is added.
     *
     * @param role the role
     * @return this
     */
    public Builder role(WorkerRole role) {
      roles.add(role);
      return this;
    }

    /**
     * Sets for how many different blocks the filter is laid out; 1,048,576 unless set, a filter of
     * 4 MiB. More blocks stay exact here, but some of them are omitted from what is published.
     *
     * @param blocks positive; at most 53,687,091
     * @return this
     */
    public Builder expectedUniqueBlocks(long blocks) {
      pool.expectedUniqueBlocks(blocks);
      return this;
    }

    /**
     * Sets the filter's addressing seed. Data centers whose pools are compared in one table need
     * the same one, and the same number of buckets.
     *
     * @param seed any value
     * @return this
     */
    public Builder filterSeed(long seed) {
      pool.seed(seed);
      return this;
    }

    /**
     * Sets how many fingerprints one insert may move; 500 unless set.
     *
     * @param kicks 1..4096
     * @return this
     */
    public Builder maxKicks(int kicks) {
      pool.maxKicks(kicks);
      return this;
    }

    /**
     * Sets after how many events the pool publishes; 16 unless set.
     *
     * @param events at least 1
     * @return this
     */
    public Builder publicationThreshold(int events) {
      pool.publicationThreshold(events);
      return this;
    }

    /**
     * Sets how long an event may wait for others before the pool publishes; 1 ms unless set.
     *
     * @param delay positive
     * @return this
     */
    public Builder publicationDelay(Duration delay) {
      pool.publicationDelay(delay);
      return this;
    }

    /**
     * Gives the cache semantics instead of deriving them.
     *
     * @param id what makes two blocks the same block
     * @return this
     */
    public Builder cacheSemantics(CacheSemanticsId id) {
      this.cacheSemantics = id;
      return this;
    }

    /**
     * Gives the routing scope instead of deriving it.
     *
     * @param id within which isolation boundary blocks are shared
     * @return this
     */
    public Builder routingScope(RoutingScopeId id) {
      this.routingScope = id;
      return this;
    }

    /**
     * Checks and freezes the specification.
     *
     * @return the specification
     * @throws RelayException with {@code INVALID_CONFIGURATION}, naming the field and the value
     */
    public KvPoolSpec build() {
      EndpointId given = endpoint;
      if (given == null) {
        throw invalid("endpoint is missing");
      }
      if (registrations.isEmpty()) {
        throw invalid("registrations = []: must not be empty");
      }
      try {
        return new KvPoolSpec(this, given);
      } catch (IllegalArgumentException e) {
        // The values check themselves; their messages name the field.
        throw new RelayException(
            RelayErrorReason.INVALID_CONFIGURATION,
            RelayErrorReason.INVALID_CONFIGURATION.action(),
            String.valueOf(e.getMessage()),
            e);
      }
    }

    private static RelayException invalid(String message) {
      return new RelayException(RelayErrorReason.INVALID_CONFIGURATION, message);
    }
  }
}
