package io.kvrelay.engine.view;

import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.WorkerRole;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What to look up: a name and a prompt. Immutable; the prompt is copied. On a hot path fill a
 * {@link ViewQuery} instead, which copies nothing.
 */
public final class PrefixRequest {
  private static final int[] NO_TOKENS = {};

  private final String model;
  private final @Nullable String adapter;
  private final @Nullable String cacheNamespace;
  private final @Nullable String namespace;
  private final Set<WorkerRole> roles;
  private final int @Nullable [] tokens;
  private final List<MultimodalObject> objects;
  private final @Nullable QuerySemantics hashSemantics;
  private final long @Nullable [] localHashes;

  private PrefixRequest(Builder builder) {
    this.model = builder.model;
    this.adapter = builder.adapter;
    this.cacheNamespace = builder.cacheNamespace;
    this.namespace = builder.namespace;
    this.roles = builder.roles.isEmpty() ? Set.of() : Set.copyOf(builder.roles);
    this.tokens = builder.tokens;
    this.objects = List.copyOf(builder.objects);
    this.hashSemantics = builder.hashSemantics;
    this.localHashes = builder.localHashes;
  }

  /**
   * A text request.
   *
   * @param model a served name: canonical, alias, or an adapter's
   * @param tokens the prompt's token ids, unsigned
   * @return the request
   */
  public static PrefixRequest of(String model, int... tokens) {
    return builder(model).tokens(tokens).build();
  }

  /**
   * Starts a request.
   *
   * @param model a served name: canonical, alias, or an adapter's
   * @return the builder
   */
  public static Builder builder(String model) {
    return new Builder(model);
  }

  /**
   * The served name.
   *
   * @return the name
   */
  public String model() {
    return model;
  }

  /**
   * Length of the prompt.
   *
   * @return tokens; 0 if only hashes are given
   */
  public int tokenCount() {
    return tokens == null ? 0 : tokens.length;
  }

  /** Fills a query with this request. */
  void fill(ViewQuery query) {
    query.clear().model(model);
    if (adapter != null) {
      query.adapter(adapter);
    }
    if (cacheNamespace != null) {
      query.cacheNamespace(cacheNamespace);
    }
    if (namespace != null) {
      query.namespace(namespace);
    }
    for (WorkerRole role : roles) {
      query.role(role);
    }
    if (tokens != null) {
      query.tokens(tokens, 0, tokens.length);
    } else if (localHashes == null) {
      query.tokens(NO_TOKENS, 0, 0);
    }
    for (MultimodalObject object : objects) {
      query.object(object.hash(), object.startToken(), object.endToken());
    }
    if (localHashes != null) {
      query.localHashes(hashSemantics, localHashes, 0, localHashes.length);
    }
  }

  @Override
  public String toString() {
    return "PrefixRequest[" + model + ", " + tokenCount() + " tokens]";
  }

  /** Collects a request. Not thread safe. */
  public static final class Builder {
    private final String model;
    private @Nullable String adapter;
    private @Nullable String cacheNamespace;
    private @Nullable String namespace;
    private final EnumSet<WorkerRole> roles = EnumSet.noneOf(WorkerRole.class);
    private int @Nullable [] tokens;
    private final List<MultimodalObject> objects = new ArrayList<>();
    private @Nullable QuerySemantics hashSemantics;
    private long @Nullable [] localHashes;

    private Builder(String model) {
      this.model = model;
    }

    /**
     * Sets the prompt.
     *
     * @param ids token ids, unsigned; copied
     * @return this
     */
    public Builder tokens(int... ids) {
      this.tokens = ids.clone();
      return this;
    }

    /**
     * Names an adapter on the model, by its served or its runtime name.
     *
     * @param name the adapter
     * @return this
     */
    public Builder adapter(String name) {
      this.adapter = name;
      return this;
    }

    /**
     * Salts the whole request with a cache namespace.
     *
     * @param name the namespace; empty means none
     * @return this
     */
    public Builder cacheNamespace(String name) {
      this.cacheNamespace = name;
      return this;
    }

    /**
     * Looks only at pools whose endpoint is in one namespace.
     *
     * @param name the namespace
     * @return this
     */
    public Builder namespace(String name) {
      this.namespace = name;
      return this;
    }

    /**
     * Looks only at pools that declare this role, or another one given.
     *
     * @param role the role
     * @return this
     */
    public Builder role(WorkerRole role) {
      roles.add(role);
      return this;
    }

    /**
     * Adds a multimodal object.
     *
     * @param object the object
     * @return this
     */
    public Builder object(MultimodalObject object) {
      objects.add(object);
      return this;
    }

    /**
     * Gives local hashes that were computed elsewhere, salts included. Pools of these semantics use
     * them instead of the tokens.
     *
     * @param semantics what they were computed with, or null if they hold for every pool
     * @param hashes one local hash per block; copied
     * @return this
     */
    public Builder localHashes(@Nullable QuerySemantics semantics, long... hashes) {
      this.hashSemantics = semantics;
      this.localHashes = hashes.clone();
      return this;
    }

    /**
     * Freezes the request.
     *
     * @return the request
     */
    public PrefixRequest build() {
      return new PrefixRequest(this);
    }

    @Override
    public String toString() {
      return "PrefixRequest.Builder[" + model + ", " + Arrays.toString(tokens) + "]";
    }
  }
}
