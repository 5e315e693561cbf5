package io.kvrelay.api.deployment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import java.util.List;
import org.junit.jupiter.api.Test;

class DiscoveryScopeTest {
  private static DiscoveryScope scope(boolean all, List<String> namespaces, String... prefixes) {
    return new DiscoveryScope(all, namespaces, List.of(prefixes));
  }

  private static boolean matches(DiscoveryScope scope, String endpoint) {
    return scope.matches(EndpointId.parse(endpoint));
  }

  @Test
  void eitherAllOrSomeNamespacesAreWatched() {
    assertThatThrownBy(() -> scope(false, List.of())).hasMessageContaining("namespaces = []");
    assertThatThrownBy(() -> scope(true, List.of("ns"))).hasMessageContaining("namespaces = [ns]");
    assertThat(matches(DiscoveryScope.ALL, "any.comp.ep")).isTrue();
    assertThat(matches(DiscoveryScope.of("a", "b"), "b.comp.ep")).isTrue();
    assertThat(matches(DiscoveryScope.of("a", "b"), "c.comp.ep")).isFalse();
  }

  @Test
  void emptyUntrimmedOrRepeatedTextsAreRefused() {
    for (String bad : List.of("", " ns", "ns\u00a0", "ns\t")) {
      assertThatThrownBy(() -> DiscoveryScope.of(bad)).hasMessageContaining("namespaces = \"");
      assertThatThrownBy(() -> scope(true, List.of(), bad))
          .hasMessageContaining("endpointPrefixes = \"");
    }
    assertThatThrownBy(() -> DiscoveryScope.of("ns", "ns")).hasMessageContaining("one value twice");
    assertThatThrownBy(() -> scope(true, List.of(), "a", "a"))
        .hasMessageContaining("one value twice");
  }

  @Test
  void aPrefixMustLieInOneOfTheNamespaces() {
    assertThatThrownBy(() -> scope(false, List.of("ns"), "other.comp"))
        .hasMessageContaining("\"other.comp\"");
    assertThatThrownBy(() -> scope(false, List.of("ns"), "nsx.comp"))
        .hasMessageContaining("\"nsx.comp\"");
    assertThat(scope(false, List.of("ns"), "ns", "ns.comp").endpointPrefixes()).hasSize(2);
    assertThat(matches(scope(true, List.of(), "other.comp"), "other.comp.ep")).isTrue();
  }

  @Test
  void aPrefixMatchesWholeParts() {
    DiscoveryScope component = scope(false, List.of("ns"), "ns.comp");

    assertThat(matches(component, "ns.comp.x")).isTrue();
    assertThat(matches(component, "ns.component.x")).isFalse();
    assertThat(matches(scope(false, List.of("ns"), "ns"), "ns.component.x")).isTrue();
    assertThat(matches(scope(false, List.of("ns"), "ns.comp.ep"), "ns.comp.ep")).isTrue();
    assertThat(matches(scope(false, List.of("ns"), "ns.comp.ep"), "ns.comp.epic")).isFalse();
  }

  @Test
  void aPrefixOfMoreThanThreePartsMatchesNothing() {
    assertThat(matches(scope(false, List.of("ns"), "ns.comp.ep.x"), "ns.comp.ep")).isFalse();
  }
}
