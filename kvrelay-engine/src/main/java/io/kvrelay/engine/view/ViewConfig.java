package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.transport.ConnectOptions;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a {@link KvGlobalView}. Immutable; checked when built.
 *
 * <p>Keys and defaults: {@code lanes} 16, {@code verification_window} 2, {@code max_table_bytes}
 * three quarters of the heap, {@code frame_window} 8, {@code ingest_workers} 4, {@code
 * max_apply_age} 1 s, {@code max_catalog_age}, {@code max_readiness_age}, {@code max_load_age} and
 * {@code max_filter_age} unset (never stale), {@code subscriber_id} {@code kvrelay-view}, {@code
 * connect_timeout} 10 s.
 */
public final class ViewConfig {
  /** Largest verification window. */
  public static final int MAX_VERIFICATION_WINDOW = 8;

  /** The defaults. */
  public static final ViewConfig DEFAULTS = builder().build();

  private final Builder values;

  private ViewConfig(Builder values) {
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
   * Lanes of each table: how many pools of one domain and format the view can hold.
   *
   * @return 1..64
   */
  public int lanes() {
    return values.lanes;
  }

  /**
   * How many positions below a found depth are verified.
   *
   * @return 1..8
   */
  public int verificationWindow() {
    return values.verificationWindow;
  }

  /**
   * Most bytes of all tables together.
   *
   * @return bytes
   */
  public long maxTableBytes() {
    return values.maxTableBytes;
  }

  /**
   * Most frames of one filter stream that may be under way to its lane.
   *
   * @return frames
   */
  public int frameWindow() {
    return values.frameWindow;
  }

  /**
   * Serial workers that feed the lanes of one table.
   *
   * @return workers
   */
  public int ingestWorkers() {
    return values.ingestWorkers;
  }

  /**
   * How long a delta may wait in a worker's queue before its lane is withdrawn.
   *
   * @return the age
   */
  public Duration maxApplyAge() {
    return values.maxApplyAge;
  }

  /**
   * Age at which a plane's last sign of life no longer counts.
   *
   * @param plane the plane
   * @return the age, or null for never
   */
  public @Nullable Duration maxAge(PlaneKind plane) {
    return values.maxAges.get(plane);
  }

  /** The same in nanoseconds. */
  long maxAgeNanos(PlaneKind plane) {
    Duration age = maxAge(plane);
    if (age == null) {
      return Freshness.NEVER_STALE;
    }
    try {
      return age.toNanos();
    } catch (ArithmeticException centuries) {
      return Freshness.NEVER_STALE;
    }
  }

  /**
   * Label of the streams of sources that are attached by address.
   *
   * @return the label
   */
  public String subscriberId() {
    return values.subscriberId;
  }

  /**
   * How long one connection attempt may take.
   *
   * @return the timeout
   */
  public Duration connectTimeout() {
    return values.connectTimeout;
  }

  /**
   * Settings that only one transport knows.
   *
   * @return the attributes
   */
  public Map<String, Object> transportAttributes() {
    return values.transportAttributes;
  }

  /** Collects settings. Not thread safe. */
  public static final class Builder {
    private int lanes = 16;
    private int verificationWindow = 2;
    private long maxTableBytes = Runtime.getRuntime().maxMemory() / 4 * 3;
    private int frameWindow = 8;
    private int ingestWorkers = 4;
    private Duration maxApplyAge = Duration.ofSeconds(1);
    private final Map<PlaneKind, Duration> maxAges = new EnumMap<>(PlaneKind.class);
    private String subscriberId = "kvrelay-view";
    private Duration connectTimeout = Duration.ofSeconds(10);
    private Map<String, Object> transportAttributes = Map.of();

    private Builder() {}

    private Builder(Builder other) {
      this.lanes = other.lanes;
      this.verificationWindow = other.verificationWindow;
      this.maxTableBytes = other.maxTableBytes;
      this.frameWindow = other.frameWindow;
      this.ingestWorkers = other.ingestWorkers;
      this.maxApplyAge = other.maxApplyAge;
      this.maxAges.putAll(other.maxAges);
      this.subscriberId = other.subscriberId;
      this.connectTimeout = other.connectTimeout;
      this.transportAttributes = other.transportAttributes;
    }

    /**
     * Sets {@code lanes}. A table has 8 bytes per bucket and lane, with the lanes rounded up to a
     * power of two.
     *
     * @param value 1..64
     * @return this
     */
    public Builder lanes(int value) {
      this.lanes = value;
      return this;
    }

    /**
     * Sets {@code verification_window}.
     *
     * @param value 1..8
     * @return this
     */
    public Builder verificationWindow(int value) {
      this.verificationWindow = value;
      return this;
    }

    /**
     * Sets {@code max_table_bytes}. A pool that needs a table beyond it is refused.
     *
     * @param bytes positive
     * @return this
     */
    public Builder maxTableBytes(long bytes) {
      this.maxTableBytes = bytes;
      return this;
    }

    /**
     * Sets {@code frame_window}. A frame has up to 4 MiB.
     *
     * @param frames 1..1024
     * @return this
     */
    public Builder frameWindow(int frames) {
      this.frameWindow = frames;
      return this;
    }

    /**
     * Sets {@code ingest_workers}. They run on the view's executor and have no thread of their own.
     *
     * @param workers 1..1024
     * @return this
     */
    public Builder ingestWorkers(int workers) {
      this.ingestWorkers = workers;
      return this;
    }

    /**
     * Sets {@code max_apply_age}. A lane whose oldest waiting delta is older is withdrawn and takes
     * a new snapshot: keep it well above the pauses of the JVM and of its host.
     *
     * @param age positive
     * @return this
     */
    public Builder maxApplyAge(Duration age) {
      this.maxApplyAge = age;
      return this;
    }

    /**
     * Sets the age at which a plane's last sign of life no longer counts. Transports repeat catalog
     * and readiness and send filter heartbeats every 10 s and load every second; a bare relay in
     * the same JVM repeats nothing, so an age would make it stale.
     *
     * @param plane the plane
     * @param age positive
     * @return this
     */
    public Builder maxAge(PlaneKind plane, Duration age) {
      this.maxAges.put(plane, age);
      return this;
    }

    /**
     * Sets {@code subscriber_id}.
     *
     * @param label 1 to 128 UTF-8 bytes without control characters
     * @return this
     */
    public Builder subscriberId(String label) {
      this.subscriberId = label;
      return this;
    }

    /**
     * Sets {@code connect_timeout}.
     *
     * @param timeout positive
     * @return this
     */
    public Builder connectTimeout(Duration timeout) {
      this.connectTimeout = timeout;
      return this;
    }

    /**
     * Sets what only one transport knows.
     *
     * @param attributes by the keys that transport documents
     * @return this
     */
    public Builder transportAttributes(Map<String, Object> attributes) {
      this.transportAttributes = Map.copyOf(attributes);
      return this;
    }

    /**
     * Checks and freezes the values.
     *
     * @return the settings
     * @throws RelayException with {@code INVALID_CONFIGURATION}, naming the key and the value
     */
    public ViewConfig build() {
      within("lanes", lanes, 1, LaneLease.MAX_LANES);
      within("verification_window", verificationWindow, 1, MAX_VERIFICATION_WINDOW);
      within("max_table_bytes", maxTableBytes, 1, Long.MAX_VALUE);
      within("frame_window", frameWindow, 1, 1024);
      within("ingest_workers", ingestWorkers, 1, 1024);
      positive("max_apply_age", maxApplyAge);
      maxAges.forEach(
          (plane, age) -> positive("max_" + plane.name().toLowerCase(Locale.ROOT) + "_age", age));
      positive("connect_timeout", connectTimeout);
      String fault = ConnectOptions.subscriberIdFault(subscriberId);
      if (!fault.isEmpty()) {
        throw invalid("subscriber_id", subscriberId, fault);
      }
      return new ViewConfig(this);
    }

    private static void within(String key, long value, long least, long most) {
      if (value < least || value > most) {
        throw invalid(key, value, "must be in " + least + ".." + most);
      }
    }

    private static void positive(String key, Duration value) {
      if (value.isNegative() || value.isZero()) {
        throw invalid(key, value, "must be positive");
      }
    }

    private static RelayException invalid(String key, Object value, String rule) {
      return new RelayException(
          RelayErrorReason.INVALID_CONFIGURATION, key + " = " + value + ": " + rule);
    }
  }
}
