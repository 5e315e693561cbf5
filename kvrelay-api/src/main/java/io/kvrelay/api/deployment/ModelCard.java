package io.kvrelay.api.deployment;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.WorkerRole;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What one worker says about one model it serves: a base card, or an adapter card for one LoRA
 * adapter on it. A card is named by endpoint, worker and suffix.
 *
 * <p>Names and numbers are taken as they are reported: a card with an empty model name is a fact,
 * and what follows from it is decided when membership is derived. A card that a provider cannot
 * read at all goes to {@link DeploymentFacts#refused()} instead.
 *
 * @param endpoint the serving endpoint
 * @param workerId the worker (unsigned)
 * @param suffix what distinguishes an adapter card among the worker's cards, or null
 * @param modelName canonical model name; of an adapter card the name requests ask for
 * @param sourcePath where the model comes from; part of the cache identity
 * @param kvBlockSize tokens of one KV block (unsigned 32 bits); zero: the endpoint has no pool
 * @param hashFormat how tokens become hashes
 * @param explicitSemantics the operator's map that replaces {@code sourcePath} in the cache
 *     identity, or null
 * @param explicitScope the operator's map that replaces the endpoint in the routing scope, or null
 * @param modelTypes what the model does, in lower case, e.g. {@code chat}, {@code completions},
 *     {@code prefill}
 * @param role what the worker does, never {@link WorkerRole#LEGACY}; null if it does not say
 * @param needs alternatives, each a set of roles that must be present for the worker to serve;
 *     empty: none
 * @param aliases further names
 * @param lora the adapter, on an adapter card
 * @param runtime how the worker runs
 */
public record ModelCard(
    EndpointId endpoint,
    long workerId,
    @Nullable String suffix,
    String modelName,
    String sourcePath,
    int kvBlockSize,
    QueryHashFormat hashFormat,
    @Nullable Map<String, String> explicitSemantics,
    @Nullable Map<String, String> explicitScope,
    Set<String> modelTypes,
    @Nullable WorkerRole role,
    List<List<WorkerRole>> needs,
    List<String> aliases,
    @Nullable Lora lora,
    RuntimeConfig runtime) {
  /** The model type of a worker that only computes prompts. */
  public static final String PREFILL = "prefill";

  /**
   * A LoRA adapter.
   *
   * @param name the name it has inside the engine; salts its hashes
   * @param maxGpuLoraCount how many adapters the worker holds at once (unsigned), if known
   */
  public record Lora(String name, OptionalInt maxGpuLoraCount) {}

  /**
   * Checks the roles and copies the collections.
   *
   * @param endpoint the serving endpoint
   * @param workerId the worker (unsigned)
   * @param suffix what distinguishes an adapter card among the worker's cards, or null
   * @param modelName canonical model name; of an adapter card the name requests ask for
   * @param sourcePath where the model comes from; part of the cache identity
   * @param kvBlockSize tokens of one KV block (unsigned 32 bits); zero: the endpoint has no pool
   * @param hashFormat how tokens become hashes
   * @param explicitSemantics the operator's map that replaces {@code sourcePath}, or null
   * @param explicitScope the operator's map that replaces the endpoint, or null
   * @param modelTypes what the model does
   * @param role what the worker does, or null if it does not say
   * @param needs alternatives, each a set of roles
   * @param aliases further names
   * @param lora the adapter, on an adapter card
   * @param runtime how the worker runs
   * @throws IllegalArgumentException if a role is {@code LEGACY}, which no worker declares
   */
  public ModelCard {
    checkRole(role, "role");
    explicitSemantics = explicitSemantics == null ? null : Map.copyOf(explicitSemantics);
    explicitScope = explicitScope == null ? null : Map.copyOf(explicitScope);
    modelTypes = lowerCase(modelTypes);
    needs = needs.stream().map(List::copyOf).toList();
    needs.forEach(alternative -> alternative.forEach(need -> checkRole(need, "needs")));
    aliases = List.copyOf(aliases);
  }

  private static void checkRole(@Nullable WorkerRole role, String field) {
    if (role == WorkerRole.LEGACY) {
      throw new IllegalArgumentException(
          field + " = LEGACY: is no declared role; leave the role out");
    }
  }

  private static Set<String> lowerCase(Set<String> types) {
    Set<String> lower = new TreeSet<>();
    types.forEach(type -> lower.add(type.toLowerCase(Locale.ROOT)));
    return Set.copyOf(lower);
  }

  /**
   * The card as it counts: a worker without a role whose model type is prefill is a prefill worker,
   * which needs a decode worker unless it says otherwise.
   *
   * @return this card, or a completed copy
   */
  public ModelCard normalized() {
    if (role != null || !modelTypes.contains(PREFILL)) {
      return this;
    }
    Builder completed = toBuilder().role(WorkerRole.PREFILL);
    return (needs.isEmpty() ? completed.need(WorkerRole.DECODE) : completed).build();
  }

  /**
   * Starts a base card of 16-token blocks, whose source path is the model's name.
   *
   * @param endpoint the serving endpoint
   * @param workerId the worker
   * @param modelName the canonical model name
   * @return a builder
   */
  public static Builder builder(EndpointId endpoint, long workerId, String modelName) {
    return new Builder(endpoint, workerId, modelName);
  }

  /**
   * Starts from this card.
   *
   * @return a builder
   */
  public Builder toBuilder() {
    Builder builder = new Builder(endpoint, workerId, modelName);
    builder.suffix = suffix;
    builder.sourcePath = sourcePath;
    builder.kvBlockSize = kvBlockSize;
    builder.hashFormat = hashFormat;
    builder.explicitSemantics = explicitSemantics;
    builder.explicitScope = explicitScope;
    builder.modelTypes = modelTypes;
    builder.role = role;
    builder.needs.addAll(needs);
    builder.aliases = aliases;
    builder.lora = lora;
    builder.runtime = runtime;
    return builder;
  }

  /** Collects the fields of a card. Not thread safe. */
  public static final class Builder {
    private final EndpointId endpoint;
    private final long workerId;
    private final String modelName;
    private @Nullable String suffix;
    private String sourcePath;
    private int kvBlockSize = 16;
    private QueryHashFormat hashFormat = QueryHashFormat.DYNAMO_STANDARD_V1;
    private @Nullable Map<String, String> explicitSemantics;
    private @Nullable Map<String, String> explicitScope;
    private Set<String> modelTypes = Set.of();
    private @Nullable WorkerRole role;
    private final List<List<WorkerRole>> needs = new ArrayList<>();
    private List<String> aliases = List.of();
    private @Nullable Lora lora;
    private RuntimeConfig runtime = RuntimeConfig.DEFAULT;

    private Builder(EndpointId endpoint, long workerId, String modelName) {
      this.endpoint = endpoint;
      this.workerId = workerId;
      this.modelName = modelName;
      this.sourcePath = modelName;
    }

    /**
     * Makes it an adapter card, or one that is half of it.
     *
     * @param value the suffix, or null
     * @return this
     */
    public Builder suffix(@Nullable String value) {
      suffix = value;
      return this;
    }

    /**
     * Where the model comes from.
     *
     * @param value a path or a name
     * @return this
     */
    public Builder sourcePath(String value) {
      sourcePath = value;
      return this;
    }

    /**
     * Tokens of one KV block.
     *
     * @param value tokens
     * @return this
     */
    public Builder kvBlockSize(int value) {
      kvBlockSize = value;
      return this;
    }

    /**
     * How tokens become hashes.
     *
     * @param value the format
     * @return this
     */
    public Builder hashFormat(QueryHashFormat value) {
      hashFormat = value;
      return this;
    }

    /**
     * The operator's cache identity.
     *
     * @param value the map, or null for the default
     * @return this
     */
    public Builder explicitSemantics(@Nullable Map<String, String> value) {
      explicitSemantics = value;
      return this;
    }

    /**
     * The operator's routing scope.
     *
     * @param value the map, or null for the default
     * @return this
     */
    public Builder explicitScope(@Nullable Map<String, String> value) {
      explicitScope = value;
      return this;
    }

    /**
     * What the model does.
     *
     * @param values names, in either case
     * @return this
     */
    public Builder modelTypes(String... values) {
      modelTypes = Set.copyOf(List.of(values));
      return this;
    }

    /**
     * What the worker does.
     *
     * @param value the role, or null if it does not say
     * @return this
     */
    public Builder role(@Nullable WorkerRole value) {
      role = value;
      return this;
    }

    /**
     * Adds one alternative of roles that must be present.
     *
     * @param alternative the roles
     * @return this
     */
    public Builder need(WorkerRole... alternative) {
      needs.add(List.of(alternative));
      return this;
    }

    /**
     * Further names.
     *
     * @param values the names
     * @return this
     */
    public Builder aliases(String... values) {
      aliases = List.of(values);
      return this;
    }

    /**
     * The adapter.
     *
     * @param value the adapter, or null
     * @return this
     */
    public Builder lora(@Nullable Lora value) {
      lora = value;
      return this;
    }

    /**
     * How the worker runs.
     *
     * @param value the configuration
     * @return this
     */
    public Builder runtime(RuntimeConfig value) {
      runtime = value;
      return this;
    }

    /**
     * Completes the card.
     *
     * @return the card
     * @throws IllegalArgumentException if a role is {@code LEGACY}
     */
    public ModelCard build() {
      return new ModelCard(
          endpoint,
          workerId,
          suffix,
          modelName,
          sourcePath,
          kvBlockSize,
          hashFormat,
          explicitSemantics,
          explicitScope,
          modelTypes,
          role,
          needs,
          aliases,
          lora,
          runtime);
    }
  }
}
