package io.kvrelay.dynamo;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class DynamoDependenciesTest {
  @Test
  void onlyTheApiAndTheTwoLibrariesAreUsed() {
    classes()
        .that()
        .resideInAPackage("io.kvrelay.dynamo..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "javax.net.ssl..",
            "org.jspecify..",
            "io.kvrelay.api..",
            "io.kvrelay.dynamo..",
            "org.zeromq..",
            "com.fasterxml.jackson.core..")
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("io.kvrelay.dynamo"));
  }

  @Test
  void whatReadsRecordsAndMessagesKnowsNoSockets() {
    classes()
        .that()
        .haveNameMatching(
            ".*\\.(RecordParser|CardParser|DeploymentState|Envelope|RouterEvents|AnswerStream"
                + "|HistoryReplies|QueryMessages|EtcdMessages|Documents)")
        .should()
        .onlyDependOnClassesThat()
        .resideOutsideOfPackages("java.net..", "org.zeromq..")
        .check(new ClassFileImporter().importPackages("io.kvrelay.dynamo"));
  }
}
