package io.kvrelay.engine.view;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;

/**
 * The reference's own schedule, probe by probe, as an oracle: doubling, grouped binary search,
 * verification window, left-edge scan. It records what it does, so that its own vectors can be
 * checked, and stands beside the product's search for comparison only.
 */
final class ReferenceSchedule {
  /** Probes of one position and the lanes they were made for. */
  record Group(int position, long lanes) {}

  final List<String> doubling = new ArrayList<>();
  final List<List<Group>> binary = new ArrayList<>();
  final List<Group> verification = new ArrayList<>();
  final List<Group> fallback = new ArrayList<>();
  final Map<Integer, Integer> probesOf = new TreeMap<>();
  int leftEdgeLanes;
  int activatedLanes;
  int fallbackProbeCalls;
  int fallbackLaneProbes;
  int provenanceSkips;
  int probeCalls;

  private final int length;
  private final int window;
  private final int lanes;
  private final boolean withFallback;
  private final IntToLongFunction holders;
  private final int[] lower;
  private final int[] predecessor;
  private final int[] upper;

  ReferenceSchedule(
      int length, int window, int lanes, boolean withFallback, IntToLongFunction holders) {
    this.length = length;
    this.window = window;
    this.lanes = lanes;
    this.withFallback = withFallback;
    this.holders = holders;
    lower = new int[lanes];
    predecessor = new int[lanes];
    upper = new int[lanes];
  }

  private long probe(int position) {
    probeCalls++;
    probesOf.merge(position, 1, Integer::sum);
    return holders.applyAsLong(position);
  }

  private static boolean has(long mask, int lane) {
    return (mask >>> lane & 1) != 0;
  }

  /** Depths by lane; meaningless for lanes that are not captured. */
  int[] search(long captured) {
    if (length == 0) {
      return upper;
    }
    doubling.add("P0");
    long active = captured & probe(0);
    if (active != 0) {
      double_(active);
      bisect(active);
      verify(active);
    }
    return upper;
  }

  private void double_(long active) {
    for (int lane = 0; lane < lanes; lane++) {
      upper[lane] = has(active, lane) ? length : 0;
    }
    long sampling = active;
    if (length > 1) {
      doubling.add("F1");
    }
    for (int position = 1; position < length && sampling != 0; position *= 2) {
      if (2 * position < length) {
        doubling.add("F" + 2 * position);
      }
      doubling.add("P" + position);
      long hits = probe(position);
      for (int lane = 0; lane < lanes; lane++) {
        if (has(sampling, lane)) {
          if (has(hits, lane)) {
            predecessor[lane] = lower[lane];
            lower[lane] = position;
          } else {
            upper[lane] = position;
            sampling &= ~(1L << lane);
          }
        }
      }
    }
  }

  private void bisect(long active) {
    while (true) {
      List<Group> groups = new ArrayList<>();
      for (int lane = 0; lane < lanes; lane++) {
        if (has(active, lane) && upper[lane] - lower[lane] > 1) {
          join(groups, lower[lane] + (upper[lane] - lower[lane]) / 2, lane);
        }
      }
      if (groups.isEmpty()) {
        return;
      }
      binary.add(groups);
      for (Group group : groups) {
        long hits = probe(group.position());
        for (int lane = 0; lane < lanes; lane++) {
          if (has(group.lanes(), lane)) {
            if (has(hits, lane)) {
              predecessor[lane] = lower[lane];
              lower[lane] = group.position();
            } else {
              upper[lane] = group.position();
            }
          }
        }
      }
    }
  }

  private static void join(List<Group> groups, int position, int lane) {
    for (int i = 0; i < groups.size(); i++) {
      if (groups.get(i).position() == position) {
        groups.set(i, new Group(position, groups.get(i).lanes() | 1L << lane));
        return;
      }
    }
    groups.add(new Group(position, 1L << lane));
  }

  private void verify(long active) {
    int[] start = new int[lanes];
    int[] end = new int[lanes];
    int first = length;
    int last = 0;
    for (int lane = 0; lane < lanes; lane++) {
      if (has(active, lane)) {
        end[lane] = upper[lane];
        start[lane] = Math.max(0, upper[lane] - window);
        first = Math.min(first, start[lane]);
        last = Math.max(last, end[lane]);
      }
    }
    long verifying = active;
    long leftEdge = 0;
    for (int position = first; position < last; position++) {
      long at = 0;
      for (int lane = 0; lane < lanes; lane++) {
        if (has(verifying, lane) && start[lane] <= position && position < end[lane]) {
          at |= 1L << lane;
        }
      }
      if (at == 0) {
        continue;
      }
      verification.add(new Group(position, at));
      long missed = at & ~probe(position);
      for (int lane = 0; lane < lanes; lane++) {
        if (has(missed, lane)) {
          upper[lane] = position;
          verifying &= ~(1L << lane);
          leftEdge |= position == start[lane] ? 1L << lane : 0;
        }
      }
    }
    leftEdgeLanes = Long.bitCount(leftEdge);
    if (withFallback) {
      scanLeft(leftEdge, start);
    }
  }

  private void scanLeft(long leftEdge, int[] start) {
    int[] cursor = new int[lanes];
    long scanning = 0;
    for (int lane = 0; lane < lanes; lane++) {
      if (has(leftEdge, lane)) {
        if (predecessor[lane] >= start[lane]) {
          provenanceSkips++;
        } else if (predecessor[lane] + 1 < start[lane]) {
          cursor[lane] = predecessor[lane] + 1;
          scanning |= 1L << lane;
          activatedLanes++;
        }
      }
    }
    while (scanning != 0) {
      int position = length;
      for (int lane = 0; lane < lanes; lane++) {
        position = has(scanning, lane) ? Math.min(position, cursor[lane]) : position;
      }
      long at = 0;
      for (int lane = 0; lane < lanes; lane++) {
        at |= has(scanning, lane) && cursor[lane] == position ? 1L << lane : 0;
      }
      fallback.add(new Group(position, at));
      fallbackProbeCalls++;
      fallbackLaneProbes += Long.bitCount(at);
      long hits = probe(position);
      for (int lane = 0; lane < lanes; lane++) {
        if (has(at, lane)) {
          if (!has(hits, lane)) {
            upper[lane] = position;
            scanning &= ~(1L << lane);
          } else if (++cursor[lane] == start[lane]) {
            scanning &= ~(1L << lane);
          }
        }
      }
    }
  }
}
