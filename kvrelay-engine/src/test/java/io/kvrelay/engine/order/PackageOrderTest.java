package io.kvrelay.engine.order;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.kvrelay.engine.order.lower.Lower;
import io.kvrelay.engine.order.upper.Upper;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The engine's packages stand in the order of the flow, and none looks up. A new package takes a
 * line in {@link #ROOMS}, which says whom it may see.
 */
class PackageOrderTest {

  private static final String ENGINE = "io.kvrelay.engine.";

  /**
   * Room → the rooms it may import. Every room may import the API, the JDK and {@link #LIBRARIES}.
   */
  private static final Map<String, List<String>> ROOMS =
      Map.ofEntries(
          entry("hash", List.of()),
          entry("ckf", List.of("hash")),
          entry("cbi1", List.of("ckf", "hash")),
          entry("pool", List.of("ckf", "hash")),
          entry("publication", List.of("pool", "cbi1", "ckf", "hash")),
          entry("ingest", List.of("pool", "hash")),
          entry("flow", List.of()),
          entry("topology", List.of("flow", "hash")),
          entry("load", List.of("flow")),
          entry(
              "relay",
              List.of(
                  "hash",
                  "ckf",
                  "cbi1",
                  "pool",
                  "publication",
                  "ingest",
                  "flow",
                  "topology",
                  "load")),
          entry("view", List.of("cbi1", "ckf", "hash")),
          entry("routing", List.of("view", "hash")));

  private static final List<String> LIBRARIES =
      List.of(
          "java..",
          "org.jspecify..",
          "org.jctools.queues..",
          "org.apache.commons.codec..",
          "io.kvrelay.api..");

  private static final JavaClasses PRODUCT =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.kvrelay.engine");

  static Stream<String> rooms() {
    return ROOMS.keySet().stream().sorted();
  }

  @ParameterizedTest
  @MethodSource("rooms")
  void aRoomImportsOnlyTheRoomsBelowIt(String room) {
    onlyImports(ENGINE + room, ROOMS.get(room).stream().map(below -> ENGINE + below).toList())
        .check(PRODUCT);
  }

  @Test
  void everyPackageIsARoomOfTheTable() {
    classes()
        .that()
        .resideInAPackage("io.kvrelay.engine..")
        .should()
        .resideInAnyPackage(rooms().map(room -> ENGINE + room + "..").toArray(String[]::new))
        .allowEmptyShould(true)
        .check(PRODUCT);
  }

  @Test
  void theConsumerSideAndTheProducerSideNeverSeeEachOther() {
    String[] consumer = {ENGINE + "view..", ENGINE + "routing.."};
    String[] producer = {
      ENGINE + "pool..", ENGINE + "publication..", ENGINE + "ingest..", ENGINE + "relay.."
    };
    neverSees(consumer, producer).check(PRODUCT);
    neverSees(producer, consumer).check(PRODUCT);
  }

  @Test
  void nothingReachesIntoTheJdk() {
    neverSees(
            new String[] {"io.kvrelay.engine.."},
            new String[] {"sun..", "jdk.internal..", "com.sun..", "org.jctools.util.."})
        .check(PRODUCT);
  }

  @Test
  void theRuleRefusesALookUpwards() {
    JavaClasses fixture = new ClassFileImporter().importClasses(Lower.class, Upper.class);
    String lower = Lower.class.getPackageName();
    String upper = Upper.class.getPackageName();

    assertThat(onlyImports(lower, List.of()).evaluate(fixture).hasViolation()).isTrue();
    assertThat(onlyImports(lower, List.of(upper)).evaluate(fixture).hasViolation()).isFalse();
    assertThat(onlyImports(upper, List.of()).evaluate(fixture).hasViolation()).isFalse();
  }

  private static ArchRule onlyImports(String room, List<String> below) {
    String[] seen =
        Stream.concat(
                Stream.concat(Stream.of(room), below.stream()).map(name -> name + ".."),
                LIBRARIES.stream())
            .toArray(String[]::new);
    return classes()
        .that()
        .resideInAPackage(room + "..")
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(seen))
        .allowEmptyShould(true);
  }

  private static ArchRule neverSees(String[] from, String[] to) {
    return noClasses()
        .that()
        .resideInAnyPackage(from)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(to)
        .allowEmptyShould(true);
  }
}
