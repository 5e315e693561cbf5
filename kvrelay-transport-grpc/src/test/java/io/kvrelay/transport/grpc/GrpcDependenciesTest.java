package io.kvrelay.transport.grpc;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The wire needs nothing of the engine: payloads pass unread. */
class GrpcDependenciesTest {

  @Test
  void onlyTheAllowedPackagesAreUsed() {
    classes()
        .that()
        .resideInAPackage("io.kvrelay.transport.grpc..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "org.jspecify..",
            "io.kvrelay.api..",
            "io.kvrelay.transport.grpc..",
            "io.grpc..",
            "com.google..",
            "com.github.luben.zstd..")
        .allowEmptyShould(true)
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.kvrelay.transport.grpc"));
  }
}
