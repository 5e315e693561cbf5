package io.kvrelay.engine.cbi1;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.engine.cbi1.SnapshotAssembly.Result;
import io.kvrelay.engine.testing.Allocations;
import io.kvrelay.engine.testing.Json;
import io.kvrelay.engine.testing.Seeds;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class SnapshotAssemblyTest {
  @Test
  void everyVectorGivesItsResultAfterEachStep() {
    for (Json vector : Cbi1Vectors.FILE.get("assembly")) {
      int bucketCount = (int) vector.get("bucket_count").u64();
      SnapshotAssembly assembly = new SnapshotAssembly(new CkfFormat(0x5EED, bucketCount));
      int step = 0;
      for (Json next : vector.get("steps")) {
        byte[] frame = Cbi1Vectors.frame(next);
        Cbi1Decoder decoder = new Cbi1Decoder(Cbi1Vectors.formatOf(frame));
        decoder.decodeOrThrow(ByteBuffer.wrap(frame));
        Result result = assembly.absorb(decoder);
        assertResult(assembly, result, next.get("result"), vector.get("name") + " " + step++);
      }
    }
  }

  private static void assertResult(
      SnapshotAssembly assembly, Result result, Json expected, String name) {
    if (expected.isText()) {
      Result wanted =
          switch (expected.text()) {
            case "incomplete" -> Result.INCOMPLETE;
            case "ChunkSequence" -> Result.CHUNK_SEQUENCE;
            case "IncompleteCoverage" -> Result.INCOMPLETE_COVERAGE;
            default -> throw new AssertionError(expected.text());
          };
      assertThat(result).as(name).isEqualTo(wanted);
      return;
    }
    assertThat(result).as(name).isEqualTo(Result.COMPLETE);
    Json complete = expected.get("complete");
    assertThat(assembly.epoch()).isEqualTo(complete.get("epoch").u64());
    long[] words = new long[assembly.words().length];
    for (Json image : complete.get("images")) {
      words[image.get("bucket").integer()] = image.get("word").u64();
    }
    assertThat(assembly.words()).as(name).isEqualTo(words);
  }

  @Test
  void theSnapshotVectorAssembles() {
    Json snapshot = Cbi1Vectors.FILE.get("snapshots").get(0);
    CkfFormat format = new CkfFormat(0x5EED, 1 << 20);
    SnapshotAssembly assembly = new SnapshotAssembly(format);
    Cbi1Decoder decoder = new Cbi1Decoder(format);
    Result result = Result.INCOMPLETE;
    for (Json name : snapshot.get("frames")) {
      assertThat(result).isEqualTo(Result.INCOMPLETE);
      decoder.decodeOrThrow(ByteBuffer.wrap(Cbi1Vectors.encode(Cbi1Vectors.named(name.text()))));
      result = assembly.absorb(decoder);
    }
    assertThat(result).isEqualTo(Result.COMPLETE);
    assertThat(assembly.epoch()).isEqualTo(snapshot.get("assembled_epoch").u64());
    long[] words = new long[1 << 20];
    for (Json image : snapshot.get("assembled_images")) {
      words[image.get("bucket").integer()] = image.get("word").u64();
    }
    assertThat(assembly.words()).isEqualTo(words);
  }

  @Test
  void chunksRebuildTheExactFilterAndReorderedOnesAreRefused() {
    CkfFormat format = new CkfFormat(99, 1 << 21);
    long[] words = Seeds.random().longs(1 << 21).toArray();
    Cbi1Encoder encoder = new Cbi1Encoder(format, 3);
    Cbi1Decoder decoder = new Cbi1Decoder(format);
    SnapshotAssembly assembly = new SnapshotAssembly(format);
    Cbi1Encoder.Snapshot chunks = encoder.snapshot(12, words);
    int count = chunks.remaining();
    for (int i = 0; i < count; i++) {
      decoder.decodeOrThrow(chunks.next());
      assertThat(assembly.absorb(decoder))
          .isEqualTo(i + 1 == count ? Result.COMPLETE : Result.INCOMPLETE);
    }
    assertThat(assembly.takeWords()).isEqualTo(words);
    for (int chunk : new int[] {0, 2}) {
      decoder.decodeOrThrow(encoder.snapshotChunk(12, words, chunk));
      assertThat(assembly.absorb(decoder))
          .isEqualTo(chunk == 0 ? Result.INCOMPLETE : Result.CHUNK_SEQUENCE);
    }
  }

  @Test
  void onlyACompleteSnapshotCanBeSeen() {
    CkfFormat format = new CkfFormat(1, 1 << 20);
    Cbi1Encoder encoder = new Cbi1Encoder(format, 3);
    Cbi1Decoder decoder = new Cbi1Decoder(format);
    SnapshotAssembly assembly = new SnapshotAssembly(format);
    decoder.decodeOrThrow(encoder.snapshotChunk(1, new long[1 << 20], 0));
    assembly.absorb(decoder);
    assertThatThrownBy(assembly::words).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(assembly::epoch).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(assembly::takeWords).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void takenWordsAreNotOverwrittenAndKeptOnesAreReused() {
    CkfFormat format = new CkfFormat(1, 4);
    Cbi1Encoder encoder = new Cbi1Encoder(format, 3);
    Cbi1Decoder decoder = new Cbi1Decoder(format);
    SnapshotAssembly assembly = new SnapshotAssembly(format);
    decoder.decodeOrThrow(encoder.snapshotChunk(1, new long[] {1, 2, 3, 4}, 0));
    assembly.absorb(decoder);
    long[] taken = assembly.takeWords();
    decoder.decodeOrThrow(encoder.snapshotChunk(2, new long[] {5, 0, 0, 8}, 0));
    assembly.absorb(decoder);
    assertThat(taken).containsExactly(1, 2, 3, 4);
    long[] kept = assembly.words();
    // No word of an older snapshot may shine through the zeros of a newer one.
    decoder.decodeOrThrow(encoder.snapshotChunk(3, new long[4], 0));
    assembly.absorb(decoder);
    assertThat(assembly.words()).isSameAs(kept).containsOnly(0);
  }

  @Test
  void assemblingIntoKeptMemoryAllocatesNothing() {
    CkfFormat format = new CkfFormat(1, 1024);
    ByteBuffer chunk = new Cbi1Encoder(format, 3).snapshotChunk(1, new long[1024], 0);
    Cbi1Decoder decoder = new Cbi1Decoder(format);
    SnapshotAssembly assembly = new SnapshotAssembly(format);
    Runnable assemble =
        () -> {
          decoder.decode(chunk);
          assembly.absorb(decoder);
        };
    assertThat(Allocations.bytes(500, assemble)).isZero();
    assertThat(assembly.epoch()).isEqualTo(1);
  }
}
