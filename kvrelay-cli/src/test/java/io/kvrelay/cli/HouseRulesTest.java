package io.kvrelay.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static java.util.function.Predicate.not;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** Rules for every module: the command line is the one that sees them all. */
class HouseRulesTest {

  private static final String GENERATED = "io.kvrelay.transport.grpc.v1";

  private static final JavaClasses PRODUCT =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("io.kvrelay");

  @Test
  void noClassUsesTheInternalsOfTheJdk() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("sun.misc..", "jdk.internal..")
        .check(PRODUCT);
  }

  @Test
  void everyPackageSaysWhatMayBeNull() {
    Set<JavaPackage> packages =
        PRODUCT.stream().map(JavaClass::getPackage).collect(Collectors.toSet());

    assertThat(packages)
        .filteredOn(where -> !where.getName().equals(GENERATED))
        .isNotEmpty()
        .filteredOn(not(where -> where.isAnnotatedWith(NullMarked.class)))
        .isEmpty();
  }
}
