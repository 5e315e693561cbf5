package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import io.kvrelay.api.deployment.LoadReport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EnvelopeTest {
  private static final Member MEMBER = new Member(Recorded.WORKER, 0);

  private static List<byte[]> frames(Topic topic, long publisher, long sequence, byte[] payload) {
    return Published.frames(topic.wireName(), publisher, sequence, payload);
  }

  private static Envelope read(List<byte[]> frames) throws MalformedException {
    return Envelope.read(frames, Topic.KV_EVENTS, 7);
  }

  @Test
  void recordedMessagesAreUnderstood() throws Exception {
    int stored = 0;
    int removed = 0;
    int loads = 0;
    for (Recorded.Message message : Recorded.messages()) {
      Envelope envelope = Envelope.read(message.frames(), message.topic(), message.publisher());
      if (message.topic() == Topic.KV_METRICS) {
        LoadReport report = envelope.load();
        assertThat(report.member()).isEqualTo(MEMBER);
        assertThat(report.kvUsedBlocks()).isPresent();
        loads++;
        continue;
      }
      for (KvEvent event : envelope.events()) {
        assertThat(event.member()).isEqualTo(MEMBER);
        assertThat(event.tier()).isEqualTo(StorageTier.DEVICE);
        assertThat(event.domain()).isEqualTo(ResidencyDomain.WORKER);
        assertThat(event.length()).isPositive();
        stored += event.kind() == KvEvent.Kind.STORED ? 1 : 0;
        removed += event.kind() == KvEvent.Kind.REMOVED ? 1 : 0;
      }
    }
    assertThat(stored).isPositive();
    assertThat(removed).isPositive();
    assertThat(loads).isEqualTo(3);
  }

  @Test
  void noPartOfARecordedMessageIsTakenForTheWhole() {
    for (Recorded.Message message : Recorded.messages()) {
      byte[] last = message.frames().get(3);
      for (int length = 0; length < last.length; length += 7) {
        List<byte[]> cut = new ArrayList<>(message.frames());
        cut.set(3, Arrays.copyOf(last, length));
        assertThatThrownBy(() -> Envelope.read(cut, message.topic(), message.publisher()))
            .isInstanceOf(MalformedException.class);
      }
    }
  }

  @Test
  void noBytesDoAnythingButGetRefused() {
    long seed = Long.getLong("kvrelay.seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    for (Recorded.Message message : Recorded.messages()) {
      for (int i = 0; i < 2_000; i++) {
        List<byte[]> frames = new ArrayList<>(message.frames());
        byte[] last = frames.get(3).clone();
        for (int n = random.nextInt(1, 4); n > 0; n--) {
          last[random.nextInt(last.length)] = (byte) random.nextInt();
        }
        frames.set(3, last);
        try {
          Envelope envelope = Envelope.read(frames, message.topic(), message.publisher());
          Object content = message.topic() == Topic.KV_EVENTS ? envelope.events() : envelope.load();
          assertThat(content).isNotNull();
        } catch (MalformedException refused) {
          assertThat(refused.getMessage()).isNotEmpty();
        } catch (RuntimeException e) {
          throw new AssertionError("kvrelay.seed=" + seed, e);
        }
      }
    }
  }

  @Test
  void framesThatAreNotWhatTheyShouldBeAreRefused() throws Exception {
    byte[] payload = new MessagePackWriter().list(0).bytes();
    List<byte[]> good = frames(Topic.KV_EVENTS, 7, 3, payload);
    assertThat(read(good).sequence()).isEqualTo(3);
    assertThat(read(good).events()).isEmpty();

    List<byte[]> three = good.subList(0, 3);
    List<byte[]> five = new ArrayList<>(good);
    five.add(new byte[0]);
    for (List<byte[]> bad : List.of(three, five)) {
      assertThatThrownBy(() -> read(bad)).hasMessageContaining("frames = ");
    }
    refused(good, 1, new byte[7], "frame 1 = 7 bytes");
    refused(good, 2, new byte[9], "frame 2 = 9 bytes");
    byte[] other = good.get(3).clone();
    other[0] = 2;
    refused(good, 3, other, "version 2");
    byte[] longer = good.get(3).clone();
    longer[4]++;
    refused(good, 3, longer, "bytes declared");
    refused(good, 3, new byte[] {1, 0, 0}, "frame 3");
    refused(good, 3, new byte[0], "frame 3 = empty");
  }

  private static void refused(List<byte[]> good, int at, byte[] frame, String message) {
    List<byte[]> bad = new ArrayList<>(good);
    bad.set(at, frame);
    assertThatThrownBy(() -> read(bad)).hasMessageContaining(message);
  }

  @Test
  void bytesAfterTheDeclaredLengthAreIgnored() throws Exception {
    List<byte[]> more = new ArrayList<>(frames(Topic.KV_EVENTS, 7, 0, new byte[] {(byte) 0x90}));
    more.set(3, Arrays.copyOf(more.get(3), more.get(3).length + 4));

    assertThat(read(more).events()).isEmpty();
  }

  @Test
  void aLongerTopicIsNotOurs() throws Exception {
    List<byte[]> longer =
        new ArrayList<>(Published.frames("kv-events2", 7, 0, new byte[] {(byte) 0x90}));

    assertThat(read(longer)).isNull();
  }

  @Test
  void anEnvelopeOfAnotherPublisherSequenceOrTopicIsRefused() {
    byte[] none = {(byte) 0x90};
    assertThatThrownBy(() -> read(frames(Topic.KV_EVENTS, 8, 0, none)))
        .hasMessageContaining("publisher_id = 8");
    for (int frame : new int[] {1, 2}) {
      List<byte[]> mixed = new ArrayList<>(frames(Topic.KV_EVENTS, 8, 1, none));
      List<byte[]> ours = frames(Topic.KV_EVENTS, 7, 0, none);
      mixed.set(1, ours.get(1));
      mixed.set(2, frame == 1 ? mixed.get(2) : ours.get(2));
      assertThatThrownBy(() -> read(mixed)).hasMessageContaining("disagree");
    }
    List<byte[]> topic = new ArrayList<>(frames(Topic.KV_METRICS, 7, 0, none));
    topic.set(0, Topic.KV_EVENTS.subscription());
    assertThatThrownBy(() -> read(topic)).hasMessageContaining("disagree");
  }

  @Test
  void anUnknownKeyOfTheEnvelopeIsPassedOverAndAMissingOneIsNot() throws Exception {
    assertThat(read(Published.framesWith(7, 0, true, true)).events()).isEmpty();
    assertThatThrownBy(() -> read(Published.framesWith(7, 0, false, false)))
        .hasMessageContaining("must be there");
  }

  @Test
  void eventsAreReadByKeyAndWhatIsUnknownIsPassedOver() throws Exception {
    MessagePackWriter out = new MessagePackWriter().list(3);
    out.map(6).text("session_id").text("s");
    out.text("event").map(4);
    out.text("future").list(2).nil().map(1).text("x").u64(1);
    out.text("data").map(1).text("stored").map(4);
    out.text("shared_cache_eligible").flag(true);
    out.text("blocks").list(2);
    out.map(3).text("tokens_hash").u64(-2).text("mm_extra_info").nil().text("block_hash").u64(-1);
    out.map(2).text("block_hash").u64(5).text("tokens_hash").u64(6);
    out.text("parent_hash").u64(Long.MIN_VALUE).text("start_position").u64(0xFFFF_FFFFL);
    out.text("dp_rank").u64(3).text("event_id").u64(-3);
    out.text("storage_tier").text("disk").text("state_source").nil();
    out.text("worker_id").u64(-4).text("residency_domain").text("cache_owner");
    out.map(2).text("worker_id").u64(1);
    out.text("event").map(2).text("event_id").u64(2);
    out.text("data").map(1).text("removed").map(1).text("block_hashes").list(0);
    out.map(2).text("worker_id").u64(1);
    out.text("event").map(2).text("event_id").u64(3).text("data").text("cleared");

    List<KvEvent> events = read(frames(Topic.KV_EVENTS, 7, 0, out.bytes())).events();

    assertThat(events)
        .containsExactly(
            KvEvent.stored(new Member(-4, 3), -3, new long[] {-1, 5}, new long[] {-2, 6})
                .parent(Long.MIN_VALUE)
                .startPosition(0xFFFF_FFFFL)
                .tier(StorageTier.DISK)
                .domain(ResidencyDomain.CACHE_OWNER)
                .build(),
            KvEvent.removed(new Member(1, 0), 2, new long[0])
                .domain(ResidencyDomain.MISSING)
                .build(),
            KvEvent.cleared(new Member(1, 0), 3).domain(ResidencyDomain.MISSING).build());
  }

  @Test
  void anUnusableDomainSpoilsItsOwnEventAlone() throws Exception {
    MessagePackWriter out = new MessagePackWriter().list(4);
    for (int id = 4; id <= 7; id++) {
      out.map(3).text("worker_id").u64(1).text("residency_domain");
      if (id == 6) {
        out.nil();
      } else {
        out.text(id == 5 ? "future_owner" : "worker");
      }
      out.text("event").map(2).text("event_id").u64(id).text("data").text("cleared");
    }

    assertThat(read(frames(Topic.KV_EVENTS, 7, 0, out.bytes())).events())
        .extracting(KvEvent::domain)
        .containsExactly(
            ResidencyDomain.WORKER,
            ResidencyDomain.UNKNOWN,
            ResidencyDomain.INVALID,
            ResidencyDomain.WORKER);
  }

  @Test
  void aBatchThatIsNoListOfMapsIsRefused() {
    MessagePackWriter positional = new MessagePackWriter().list(1).list(2).u64(1).text("device");
    MessagePackWriter noId = new MessagePackWriter().list(1).map(2).text("worker_id").u64(1);
    noId.text("event").map(1).text("data").text("cleared");
    MessagePackWriter tier = new MessagePackWriter().list(1).map(1).text("storage_tier").text("x");
    MessagePackWriter data = new MessagePackWriter().list(1).map(1);
    data.text("event").map(1).text("data").text("evaporated");
    MessagePackWriter block = new MessagePackWriter().list(1).map(1);
    block.text("event").map(1).text("data").map(1).text("stored").map(1).text("blocks").list(1);
    block.map(1).text("block_hash").u64(1);
    MessagePackWriter rest = new MessagePackWriter().list(0).nil();
    for (MessagePackWriter bad : List.of(positional, noId, tier, data, block, rest)) {
      assertThatThrownBy(() -> read(frames(Topic.KV_EVENTS, 7, 0, bad.bytes())).events())
          .isInstanceOf(MalformedException.class);
    }
  }

  @Test
  void aLoadReportCarriesWhatIsThere() throws Exception {
    MessagePackWriter nils = new MessagePackWriter().map(5).text("worker_id").u64(-1);
    nils.text("dp_rank").u64(2).text("kv_used_blocks").nil();
    nils.text("active_decode_blocks").u64(9).text("scheduler").map(0);
    MessagePackWriter bare = new MessagePackWriter().map(1).text("worker_id").u64(3);

    LoadReport report = load(nils);
    assertThat(report.member()).isEqualTo(new Member(-1, 2));
    assertThat(report.kvUsedBlocks()).isEmpty();
    assertThat(report.activeDecodeBlocks()).hasValue(9);
    assertThat(load(bare).member()).isEqualTo(new Member(3, 0));
    assertThatThrownBy(() -> load(new MessagePackWriter().map(0)))
        .hasMessageContaining("worker_id");
  }

  private static LoadReport load(MessagePackWriter payload) throws MalformedException {
    return Envelope.read(frames(Topic.KV_METRICS, 7, 0, payload.bytes()), Topic.KV_METRICS, 7)
        .load();
  }
}
