package io.kvrelay.micrometer;

import static io.kvrelay.micrometer.MeterSpec.byEnum;
import static io.kvrelay.micrometer.MeterSpec.counter;
import static io.kvrelay.micrometer.MeterSpec.gauge;
import static io.kvrelay.micrometer.MeterSpec.lower;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.engine.view.PlaneKind;
import io.kvrelay.engine.view.SourceState;
import io.kvrelay.engine.view.ViewCounter;
import io.kvrelay.engine.view.ViewState;
import io.kvrelay.engine.view.ViewStatistics;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** The meters of a view. */
final class ViewMeters {
  /** What is sampled. */
  record Sample(ViewStatistics statistics, ViewState state) {}

  static final List<MeterSpec<Sample>> ALL = all();

  private ViewMeters() {}

  private static List<MeterSpec<Sample>> all() {
    List<MeterSpec<Sample>> specs = new ArrayList<>();
    for (ViewCounter each : ViewCounter.values()) {
      specs.add(
          counter(
              "kvrelay.view." + lower(each).replace('_', '.'),
              null,
              "View: " + lower(each).replace('_', ' '),
              sample -> sample.statistics().count(each)));
    }
    specs.add(failures());
    specs.add(
        byEnum(
            false,
            "kvrelay.view.sources",
            "sources",
            "trust",
            SourceState.Trust.values(),
            "Attached sources, by how far what is held of them may be relied on",
            trust -> sample -> sources(sample.state(), trust)));
    specs.add(
        gauge(
            "kvrelay.view.ambiguous.names",
            "names",
            "Names that stand for more than one thing and are left out",
            sample -> sample.state().ambiguousNames().size()));
    specs.add(table("kvrelay.view.table.memory", "bytes", "Memory of all tables", t -> t.bytes()));
    specs.add(lanes());
    return List.copyOf(specs);
  }

  private static MeterSpec<Sample> failures() {
    List<MeterSpec.Series<Sample>> series = new ArrayList<>();
    for (PlaneKind plane : PlaneKind.values()) {
      for (RelayErrorReason reason : RelayErrorReason.values()) {
        series.add(
            new MeterSpec.Series<>(
                Tags.of("plane", lower(plane), "reason", lower(reason)),
                sample -> sample.statistics().failures(plane, reason)));
      }
    }
    return new MeterSpec<>(
        "kvrelay.view.failures", true, null, "Streams that failed, by plane and reason", series);
  }

  private static MeterSpec<Sample> lanes() {
    return new MeterSpec<>(
        "kvrelay.view.lanes",
        false,
        "lanes",
        "Lanes of all tables: all there are, those with a pool, those that answer queries",
        List.of(
            new MeterSpec.Series<>(
                Tags.of("state", "capacity"), sample -> sum(sample, t -> t.capacity())),
            new MeterSpec.Series<>(
                Tags.of("state", "bound"),
                sample -> sum(sample, t -> Long.bitCount(t.boundLanes()))),
            new MeterSpec.Series<>(
                Tags.of("state", "ready"),
                sample -> sum(sample, t -> Long.bitCount(t.readyLanes())))));
  }

  private static MeterSpec<Sample> table(
      String name, String unit, String description, ToLongFunction<ViewState.TableState> value) {
    return gauge(name, unit, description, sample -> sum(sample, value));
  }

  private static double sum(Sample sample, ToLongFunction<ViewState.TableState> value) {
    return sample.state().tables().stream().mapToLong(value).sum();
  }

  private static double sources(ViewState state, SourceState.Trust trust) {
    return state.sources().stream().filter(source -> source.trust() == trust).count();
  }
}
