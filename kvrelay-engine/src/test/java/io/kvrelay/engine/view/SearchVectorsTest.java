package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.engine.testing.Json;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The search vectors: the product's search by contract, the oracle by every probe. */
class SearchVectorsTest {

  record Vector(String name, Json json) {
    @Override
    public String toString() {
      return name;
    }

    int length() {
      return json.get("n").integer();
    }

    int window() {
      return json.get("window").integer();
    }

    int lanes() {
      return json.get("lanes").size();
    }

    long captured() {
      long all = lanes() == 64 ? -1 : (1L << lanes()) - 1;
      return json.has("captured") ? json.get("captured").u64() : all;
    }

    BitSet presence(int lane) {
      Json present = json.get("lanes").get(lane).get("present");
      BitSet set = new BitSet();
      if (present.isList()) {
        for (int i = 0; i < present.size(); i++) {
          set.set(i, present.get(i).integer() == 1);
        }
        return set;
      }
      for (Json range : present.get("ranges")) {
        set.set(range.get(0).integer(), range.get(1).integer());
      }
      if (present.has("holes")) {
        for (Json hole : present.get("holes")) {
          set.clear(hole.integer());
        }
      }
      return set;
    }
  }

  static Stream<Vector> vectors() {
    List<Vector> vectors = new ArrayList<>();
    Json.resource("/vectors/search_vectors.json")
        .forEach(json -> vectors.add(new Vector(json.get("name").text(), json)));
    assertThat(vectors).hasSize(41);
    return vectors.stream();
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void theSearchMeetsTheContract(Vector vector) {
    PresenceTable table = new PresenceTable(vector.lanes(), vector.length());
    for (int lane = 0; lane < vector.lanes(); lane++) {
      if ((vector.captured() >>> lane & 1) != 0) {
        table.hold(lane, vector.presence(lane));
      }
    }
    PrefixQuery query = new PrefixQuery(table.index, vector.window());
    int[] depths = table.search(query);
    assertThat(query.capturedLanes()).isEqualTo(vector.captured());
    boolean fixed = vector.json().get("binding").text().equals("contract");
    for (int lane = 0; lane < vector.lanes(); lane++) {
      Json expected = vector.json().get("expect_depths").get(lane);
      assertThat(DepthContract.linear(vector.presence(lane), vector.length()))
          .isEqualTo(vector.json().get("expect_linear_depths").get(lane).integer());
      if (expected.isNull()) {
        continue;
      }
      if (fixed) {
        assertThat(depths[lane]).as("lane %d", lane).isEqualTo(expected.integer());
      }
      assertThat(
              DepthContract.violation(
                  vector.presence(lane), vector.length(), vector.window(), depths[lane]))
          .as("lane %d", lane)
          .isNull();
    }
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void theOracleIsTheReference(Vector vector) {
    Json json = vector.json();
    BitSet[] presence = new BitSet[vector.lanes()];
    for (int lane = 0; lane < presence.length; lane++) {
      presence[lane] = vector.presence(lane);
    }
    ReferenceSchedule reference = oracle(vector.length(), vector.window(), presence, true);
    int[] depths = reference.search(vector.captured());
    for (int lane = 0; lane < presence.length; lane++) {
      Json expected = json.get("expect_depths").get(lane);
      if (!expected.isNull()) {
        assertThat(depths[lane]).as("lane %d", lane).isEqualTo(expected.integer());
      }
      if (json.has("window_clean")) {
        assertThat(DepthContract.windowIsClean(presence[lane], depths[lane], vector.window()))
            .isEqualTo(json.get("window_clean").get(lane).bool());
      }
    }
    assertSchedule(json, reference);
  }

  static ReferenceSchedule oracle(int length, int window, BitSet[] presence, boolean fallback) {
    return new ReferenceSchedule(
        length,
        window,
        presence.length,
        fallback,
        position -> {
          long holders = 0;
          for (int lane = 0; lane < presence.length; lane++) {
            holders |= presence[lane].get(position) ? 1L << lane : 0;
          }
          return holders;
        });
  }

  private static void assertSchedule(Json json, ReferenceSchedule reference) {
    if (json.has("expect_doubling_order")) {
      List<String> order = new ArrayList<>();
      json.get("expect_doubling_order").forEach(step -> order.add(step.text()));
      assertThat(reference.doubling).startsWith(order.toArray(String[]::new));
    }
    if (json.has("expect_probe_groups")) {
      Json groups = json.get("expect_probe_groups");
      if (groups.has("binary")) {
        List<List<ReferenceSchedule.Group>> levels = new ArrayList<>();
        groups.get("binary").forEach(level -> levels.add(groups(level)));
        assertThat(reference.binary).isEqualTo(levels);
      }
      if (groups.has("verification")) {
        assertThat(reference.verification).isEqualTo(groups(groups.get("verification")));
      }
      if (groups.has("fallback")) {
        assertThat(reference.fallback).isEqualTo(groups(groups.get("fallback")));
      }
    }
    if (json.has("expect_fallback")) {
      Json counters = json.get("expect_fallback");
      assertThat(
              new int[] {
                reference.leftEdgeLanes,
                reference.activatedLanes,
                reference.fallbackProbeCalls,
                reference.fallbackLaneProbes,
                reference.provenanceSkips
              })
          .containsExactly(
              counters.get("left_edge_lanes").integer(),
              counters.get("activated_lanes").integer(),
              counters.get("probe_calls").integer(),
              counters.get("lane_probes").integer(),
              counters.get("provenance_skips").integer());
    }
    if (json.has("expect_probed_once")) {
      json.get("expect_probed_once")
          .forEach(p -> assertThat(reference.probesOf).containsEntry(p.integer(), 1));
      json.get("expect_never_probed")
          .forEach(p -> assertThat(reference.probesOf).doesNotContainKey(p.integer()));
    }
    if (json.has("expect_probe_calls")) {
      assertThat(reference.probeCalls).isEqualTo(json.get("expect_probe_calls").integer());
    }
    if (json.has("expect_max_probe_calls")) {
      assertThat(reference.probeCalls)
          .isLessThanOrEqualTo(json.get("expect_max_probe_calls").integer());
    }
  }

  private static List<ReferenceSchedule.Group> groups(Json json) {
    List<ReferenceSchedule.Group> groups = new ArrayList<>();
    json.forEach(
        group ->
            groups.add(new ReferenceSchedule.Group(group.get(0).integer(), group.get(1).u64())));
    return groups;
  }
}
