package io.kvrelay.transport.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.PublicationFrame.Kind;
import io.kvrelay.api.RelayIdentity;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.transport.grpc.v1.FilterUpdate;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Written by hand, so held against the generated code byte by byte. */
class FilterMessageTest {
  private static final RelayIdentity RELAY = new RelayIdentity(-1, 0x17);
  private static final io.kvrelay.api.ProducerIdentity POOL =
      Fixtures.producer(Messages.POOL, 1, 16);

  private static FilterMessage message(PublicationFrame frame, long sentAt) {
    return FilterMessage.of(FilterMessage.identities(RELAY, POOL), frame, sentAt);
  }

  private static byte[] generated(PublicationFrame frame, long sentAt) {
    return KvRelayWire.toWire(RELAY, frame).toBuilder().setSendTsUs(sentAt).build().toByteArray();
  }

  @Test
  void theBytesAreTheGeneratedOnes() throws IOException {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < 500; i++) {
      byte[] payload = new byte[i == 0 ? 0 : random.nextInt(40_000)];
      ByteBuffer buffer = ByteBuffer.wrap(payload);
      long sequence = random.nextLong() >>> random.nextInt(64);
      PublicationFrame frame =
          new PublicationFrame(
              POOL,
              List.of(Kind.values()).get(random.nextInt(3)),
              i % 7 == 0 ? 0 : random.nextLong() >>> random.nextInt(64),
              i % 5 == 0 ? 0 : sequence,
              i % 2 == 0 ? buffer : buffer.asReadOnlyBuffer(),
              0);
      long sentAt = i % 3 == 0 ? 0 : random.nextLong();
      byte[] expected = generated(frame, sentAt);
      try (FilterMessage.Bytes drained = new FilterMessage.Bytes(message(frame, sentAt));
          FilterMessage.Bytes read = new FilterMessage.Bytes(message(frame, sentAt))) {
        assertThat(drained.available()).as("seed %d", seed).isEqualTo(expected.length);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        assertThat(drained.drainTo(out)).isEqualTo(expected.length);
        assertThat(out.toByteArray()).as("seed %d", seed).isEqualTo(expected);
        assertThat(drained.available()).isZero();
        assertThat(drained.read()).isEqualTo(-1);
        assertThat(read.readAllBytes()).as("seed %d", seed).isEqualTo(expected);
      }
    }
  }

  @Test
  void aStreamThatWasReadInPartDrainsTheRest() throws IOException {
    PublicationFrame frame = Fixtures.delta(POOL, 5, 1000);
    byte[] expected = generated(frame, 7);
    try (FilterMessage.Bytes stream = new FilterMessage.Bytes(message(frame, 7))) {
      byte[] head = stream.readNBytes(10);
      assertThat(stream.available()).isEqualTo(expected.length - 10);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.write(head);
      stream.drainTo(out);
      assertThat(out.toByteArray()).isEqualTo(expected);
    }
  }

  @Test
  void theReaderSharesThePayload() {
    PublicationFrame frame = Fixtures.delta(POOL, 5, 1000);
    Received<FilterUpdate> received =
        WireMarshallers.reading(FilterUpdate.parser())
            .parse(new FilterMessage.Bytes(message(frame, 7)));
    PublicationFrame back = new FrameDecoder(POOL).frame(received.message());
    assertThat(back.payload()).isEqualTo(frame.payload());
    assertThat(back.sentAtMicros()).isEqualTo(7);
  }

  @Test
  void bytesThatAreNoMessageAreReportedNotThrown() {
    Received<FilterUpdate> received =
        WireMarshallers.reading(FilterUpdate.parser())
            .parse(new java.io.ByteArrayInputStream(new byte[] {0x1a, 0x7f, 0x01}));
    assertThat(received.message()).isNull();
    assertThat(received.fault()).isNotNull();
  }
}
