package io.kvrelay.micrometer;

import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * One meter: what it is called, and where its series get their values from.
 *
 * @param name the meter's name
 * @param counter true for a counter, false for a gauge
 * @param unit the base unit, or null for a plain number
 * @param description what it says
 * @param series the series, told apart by their tags
 * @param <S> what is sampled
 */
record MeterSpec<S>(
    String name,
    boolean counter,
    @Nullable String unit,
    String description,
    List<Series<S>> series) {
  /**
   * One series.
   *
   * @param tags what tells it apart
   * @param value its value in a sample
   * @param <S> what is sampled
   */
  record Series<S>(Tags tags, ToDoubleFunction<S> value) {}

  static <S> MeterSpec<S> counter(
      String name, @Nullable String unit, String description, ToDoubleFunction<S> value) {
    return new MeterSpec<>(
        name, true, unit, description, List.of(new Series<>(Tags.empty(), value)));
  }

  static <S> MeterSpec<S> gauge(
      String name, @Nullable String unit, String description, ToDoubleFunction<S> value) {
    return new MeterSpec<>(
        name, false, unit, description, List.of(new Series<>(Tags.empty(), value)));
  }

  /** A meter with a series for each value of an enumeration. */
  static <S, E extends Enum<E>> MeterSpec<S> byEnum(
      boolean counter,
      String name,
      @Nullable String unit,
      String tag,
      E[] values,
      String description,
      Function<E, ToDoubleFunction<S>> value) {
    List<Series<S>> series = new ArrayList<>();
    for (E each : values) {
      series.add(new Series<>(Tags.of(tag, lower(each)), value.apply(each)));
    }
    return new MeterSpec<>(name, counter, unit, description, series);
  }

  /** Tag values and parts of names are in lower case with underscores. */
  static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  /** The same of a part of what is sampled; 0, or not a number for a gauge, without that part. */
  <T> MeterSpec<T> of(Function<T, @Nullable S> part) {
    List<Series<T>> lifted = new ArrayList<>();
    for (Series<S> each : series) {
      lifted.add(
          new Series<>(
              each.tags(),
              whole -> {
                S found = part.apply(whole);
                return found == null ? counter ? 0 : Double.NaN : each.value().applyAsDouble(found);
              }));
    }
    return new MeterSpec<>(name, counter, unit, description, lifted);
  }
}
