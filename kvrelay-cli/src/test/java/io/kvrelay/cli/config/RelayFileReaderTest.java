package io.kvrelay.cli.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.WorkerRole;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.ModelCard;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RelayFileReaderTest {
  private static final String MINIMAL =
      """
      endpoints:
        - endpoint: a.b.c
          model: m
          block-size: 16
          workers:
            - id: 1
      """;

  private final RelayFileReader reader = new RelayFileReader(new FakeEngines());

  private RelayFile accepted(String text) {
    RelayFileReader.Result result = reader.read("relay.yaml", text);
    assertThat(result.problems()).isEmpty();
    return result.file();
  }

  private List<String> problems(String text) {
    RelayFileReader.Result result = reader.read("relay.yaml", text);
    assertThat(result.file()).isNull();
    return result.problems();
  }

  @Test
  void theExampleIsAcceptedAndMeansWhatItSays() throws IOException {
    RelayFile file = accepted(Files.readString(Path.of("../docs/examples/relay.yaml")));

    assertThat(file.settings().scope().namespaces()).containsExactly("prod");
    assertThat(file.settings().config().unknownGrace()).isEqualTo(Duration.ofSeconds(10));
    EndpointId prefill = EndpointId.parse("prod.prefill.generate");
    EndpointId decode = EndpointId.parse("prod.decode.generate");
    assertThat(file.liveWorkers())
        .containsEntry(prefill, Set.of(1L, 2L))
        .containsEntry(decode, Set.of(3L))
        .containsEntry(EndpointId.parse("prod.embed.generate"), Set.of(42L));
    ModelCard first = file.cards().get(0);
    assertThat(first.role()).isEqualTo(WorkerRole.PREFILL);
    assertThat(first.needs()).containsExactly(List.of(WorkerRole.DECODE));
    assertThat(first.runtime().dataParallelSize()).isEqualTo(2);
    assertThat(first.runtime().totalKvBlocks()).hasValue(32768);
    assertThat(first.aliases()).containsExactly("llama");
    assertThat(file.cards())
        .filteredOn(card -> card.lora() != null)
        .singleElement()
        .satisfies(
            card -> {
              assertThat(card.modelName()).isEqualTo("llama-sql");
              assertThat(card.lora().name()).isEqualTo("sql-v2");
              assertThat(card.workerId()).isEqualTo(3);
              assertThat(card.suffix()).isEqualTo("llama-sql");
            });
    assertThat(file.loads().get(decode)).containsExactly(LoadReport.kvUsed(new Member(3, 0), 1200));
    assertThat(file.events())
        .extracting(entry -> entry.member() + " " + entry.live() + " " + entry.replay())
        .containsExactly(
            "1/0 tcp://10.0.0.11:5557 tcp://10.0.0.11:6557",
            "1/1 tcp://10.0.0.11:5558 tcp://10.0.0.11:6558",
            "2/0 tcp://10.0.0.12:5557 tcp://10.0.0.12:6557",
            "3/0 tcp://10.0.0.13:5557 null",
            "42/0 tcp://10.0.0.14:5557 null");
    assertThat(file.events().get(3).adapterIds()).containsEntry(1L, "sql-v2");
    assertThat(file.events().get(4).imageToken()).hasValue(151655);
  }

  @Test
  void jsonIsReadAsWell() {
    RelayFile file =
        accepted(
            """
            {"endpoints": [{"endpoint": "a/b/c", "model": "m", "block-size": 8,
              "hash-format": "eagle", "workers": [{"id": 18446744073709551615}]}]}
            """);
    assertThat(file.cards())
        .singleElement()
        .satisfies(
            card -> {
              assertThat(card.workerId()).isEqualTo(-1L);
              assertThat(card.hashFormat()).isEqualTo(QueryHashFormat.DYNAMO_EAGLE_V1);
              assertThat(card.kvBlockSize()).isEqualTo(8);
            });
  }

  @Test
  void listsWithinListsWithoutEndAreRefused() {
    for (String deep : List.of("[".repeat(200_000), "{a: ".repeat(200_000), "- ".repeat(200_000))) {
      assertThat(problems("endpoints: " + deep)).isNotEmpty();
      assertThat(problems(deep)).isNotEmpty();
    }
  }

  @Test
  void anchorsThatHoldThemselvesAndBombsOfAliasesAreRefused() {
    assertThat(problems("endpoints: &e [*e, *e]")).isNotEmpty();
    assertThat(problems("endpoints: &e\n- {endpoint: a.b.c, workers: *e}")).isNotEmpty();
    assertThat(problems("endpoints: [&w {endpoint: a.b.c, workers: [*w]}]")).isNotEmpty();
    String bomb = "x0: &a0 [x]\n";
    for (int i = 1; i < 30; i++) {
      bomb += "x" + i + ": &a" + i + " [*a" + (i - 1) + ", *a" + (i - 1) + "]\n";
    }
    assertThat(problems(bomb)).isNotEmpty();
  }

  @Test
  void aDurationThatNoClockCanCountIsRefused() {
    assertThat(problems("recovery: {timeout: 999999999999h}"))
        .singleElement()
        .asString()
        .contains("recovery.timeout = 999999999999h: must be a positive duration", "a year");
    assertThat(accepted("stop-timeout: 8760h").settings().config().stopTimeout())
        .isEqualTo(Duration.ofDays(365));
  }

  @Test
  void whatIsWrongIsToldInLinesOfReasonableLengthAndNumber() {
    assertThat(problems("pools: {max-kicks: \"" + "x\\n".repeat(100_000) + "\"}"))
        .singleElement()
        .asString()
        .hasSizeLessThan(400)
        .doesNotContain("\n")
        .endsWith("must be a number from 1 to 4096");
    assertThat(problems("k".repeat(1_000_000) + "\n"))
        .allSatisfy(line -> assertThat(line).hasSizeLessThan(400));
    assertThat(problems("? \"" + "k".repeat(1_000_000) + "\"\n: 1\n"))
        .allSatisfy(line -> assertThat(line).hasSizeLessThan(500));
    String many = "x: 1\n".repeat(5000);
    assertThat(problems(many)).hasSize(ConfigProblems.MAX_PROBLEMS + 1);
  }

  @Test
  void anEmptyFileIsADeploymentWithoutAnything() {
    assertThat(accepted("").cards()).isEmpty();
    assertThat(accepted("# nothing yet\n").settings().scope().watchAll()).isTrue();
  }

  @Test
  void everyFaultOfAFileIsNamedAtOnceWithLineFieldAndValue() {
    assertThat(
            problems(
                """
                pools:
                  expected-blocks: 0
                  publication-delay: 5
                recovery: {concurrent: many}
                endpoints:
                  - endpoint: a.b
                    model: " m"
                    block-size: 0
                    role: chef
                    needs: [decode, [prefill, cook]]
                    blok-size: 16
                    workers:
                      - {id: -1, ranks: 4097, live: maybe}
                      - id: 2
                        adapters: [nothing]
                        events: [{engine: vlm, live: "tcp://h:1"}]
                      - id: 2
                """))
        .containsExactly(
            "relay.yaml:2: pools.expected-blocks = 0: must be a number from 1 to 53687091",
            "relay.yaml:3: pools.publication-delay = 5: must be a positive duration such as 500us,"
                + " 1ms, 30s, 5m or 1h, at most a year",
            "relay.yaml:4: recovery.concurrent = many: must be a number from 1 to 65536",
            "relay.yaml:6: endpoints[0].endpoint = a.b: must be namespace.component.endpoint",
            "relay.yaml:7: endpoints[0].model = \" m\": must not be empty or surrounded by white"
                + " space",
            "relay.yaml:8: endpoints[0].block-size = 0: must be a number from 1 to 2147483647",
            "relay.yaml:9: endpoints[0].role = chef: must be one of aggregated, decode, encode,"
                + " prefill",
            "relay.yaml:10: endpoints[0].needs = decode: must be a list that is not empty",
            "relay.yaml:10: endpoints[0].needs = cook: must be one of aggregated, decode, encode,"
                + " prefill",
            "relay.yaml:11: endpoints[0].blok-size = 16: unknown key; did you mean block-size?",
            "relay.yaml:13: endpoints[0].workers[0].id = -1: must be an unsigned 64-bit number",
            "relay.yaml:13: endpoints[0].workers[0].live = maybe: must be true or false",
            "relay.yaml:13: endpoints[0].workers[0].ranks = 4097: must be a number from 1 to 4096",
            "relay.yaml:15: endpoints[0].workers[1].adapters = nothing: is no adapter of the"
                + " endpoint; those are []",
            "relay.yaml:16: endpoints[0].workers[1].events[0].engine = vlm: must be one of sglang,"
                + " trtllm, vllm",
            "relay.yaml:17: endpoints[0].workers[2].id = 2: is the id of a worker above");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "endpoints: 5 | 1: endpoints = 5: must be a list",
        "[] | 1: the file = a list: must be a mapping",
        "endpoints: [5] | 1: endpoints[0] = 5: must be a mapping",
        "endpoints: [{}] | 1: endpoints[0].endpoint: is missing",
        "stop-timeout: 0s | 1: stop-timeout = 0s: must be a positive duration such as 500us, 1ms,"
            + " 30s, 5m or 1h, at most a year",
        "scope: {namespaces: [a], prefixes: [b]} | 1: scope.prefixes = [b]: must lie in one of the"
            + " namespaces [a]",
        "scope: {namespaces: [a, a]} | 1: scope.namespaces = a: stands in the list twice",
        "endpoint: [] | 1: endpoint = a list: unknown key; did you mean endpoints?",
        "colour: red | 1: colour = red: unknown key; known keys are [scope, pools, recovery,"
            + " stop-timeout, endpoints]",
        "{scope: {}, scope: {}} | 1: scope = a mapping: stands here twice",
      })
  void oneFaultIsOneLine(String text, String problem) {
    assertThat(problems(text)).contains("relay.yaml:" + problem);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a: [", "\tx", "a: b: c", "{\"a\": }]", "- &a [*b]"})
  void whatIsNoYamlIsRefusedWithItsLine(String text) {
    assertThat(problems(text))
        .singleElement()
        .satisfies(
            problem ->
                assertThat(problem).matches("relay\\.yaml:\\d+: is neither YAML nor JSON: \\S.*"));
  }

  /** Port plans are checked for collisions. */
  @Test
  void ranksThatWouldShareAnAddressAreRefused() {
    assertThat(
            problems(
                MINIMAL
                    + """
                            ranks: 2
                            events:
                              - {engine: vllm, live: "tcp://h:5557"}
                          - id: 2
                            events:
                              - {engine: vllm, live: "tcp://h:5558"}
                    """))
        .containsExactly(
            "relay.yaml:12: endpoints[0].workers[1].events[0].live = tcp://h:5558: rank 2/0 would"
                + " share it with rank 1/1");
    assertThat(
            problems(
                MINIMAL
                    + """
                            ranks: 2
                            events:
                              - {engine: vllm, live: "ipc:///tmp/x"}
                    """))
        .singleElement()
        .asString()
        .contains("leaves one to each of the worker's 2 ranks");
  }

  @Test
  void oneRankHasOneSource() {
    assertThat(
            problems(
                MINIMAL
                    + """
                            events:
                              - {engine: vllm, live: "tcp://h:1"}
                              - {engine: vllm, live: "tcp://h:2"}
                    """))
        .containsExactly(
            "relay.yaml:9: endpoints[0].workers[0].events[1].rank = 0: has an event source above");
  }

  @Test
  void whatTheAdapterRefusesIsNamedAtItsPlace() {
    assertThat(
            problems(
                MINIMAL
                    + """
                            events:
                              - {engine: vllm, live: "udp://h:1"}
                    """))
        .containsExactly(
            "relay.yaml:8: endpoints[0].workers[0].events[0].live = udp://h:1: must be tcp");
  }

  @Test
  void withoutAnAdapterNoEngineIsAccepted() {
    List<String> problems =
        new RelayFileReader(EngineEvents.NONE)
            .read(
                "f",
                MINIMAL
                    + """
                            events:
                              - {engine: vllm, live: "tcp://h:1"}
                    """)
            .problems();
    assertThat(problems).singleElement().asString().contains("no engine can be read");
  }

  @Test
  void identityMapsBeyondTheirLimitsAreRefused() {
    assertThat(problems(MINIMAL + "    cache-semantics: {}\n"))
        .singleElement()
        .asString()
        .startsWith("relay.yaml:7: endpoints[0].cache-semantics = ");
  }

  @Test
  void aSlipIsCorrectedAndAnythingElseIsNot() {
    assertThat(Spelling.nearest("block_size", ConfigSection.ENDPOINT.keys()))
        .isEqualTo("block-size");
    assertThat(Spelling.nearest("zzz", ConfigSection.ENDPOINT.keys())).isNull();
    assertThat(Spelling.distance("kitten", "sitting")).isEqualTo(3);
    assertThat(Spelling.distance("", "abc")).isEqualTo(3);
  }
}
