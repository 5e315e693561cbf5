package io.kvrelay.api;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/**
 * The API asks nothing of its users but a JDK: JSpecify's annotations need not be there at run
 * time.
 */
class ApiDependenciesTest {

  @Test
  void onlyTheAllowedPackagesAreUsed() {
    classes()
        .that()
        .resideInAPackage("io.kvrelay.api..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage("java..", "org.jspecify..", "io.kvrelay.api..")
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.kvrelay.api"));
  }
}
