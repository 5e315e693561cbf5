package io.kvrelay.events.zmq;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.QuerySemantics;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One rank's event stream: where it is, whose it is, and how its events are to be understood.
 * Immutable. The identity of a source comes from here; a topic only selects the stream.
 */
public final class EngineSource {
  private static final long MAX_TOKEN = 0xFFFF_FFFFL;

  private final EndpointId kvStateEndpoint;
  private final Member member;
  private final EngineKind engine;
  private final String address;
  private final @Nullable String replayAddress;
  private final @Nullable String topic;
  private final boolean bind;
  private final QuerySemantics semantics;
  private final Map<Long, String> adapters;
  private final String cacheNamespace;
  private final long imageToken;
  private final long videoToken;
  private final MultimodalRule multimodalRule;
  private final boolean rankChecked;
  private final int maxBlocks;
  private final int historyEvents;
  private final int heldBatches;

  private EngineSource(Builder b) {
    this.kvStateEndpoint = b.kvStateEndpoint;
    this.member = b.member;
    this.engine = b.engine;
    this.address = b.address;
    this.replayAddress = b.replayAddress;
    this.topic = b.topic;
    this.bind = b.bind;
    this.semantics = b.semantics;
    this.adapters = Map.copyOf(b.adapters);
    this.cacheNamespace = b.cacheNamespace;
    this.imageToken = b.imageToken;
    this.videoToken = b.videoToken;
    this.multimodalRule = b.multimodalRule;
    this.rankChecked = b.rankChecked == null ? b.engine != EngineKind.SGLANG : b.rankChecked;
    this.maxBlocks = b.maxBlocks;
    this.historyEvents = b.historyEvents;
    this.heldBatches = b.heldBatches;
  }

  /**
   * Starts a source.
   *
   * @param kvStateEndpoint the endpoint under which it is advertised to the relay
   * @param member the rank
   * @param address where the engine publishes, as ZeroMQ writes addresses
   * @param semantics the pool's block size and hash format
   * @return a builder
   */
  public static Builder builder(
      EndpointId kvStateEndpoint, Member member, String address, QuerySemantics semantics) {
    return new Builder(kvStateEndpoint, member, address, semantics);
  }

  /**
   * A builder that holds this source's values.
   *
   * @return a builder
   */
  public Builder toBuilder() {
    return copyTo(new Builder(kvStateEndpoint, member, address, semantics))
        .replayAddress(replayAddress);
  }

  /** Everything but identity and addresses. */
  Builder copyTo(Builder builder) {
    return builder
        .engine(engine)
        .topic(topic)
        .bind(bind)
        .adapters(adapters)
        .cacheNamespace(cacheNamespace)
        .placeholderTokens(imageToken, videoToken)
        .multimodalRule(multimodalRule)
        .rankChecked(rankChecked)
        .maxBlocks(maxBlocks)
        .historyEvents(historyEvents)
        .heldBatches(heldBatches);
  }

  /** Collects a source's values. Not thread safe. */
  public static final class Builder {
    private final EndpointId kvStateEndpoint;
    private final Member member;
    private final String address;
    private final QuerySemantics semantics;
    private EngineKind engine = EngineKind.VLLM;
    private @Nullable String replayAddress;
    private @Nullable String topic;
    private boolean bind;
    private Map<Long, String> adapters = new HashMap<>();
    private String cacheNamespace = "";
    private long imageToken = -1;
    private long videoToken = -1;
    private MultimodalRule multimodalRule = MultimodalRule.ANY_IDENTIFIER;
    private @Nullable Boolean rankChecked;
    private int maxBlocks = 1 << 24;
    private int historyEvents = 1024;
    private int heldBatches = 10_000;

    private Builder(
        EndpointId kvStateEndpoint, Member member, String address, QuerySemantics semantics) {
      this.kvStateEndpoint = kvStateEndpoint;
      this.member = member;
      this.address = address;
      this.semantics = semantics;
    }

    /**
     * Sets the engine. Default: {@link EngineKind#VLLM}.
     *
     * @param engine the engine
     * @return this
     */
    public Builder engine(EngineKind engine) {
      this.engine = engine;
      return this;
    }

    /**
     * Sets where the engine replays what it has published. Default: nowhere, so every gap resets
     * the rank.
     *
     * @param replayAddress the address of a ROUTER socket, or null
     * @return this
     */
    public Builder replayAddress(@Nullable String replayAddress) {
      this.replayAddress = replayAddress;
      return this;
    }

    /**
     * Selects the messages with exactly this topic. Needed where several engines publish to one
     * address. Default: all messages, which must come from one publisher.
     *
     * @param topic the topic, possibly empty, or null for any
     * @return this
     */
    public Builder topic(@Nullable String topic) {
      this.topic = topic;
      return this;
    }

    /**
     * Binds the address, for engines that connect to one central subscriber. Default: connects.
     *
     * @param bind true to bind
     * @return this
     */
    public Builder bind(boolean bind) {
      this.bind = bind;
      return this;
    }

    /**
     * Sets the runtime names of adapters, for events that give only an adapter's id. A store of an
     * adapter without a name is refused, since its blocks could not be told from the base model's.
     *
     * @param adapters names by id
     * @return this
     */
    public Builder adapters(Map<Long, String> adapters) {
      this.adapters = new HashMap<>(adapters);
      return this;
    }

    /**
     * Sets the cache namespace of everything that the source stores without a salt of its own.
     *
     * @param cacheNamespace the namespace; empty for none
     * @return this
     */
    public Builder cacheNamespace(String cacheNamespace) {
      this.cacheNamespace = cacheNamespace;
      return this;
    }

    /**
     * Sets the model's placeholder tokens.
     *
     * @param imageToken token id of an image's position, or -1
     * @param videoToken token id of a video's position, or -1
     * @return this
     */
    public Builder placeholderTokens(long imageToken, long videoToken) {
      this.imageToken = imageToken;
      this.videoToken = videoToken;
      return this;
    }

    /**
     * Sets which extra keys name multimodal objects.
     *
     * @param multimodalRule the rule
     * @return this
     */
    public Builder multimodalRule(MultimodalRule multimodalRule) {
      this.multimodalRule = multimodalRule;
      return this;
    }

    /**
     * Whether a batch that names another rank than the member's is refused. Default: yes, except
     * for SGLang, which numbers ranks otherwise under plain data parallelism.
     *
     * @param rankChecked true to refuse
     * @return this
     */
    public Builder rankChecked(boolean rankChecked) {
      this.rankChecked = rankChecked;
      return this;
    }

    /**
     * Bounds the distinct blocks that are remembered for each tier. What does not fit is not
     * published, and the source is called degraded. Default: 16,777,216.
     *
     * @param maxBlocks positive
     * @return this
     */
    public Builder maxBlocks(int maxBlocks) {
      this.maxBlocks = maxBlocks;
      return this;
    }

    /**
     * Bounds the newest relay events kept to repeat them; older ones are answered with the whole
     * state. Default: 1024.
     *
     * @param historyEvents 0 or more
     * @return this
     */
    public Builder historyEvents(int historyEvents) {
      this.historyEvents = historyEvents;
      return this;
    }

    /**
     * Bounds the live batches held back while a replay runs; more is a gap. Default: 10,000.
     *
     * @param heldBatches positive
     * @return this
     */
    public Builder heldBatches(int heldBatches) {
      this.heldBatches = heldBatches;
      return this;
    }

    /**
     * Creates the source.
     *
     * @return the source
     * @throws IllegalArgumentException naming the value that is not acceptable
     */
    public EngineSource build() {
      Addresses.check("address", address);
      if (replayAddress != null) {
        Addresses.check("replayAddress", replayAddress);
        check(
            !replayAddress.equals(address),
            "replayAddress",
            replayAddress,
            "must not be the address that the engine publishes to");
      }
      check(semantics.kvBlockSize() > 0, "blockSize", semantics.kvBlockSize(), "is too large");
      token("imageToken", imageToken);
      token("videoToken", videoToken);
      check(maxBlocks > 0 && maxBlocks <= 1 << 28, "maxBlocks", maxBlocks, "must be 1..2^28");
      check(historyEvents >= 0, "historyEvents", historyEvents, "must not be negative");
      check(heldBatches > 0, "heldBatches", heldBatches, "must be positive");
      return new EngineSource(this);
    }

    private static void token(String field, long value) {
      check(
          value >= -1 && value <= MAX_TOKEN,
          field,
          value,
          "must be -1 or an unsigned 32-bit token id");
    }

    private static void check(boolean condition, String field, Object value, String rule) {
      if (!condition) {
        throw new IllegalArgumentException(field + " = " + value + ": " + rule);
      }
    }
  }

  /**
   * The endpoint under which it is advertised.
   *
   * @return the endpoint
   */
  public EndpointId kvStateEndpoint() {
    return kvStateEndpoint;
  }

  /**
   * Whose events they are.
   *
   * @return the rank
   */
  public Member member() {
    return member;
  }

  /**
   * The engine.
   *
   * @return the kind
   */
  public EngineKind engine() {
    return engine;
  }

  /**
   * Where the engine publishes.
   *
   * @return the address
   */
  public String address() {
    return address;
  }

  /**
   * Where it replays.
   *
   * @return the address, or null
   */
  public @Nullable String replayAddress() {
    return replayAddress;
  }

  /**
   * The topic that selects its messages.
   *
   * @return the topic, or null for any
   */
  public @Nullable String topic() {
    return topic;
  }

  /**
   * Whether engines connect to the address instead of binding it.
   *
   * @return true if the address is bound here
   */
  public boolean bind() {
    return bind;
  }

  /**
   * Block size and hash format of the pool.
   *
   * @return the semantics
   */
  public QuerySemantics semantics() {
    return semantics;
  }

  /**
   * Runtime names of adapters.
   *
   * @return names by id
   */
  public Map<Long, String> adapters() {
    return adapters;
  }

  /**
   * The namespace of stores without a salt.
   *
   * @return the namespace, possibly empty
   */
  public String cacheNamespace() {
    return cacheNamespace;
  }

  /**
   * The token id of an image's position.
   *
   * @return the id, or -1
   */
  public long imageToken() {
    return imageToken;
  }

  /**
   * The token id of a video's position.
   *
   * @return the id, or -1
   */
  public long videoToken() {
    return videoToken;
  }

  /**
   * Which extra keys name multimodal objects.
   *
   * @return the rule
   */
  public MultimodalRule multimodalRule() {
    return multimodalRule;
  }

  /**
   * Whether a batch of another rank is refused.
   *
   * @return true if so
   */
  public boolean rankChecked() {
    return rankChecked;
  }

  /**
   * Bound of remembered blocks for each tier.
   *
   * @return the bound
   */
  public int maxBlocks() {
    return maxBlocks;
  }

  /**
   * Bound of relay events kept to repeat them.
   *
   * @return the bound
   */
  public int historyEvents() {
    return historyEvents;
  }

  /**
   * Bound of live batches held back during a replay.
   *
   * @return the bound
   */
  public int heldBatches() {
    return heldBatches;
  }

  private List<@Nullable Object> parts() {
    return Arrays.asList(
        kvStateEndpoint,
        member,
        engine,
        address,
        replayAddress,
        topic,
        bind,
        semantics,
        adapters,
        cacheNamespace,
        imageToken,
        videoToken,
        multimodalRule,
        rankChecked,
        maxBlocks,
        historyEvents,
        heldBatches);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof EngineSource source && parts().equals(source.parts());
  }

  @Override
  public int hashCode() {
    return Objects.hash(kvStateEndpoint, member, address, topic);
  }

  /** Rank and address. */
  @Override
  public String toString() {
    return member + " at " + address + (topic == null ? "" : " topic \"" + topic + "\"");
  }
}
