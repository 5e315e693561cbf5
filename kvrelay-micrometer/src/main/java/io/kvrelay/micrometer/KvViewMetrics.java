package io.kvrelay.micrometer;

import io.kvrelay.engine.view.KvGlobalView;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * A view's statistics as meters; {@code docs/operations.md} lists them. Reading a meter takes the
 * view's statistics, at most ten times a second.
 *
 * <p>Thread safe; nothing blocks. The registry keeps the view reachable until this is closed.
 */
public final class KvViewMetrics implements MeterBinder, AutoCloseable {
  private final Tags tags;
  private final Sampler<ViewMeters.Sample> sampler;
  // Guarded by this.
  private final List<MeterSet> bound = new ArrayList<>();

  /**
   * Meters of a view.
   *
   * @param view the view
   * @param tags tags of every meter, such as the view's name where there are several
   */
  public KvViewMetrics(KvGlobalView view, Iterable<Tag> tags) {
    this(view, tags, System::nanoTime);
  }

  KvViewMetrics(KvGlobalView view, Iterable<Tag> tags, LongSupplier nanoTime) {
    this.tags = Tags.of(tags);
    this.sampler =
        new Sampler<>(() -> new ViewMeters.Sample(view.statistics(), view.state()), nanoTime);
  }

  @Override
  public synchronized void bindTo(MeterRegistry registry) {
    MeterSet meters = new MeterSet(registry, tags);
    meters.add(ViewMeters.ALL, sampler::get);
    bound.add(meters);
  }

  /** Removes every meter. Idempotent. */
  @Override
  public synchronized void close() {
    bound.forEach(MeterSet::remove);
    bound.clear();
  }
}
