package io.kvrelay.engine.routing;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.util.Objects;
import java.util.OptionalDouble;

/**
 * Settings of a {@link KvRouter}. Immutable; checked when built.
 *
 * <p>Keys and defaults: {@code scorer} longest prefix, {@code recent_load} none, {@code
 * max_recent_load_factor} 1.25, {@code fallback} none, {@code min_prefix_tokens} 0, {@code
 * allow_unknown_readiness} false.
 */
public final class RouterConfig {
  /** The defaults. */
  public static final RouterConfig DEFAULTS = builder().build();

  private final Builder values;

  private RouterConfig(Builder values) {
    this.values = new Builder(values);
  }

  /**
   * A builder that holds the defaults.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * A builder that holds these values.
   *
   * @return the builder
   */
  public Builder toBuilder() {
    return new Builder(values);
  }

  /**
   * What rates candidates.
   *
   * @return the scorer
   */
  public PoolScorer scorer() {
    return values.scorer;
  }

  /**
   * The host's figures for recent work.
   *
   * @return the figures
   */
  public RecentLoad recentLoad() {
    return values.recentLoad;
  }

  /**
   * How far above the mean a data center's recent load may be.
   *
   * @return the factor
   */
  public double maxRecentLoadFactor() {
    return values.maxRecentLoadFactor;
  }

  /**
   * What to do without a usable prefix.
   *
   * @return the fallback
   */
  public Fallback fallback() {
    return values.fallback;
  }

  /**
   * Reusable tokens below which a prefix is not worth following.
   *
   * @return tokens
   */
  public long minPrefixTokens() {
    return values.minPrefixTokens;
  }

  /**
   * Whether a pool whose readiness the relay does not know may be chosen.
   *
   * @return false unless set
   */
  public boolean allowUnknownReadiness() {
    return values.allowUnknownReadiness;
  }

  /** Collects settings. Not thread safe. */
  public static final class Builder {
    private PoolScorer scorer = PoolScorer.longestPrefix();
    private RecentLoad recentLoad = dcId -> OptionalDouble.empty();
    private double maxRecentLoadFactor = 1.25;
    private Fallback fallback = Fallback.none();
    private long minPrefixTokens = 1;
    private boolean allowUnknownReadiness;

    private Builder() {}

    private Builder(Builder other) {
      this.scorer = other.scorer;
      this.recentLoad = other.recentLoad;
      this.maxRecentLoadFactor = other.maxRecentLoadFactor;
      this.fallback = other.fallback;
      this.minPrefixTokens = other.minPrefixTokens;
      this.allowUnknownReadiness = other.allowUnknownReadiness;
    }

    /**
     * Sets {@code scorer}.
     *
     * @param value the scorer
     * @return this
     */
    public Builder scorer(PoolScorer value) {
      this.scorer = Objects.requireNonNull(value, "scorer");
      return this;
    }

    /**
     * Sets {@code recent_load}.
     *
     * @param value the host's figures
     * @return this
     */
    public Builder recentLoad(RecentLoad value) {
      this.recentLoad = Objects.requireNonNull(value, "recentLoad");
      return this;
    }

    /**
     * Sets {@code max_recent_load_factor}: a data center whose recent load is above this multiple
     * of the mean over all ready candidates' data centers is passed over.
     *
     * @param value at least 1; infinity for no limit
     * @return this
     */
    public Builder maxRecentLoadFactor(double value) {
      this.maxRecentLoadFactor = value;
      return this;
    }

    /**
     * Sets {@code fallback}.
     *
     * @param value the fallback
     * @return this
     */
    public Builder fallback(Fallback value) {
      this.fallback = Objects.requireNonNull(value, "fallback");
      return this;
    }

    /**
     * Sets {@code min_prefix_tokens}: with a fallback, a request of which no candidate within the
     * load limit holds so many tokens takes the fallback.
     *
     * @param tokens at least 0; 1 unless set; 0 follows every answer, a depth of 0 included
     * @return this
     */
    public Builder minPrefixTokens(long tokens) {
      this.minPrefixTokens = tokens;
      return this;
    }

    /**
     * Sets {@code allow_unknown_readiness}. Absence, staleness and a missing readiness plane are
     * never taken for ready, whatever this says.
     *
     * @param value whether {@code UNKNOWN} may be chosen
     * @return this
     */
    public Builder allowUnknownReadiness(boolean value) {
      this.allowUnknownReadiness = value;
      return this;
    }

    /**
     * Checks and freezes the values.
     *
     * @return the settings
     * @throws RelayException with {@code INVALID_CONFIGURATION}, naming the key and the value
     */
    public RouterConfig build() {
      if (!(maxRecentLoadFactor >= 1)) {
        throw invalid("max_recent_load_factor", maxRecentLoadFactor, "must be at least 1");
      }
      if (minPrefixTokens < 0) {
        throw invalid("min_prefix_tokens", minPrefixTokens, "must not be negative");
      }
      return new RouterConfig(this);
    }

    private static RelayException invalid(String key, Object value, String rule) {
      return new RelayException(
          RelayErrorReason.INVALID_CONFIGURATION, key + " = " + value + ": " + rule);
    }
  }
}
