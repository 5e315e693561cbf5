package io.kvrelay.cli.replay;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EventFileTest {
  private static final String STORE =
      "{\"stored\":{\"blocks\":[{\"block_hash\":1,\"tokens_hash\":2}]}}";

  @TempDir private Path directory;

  private static KvEvent parse(String line) throws IOException {
    return JsonEvents.parse(line, "f:1: ");
  }

  private static String event(String data) {
    return "{\"worker_id\":3,\"event\":{\"event_id\":4,\"data\":" + data + "}}";
  }

  @Test
  void whatIsNotGivenHasItsDefault() throws IOException {
    KvEvent event = parse(event(STORE));

    assertThat(event.member()).isEqualTo(new Member(3, 0));
    assertThat(event.eventId()).isEqualTo(4);
    assertThat(event.tier()).isEqualTo(StorageTier.DEVICE);
    assertThat(event.domain()).isEqualTo(ResidencyDomain.MISSING);
    assertThat(event.hasParent()).isFalse();
    assertThat(event.startPosition()).isEqualTo(KvEvent.NO_START_POSITION);
    assertThat(event.engineHash(0)).isEqualTo(1);
    assertThat(event.localHash(0)).isEqualTo(2);
  }

  @Test
  void keysComeInAnyOrderAndUnknownOnesAreSkippedAtEveryLevel() throws IOException {
    KvEvent event =
        parse(
            "{\"x\":[1,{\"y\":2}],\"event\":{\"dp_rank\":4294967295,\"z\":{},\"data\":{\"stored\":"
                + "{\"shared_cache_eligible\":true,\"blocks\":[{\"q\":1,\"tokens_hash\":12345,"
                + "\"mm_extra_info\":{\"mm_objects\":[{\"mm_hash\":7,\"offsets\":[[0,1]]}]},"
                + "\"block_hash\":67890}],\"start_position\":7,\"parent_hash\":9}},"
                + "\"event_id\":18446744073709551615},\"storage_tier\":\"host_pinned\","
                + "\"residency_domain\":\"worker\",\"worker_id\":18446744073709551615,"
                + "\"state_source\":5,\"session_id\":\"s\"}");

    assertThat(event.member()).isEqualTo(new Member(-1, -1));
    assertThat(event.eventId()).isEqualTo(-1);
    assertThat(event.tier()).isEqualTo(StorageTier.HOST_PINNED);
    assertThat(event.domain()).isEqualTo(ResidencyDomain.WORKER);
    assertThat(event.parentHash()).isEqualTo(9);
    assertThat(event.startPosition()).isEqualTo(7);
    assertThat(event.engineHash(0)).isEqualTo(67890);
    assertThat(event.localHash(0)).isEqualTo(12345);
  }

  @Test
  void aSignedEngineHashStandsForTheSameBits() throws IOException {
    KvEvent event = parse(event("{\"removed\":{\"block_hashes\":[-1965508094692492708,3]}}"));

    assertThat(event.kind()).isEqualTo(KvEvent.Kind.REMOVED);
    assertThat(Long.toUnsignedString(event.engineHash(0))).isEqualTo("16481235979017058908");
    assertThat(event.length()).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"worker\"|WORKER",
        "\"cache_owner\"|CACHE_OWNER",
        "\"future_owner\"|UNKNOWN",
        "null|INVALID",
        "7|INVALID",
        "false|INVALID",
        "[1,[2]]|INVALID",
        "{\"a\":{}}|INVALID"
      })
  void aResidencyDomainIsParsedFailClosed(String json, ResidencyDomain domain) throws IOException {
    String line =
        "{\"residency_domain\":"
            + json
            + ",\"worker_id\":1,\"event\":{\"event_id\":2,\"data\":"
            + "\"cleared\"}}";

    assertThat(parse(line).domain()).isEqualTo(domain);
    assertThat(parse(line).kind()).isEqualTo(KvEvent.Kind.CLEARED);
  }

  @Test
  void nullStandsForAnAbsentParentAndPosition() throws IOException {
    KvEvent event =
        parse(event("{\"stored\":{\"parent_hash\":null,\"start_position\":null,\"blocks\":[]}}"));

    assertThat(event.hasParent()).isFalse();
    assertThat(event.startPosition()).isEqualTo(KvEvent.NO_START_POSITION);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"event\":{\"event_id\":4,\"data\":\"cleared\"}}|worker_id is missing",
        "{\"worker_id\":1}|event is missing",
        "{\"worker_id\":1,\"event\":{\"data\":\"cleared\"}}|event_id is missing",
        "{\"worker_id\":1,\"event\":{\"event_id\":2}}|data is missing",
        "{\"worker_id\":-1}|worker_id = -1",
        "{\"worker_id\":18446744073709551616}|worker_id = 18446744073709551616",
        "{\"worker_id\":1.5}|worker_id = 1.5",
        "{\"storage_tier\":\"tape\"}|storage_tier = tape",
        "{\"storage_tier\":null}|storage_tier = null",
        "{\"event\":{\"dp_rank\":4294967296}}|dp_rank = 4294967296",
        "{\"event\":{\"data\":\"stored\"}}|data = stored",
        "{\"event\":{\"data\":{\"moved\":{}}}}|moved",
        "{\"event\":{\"data\":{}}}|data has no tag",
        "{\"event\":{\"data\":{\"stored\":{}}}}|stored.blocks is missing",
        "{\"event\":{\"data\":{\"stored\":{\"blocks\":[{\"block_hash\":1}]}}}}|tokens_hash of block"
            + " 0",
        "{\"event\":{\"data\":{\"removed\":{}}}}|removed.block_hashes is missing",
        "{\"event\":{\"data\":{\"removed\":{\"block_hashes\":[true]}}}}|block_hashes = true",
        "[1]|not a JSON object",
        "{\"worker_id\":1|not JSON"
      })
  void aBrokenEventIsReportedWithItsFieldAndValue(String line, String message) {
    assertThatThrownBy(() -> parse(line))
        .isInstanceOf(EventFileException.class)
        .hasMessageStartingWith("f:1: ")
        .hasMessageContaining(message);
  }

  @Test
  void aBrokenLineIsReportedWithItsNumber() throws IOException {
    Path file = directory.resolve("events.jsonl");
    Files.write(file, List.of(event(STORE), event("\"cleared\""), "", event(STORE)));

    assertThatThrownBy(() -> EventFile.read(file))
        .isInstanceOf(EventFileException.class)
        .hasMessageContaining("events.jsonl:3: ");
  }

  /** The line that is wrong, and not the one where a buffer happened to be filled. */
  @Test
  void aLineThatIsNotUtf8IsReportedWithItsOwnNumber() throws IOException {
    Path file = directory.resolve("events.jsonl");
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int i = 0; i < 50; i++) {
      bytes.writeBytes((event(STORE) + (i % 2 == 0 ? "\n" : "\r\n")).getBytes(UTF_8));
    }
    bytes.writeBytes("{\"worker_id\":1,\"name\":\"M\u00fcller\"}\n".getBytes(ISO_8859_1));
    Files.write(file, bytes.toByteArray());

    assertThatThrownBy(() -> EventFile.read(file))
        .isInstanceOf(EventFileException.class)
        .hasMessage(file + ":51: is not UTF-8");
  }

  @Test
  void linesAreReadWhateverTheirLengthAndHoweverTheBytesCome() throws IOException {
    Random random = seeded();
    for (int round = 0; round < 20; round++) {
      List<String> lines = new ArrayList<>();
      StringBuilder text = new StringBuilder();
      for (int i = random.nextInt(20); i > 0; i--) {
        String line =
            "\u00e4\u20ac\uD83D\uDE00x".repeat(random.nextInt(3) * random.nextInt(20_000));
        lines.add(line);
        text.append(line).append(random.nextBoolean() ? "\n" : "\r\n");
      }
      if (random.nextBoolean()) {
        lines.add("last");
        text.append("last");
      }
      InputStream piecemeal =
          new ByteArrayInputStream(text.toString().getBytes(UTF_8)) {
            @Override
            public int read(byte[] target, int offset, int length) {
              return super.read(target, offset, 1 + random.nextInt(length));
            }
          };
      Utf8Lines read = new Utf8Lines(piecemeal);
      for (String line : lines) {
        assertThat(read.next()).isEqualTo(line);
      }
      assertThat(read.next()).isNull();
    }
  }

  private static Random seeded() {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    System.out.println("replay with -Dkvrelay.seed=" + seed);
    return new Random(seed);
  }

  private static <T> T any(Random random, T[] values) {
    return values[random.nextInt(values.length)];
  }

  private static KvEvent randomEvent(Random random) {
    Member member = new Member(random.nextLong(), random.nextInt());
    long[] engineHashes = random.longs(random.nextInt(5)).toArray();
    long id = random.nextLong();
    KvEvent.Builder event =
        switch (any(random, KvEvent.Kind.values())) {
          case STORED ->
              KvEvent.stored(member, id, engineHashes, random.longs(engineHashes.length).toArray());
          case REMOVED -> KvEvent.removed(member, id, engineHashes);
          case CLEARED -> KvEvent.cleared(member, id);
        };
    KvEvent plain = event.build();
    if (plain.kind() == KvEvent.Kind.STORED && random.nextBoolean()) {
      event.parent(random.nextLong());
    }
    if (plain.kind() == KvEvent.Kind.STORED && random.nextBoolean()) {
      event.startPosition(Integer.toUnsignedLong(random.nextInt()));
    }
    return event
        .tier(any(random, StorageTier.values()))
        .domain(any(random, ResidencyDomain.values()))
        .build();
  }

  @Test
  void whatIsRecordedIsReadAgainAsItWas() throws IOException {
    Random random = seeded();
    List<KvEvent> events = new ArrayList<>();
    for (int i = 0; i < 2000; i++) {
      events.add(randomEvent(random));
    }
    Path file = directory.resolve("recorded.jsonl");
    try (Writer out = Files.newBufferedWriter(file)) {
      for (KvEvent event : events) {
        JsonEventWriter.write(out, event);
      }
    }

    assertThat(EventFile.read(file)).isEqualTo(events);
  }

  private static ByteBuffer header(int kind, int hasParent, int n) {
    return ByteBuffer.allocate(34 + 64)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put((byte) kind)
        .putLong(-1)
        .putInt(2)
        .putLong(3)
        .put((byte) hasParent)
        .putLong(4)
        .putInt(n);
  }

  private Path binary(ByteBuffer... records) throws IOException {
    Path file = directory.resolve("events.bin");
    Files.deleteIfExists(file);
    Files.createFile(file);
    for (ByteBuffer record : records) {
      byte[] bytes = new byte[record.flip().remaining()];
      record.get(bytes);
      Files.write(file, bytes, java.nio.file.StandardOpenOption.APPEND);
    }
    return file;
  }

  @Test
  void binaryRecordsBecomeEvents() throws IOException {
    Path file =
        binary(
            header(1, 1, 2).putLong(10).putLong(11).putLong(20).putLong(21),
            header(2, 0, 1).putLong(10));

    List<KvEvent> events = EventFile.read(file);

    assertThat(events)
        .containsExactly(
            KvEvent.stored(new Member(-1, 2), 3, new long[] {10, 20}, new long[] {11, 21})
                .parent(4)
                .build(),
            KvEvent.removed(new Member(-1, 2), 3, new long[] {10}).build());
  }

  @Test
  void aBrokenRecordIsReportedWithItsNumber() throws IOException {
    ByteBuffer good = header(2, 0, 0);
    assertThatThrownBy(() -> EventFile.read(binary(good.duplicate(), header(7, 0, 0))))
        .hasMessageContaining("record 2: kind = 7");
    assertThatThrownBy(() -> EventFile.read(binary(header(1, 2, 0))))
        .hasMessageContaining("record 1: has-parent = 2");
    assertThatThrownBy(() -> EventFile.read(binary(header(1, 0, -1))))
        .hasMessageContaining("record 1: needs 68719476720 bytes");
    assertThatThrownBy(() -> EventFile.read(binary(header(1, 0, 1).putInt(1))))
        .hasMessageContaining("record 1: needs 16 bytes, but the file has 4");
  }

  @Test
  void aFileThatIsNotThereOrOfNoKnownFormIsReported() throws IOException {
    assertThatThrownBy(() -> EventFile.read(directory.resolve("no.jsonl")))
        .hasMessageContaining("no.jsonl: there is no such file");
    Path text = Files.createFile(directory.resolve("events.txt"));
    assertThatThrownBy(() -> EventFile.read(text)).hasMessageContaining("neither .jsonl nor .bin");
    Path latin1 = directory.resolve("latin1.jsonl");
    Files.write(latin1, new byte[] {'{', (byte) 0xE4, '}'});
    assertThatThrownBy(() -> EventFile.read(latin1)).hasMessageContaining(":1: is not UTF-8");
  }
}
