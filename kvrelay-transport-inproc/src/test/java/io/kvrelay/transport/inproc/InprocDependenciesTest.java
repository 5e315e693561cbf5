package io.kvrelay.transport.inproc;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** A transport stands on the API alone, so any other can take its place. */
class InprocDependenciesTest {

  @Test
  void onlyTheAllowedPackagesAreUsed() {
    classes()
        .that()
        .resideInAPackage("io.kvrelay.transport.inproc..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..", "org.jspecify..", "io.kvrelay.api..", "io.kvrelay.transport.inproc..")
        .allowEmptyShould(true)
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.kvrelay.transport.inproc"));
  }
}
