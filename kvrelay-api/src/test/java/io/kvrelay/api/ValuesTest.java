package io.kvrelay.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ValuesTest {
  private static final Digest LOW = new Digest(0x7fL << 56, 0);
  private static final Digest HIGH = new Digest(0x80L << 56, 0);

  static PoolId pool(long dc) {
    return new PoolId(
        new IndexerDomainId(
            new CacheSemanticsId(
                new Digest(0xababababababababL, 0xababababababababL), IdentitySource.EXPLICIT),
            new RoutingScopeId(
                new Digest(0x0101010101010101L, 0x0101010101010101L),
                IdentitySource.DEFAULT_DERIVED)),
        new DcId(dc));
  }

  static ProducerIdentity producer(long generation) {
    return new ProducerIdentity(pool(1), 7, generation, new CkfFormat(CkfFormat.DEFAULT_SEED, 16));
  }

  @Test
  void digestsOrderAsUnsignedBytesAndSurviveTheirTextAndBytes() {
    assertThat(LOW).isLessThan(HIGH);
    assertThat(new Digest(1, Long.MAX_VALUE)).isLessThan(new Digest(1, Long.MIN_VALUE));
    assertThat(Digest.parse(HIGH.toString())).isEqualTo(HIGH);
    assertThat(Digest.of(HIGH.toBytes())).isEqualTo(HIGH);
    assertThat(HIGH.toString()).isEqualTo("80000000000000000000000000000000");
  }

  @Test
  void aDigestOfAnotherLengthIsRefusedWithItsLength() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Digest.of(new byte[15]))
        .withMessageContaining("digest.length = 15");
  }

  @Test
  void theSourceOfADigestIsPartOfIdentityAndOrder() {
    CacheSemanticsId derived = new CacheSemanticsId(LOW, IdentitySource.DEFAULT_DERIVED);
    CacheSemanticsId explicit = new CacheSemanticsId(LOW, IdentitySource.EXPLICIT);
    assertThat(derived).isNotEqualTo(explicit).isLessThan(explicit);
    assertThat(new RoutingScopeId(LOW, IdentitySource.DEFAULT_DERIVED))
        .isLessThan(new RoutingScopeId(LOW, IdentitySource.EXPLICIT));
  }

  @Test
  void aPoolIdShowsFixedWidthHexadecimal() {
    assertThat(pool(1).toString())
        .isEqualTo(
            "abababababababababababababababab:01010101010101010101010101010101/0000000000000001");
    assertThat(pool(-1)).isGreaterThan(pool(Long.MAX_VALUE));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3, 1023, (1 << 24) + 1, 1 << 25, Integer.MIN_VALUE})
  void aBucketCountThatIsNoPowerOfTwoInRangeIsRefused(int buckets) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new CkfFormat(0, buckets))
        .withMessageContaining("bucketCount = " + Integer.toUnsignedString(buckets));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 16, 1 << 19, 1 << 24})
  void aBucketCountInRangeIsAccepted(int buckets) {
    assertThat(new CkfFormat(0, buckets).bucketCount()).isEqualTo(buckets);
  }

  @Test
  void everyDimensionOfAProducerIdentityTakesPartInEquality() {
    ProducerIdentity base = producer(1);
    CkfFormat format = base.format();
    assertThat(base)
        .isEqualTo(producer(1))
        .isNotEqualTo(producer(2))
        .isNotEqualTo(new ProducerIdentity(pool(2), 7, 1, format))
        .isNotEqualTo(new ProducerIdentity(pool(1), 8, 1, format))
        .isNotEqualTo(new ProducerIdentity(pool(1), 7, 1, new CkfFormat(1, 16)))
        .isNotEqualTo(new ProducerIdentity(pool(1), 7, 1, new CkfFormat(format.seed(), 32)));
    assertThatIllegalArgumentException().isThrownBy(() -> producer(0));
  }

  @Test
  void membersOrderUnsignedByWorkerThenRank() {
    assertThat(new Member(1, 5)).isLessThan(new Member(2, 0)).isLessThan(new Member(-1, 0));
    assertThat(new Member(1, 5)).isLessThan(new Member(1, -1));
    assertThat(new Member(-1, -1)).hasToString("18446744073709551615/4294967295");
  }

  @ParameterizedTest
  @CsvSource({
    "GPU,DEVICE", "DEVICE,DEVICE", "CPU,HOST_PINNED", "CPU_PINNED,HOST_PINNED",
        "CPU_TIER1,HOST_PINNED",
    "CPU_TIER2,DISK", "DISK,DISK", "NVME,DISK", "STORAGE,DISK", "EXTERNAL,EXTERNAL",
    "NETWORK,EXTERNAL", "REMOTE,EXTERNAL", "SHARED,EXTERNAL"
  })
  void everyEngineMediumHasItsTier(String medium, StorageTier tier) {
    assertThat(StorageTier.ofMedium(medium)).isEqualTo(tier);
  }

  @Test
  void anAbsentMediumIsTheDeviceAndAnUnknownOneIsNone() {
    assertThat(StorageTier.ofMedium(null)).isEqualTo(StorageTier.DEVICE);
    assertThat(StorageTier.ofMedium("gpu")).isNull();
    assertThat(StorageTier.DEVICE.medium()).isNull();
    for (StorageTier tier : StorageTier.values()) {
      assertThat(StorageTier.ofMedium(tier.medium())).isEqualTo(tier);
      assertThat(StorageTier.ofWireName(tier.wireName())).isEqualTo(tier);
    }
  }

  @Test
  void anEventShowsItsRangeAndIgnoresWhatLiesOutside() {
    Member member = new Member(3, 0);
    KvEvent part =
        KvEvent.stored(member, 9, new long[] {1, 2, 3}, new long[] {4, 5, 6})
            .range(1, 2)
            .parent(7)
            .build();
    KvEvent whole =
        KvEvent.stored(member, 9, new long[] {2, 3}, new long[] {5, 6}).parent(7).build();
    assertThat(part).isEqualTo(whole).hasSameHashCodeAs(whole);
    assertThat(part.engineHash(0)).isEqualTo(2);
    assertThat(part.localHash(1)).isEqualTo(6);
    assertThat(part.startPosition()).isEqualTo(KvEvent.NO_START_POSITION);
    assertThat(part).isNotEqualTo(KvEvent.removed(member, 9, new long[] {2, 3}).build());
  }

  @Test
  void anEventRefusesArraysOfDifferentLengthAndAParentWhereThereIsNone() {
    Member member = new Member(3, 0);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KvEvent.stored(member, 1, new long[2], new long[1]))
        .withMessageContaining("localHashes.length = 1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KvEvent.cleared(member, 1).parent(4))
        .withMessageContaining("parentHash = 4");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> KvEvent.stored(member, 1, new long[0], new long[0]).startPosition(1L << 32))
        .withMessageContaining("startPosition = 4294967296");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", " x", "x ", "\tx", "x\n", "\u00a0x", "x\u0085", "\u2007x", "x\u202f", "\u3000x"
      })
  void textWithUnicodeWhiteSpaceAtAnEdgeIsInvalid(String text) {
    assertThat(Text.isValid(text)).isFalse();
    assertThatIllegalArgumentException().isThrownBy(() -> new ModelTarget.Base(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "a b", "\u001cx", "x\u001f", "\u200bx"})
  void textWithoutUnicodeWhiteSpaceAtAnEdgeIsValid(String text) {
    assertThat(Text.isValid(text)).isTrue();
  }

  @Test
  void anEndpointReadsBothSpellingsAndComparesAsATuple() {
    assertThat(EndpointId.parse("a.b.c")).isEqualTo(EndpointId.parse("a/b/c"));
    assertThat(new EndpointId("n", "a.b", "c")).isNotEqualTo(new EndpointId("n", "a", "b.c"));
    assertThatIllegalArgumentException().isThrownBy(() -> EndpointId.parse("a.b"));
  }

  @Test
  void rolesMustBePresentAndUnique() {
    EndpointId endpoint = EndpointId.parse("a.b.c");
    QuerySemantics semantics = new QuerySemantics(16, QueryHashFormat.DYNAMO_STANDARD_V1);
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> new PoolDescriptor(producer(1), endpoint, List.of(), semantics, List.of()))
        .withMessageContaining("roles");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                new TopologyMember(
                    endpoint, List.of(WorkerRole.DECODE, WorkerRole.DECODE), pool(1)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ModelRegistration.base("m", "a", "a"))
        .withMessageContaining("aliases");
  }

  @Test
  void incompleteCoverageIsDegradedAndNeverAuthoritative() {
    PoolLoad full = new PoolLoad(producer(1), OptionalLong.of(4), OptionalLong.of(9), 2, 2, 2);
    PoolLoad silent = new PoolLoad(producer(1), OptionalLong.empty(), OptionalLong.of(9), 1, 2, 2);
    PoolLoad none = new PoolLoad(producer(1), OptionalLong.empty(), OptionalLong.empty(), 0, 0, 0);
    assertThat(full.isAuthoritative()).isTrue();
    assertThat(full.isDegraded()).isFalse();
    assertThat(silent.isAuthoritative()).isFalse();
    assertThat(silent.isDegraded()).isTrue();
    assertThat(none.isDegraded()).isTrue();
  }

  @Test
  void aFramesPayloadIsReadOnlyLittleEndianAndIndependentPerView() {
    ByteBuffer bytes = ByteBuffer.wrap(new byte[] {9, 1, 0, 0, 0, 9}).position(1).limit(5);
    PublicationFrame frame =
        new PublicationFrame(producer(1), PublicationFrame.Kind.DELTA, 4, 5, bytes, 0);
    ByteBuffer view = frame.payload();
    assertThat(view.order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
    assertThat(view.getInt()).isEqualTo(1);
    assertThat(frame.payload().remaining()).isEqualTo(4);
    assertThat(frame.queueBytes()).isEqualTo(260);
    org.assertj.core.api.Assertions.assertThatThrownBy(() -> view.put(0, (byte) 1))
        .isInstanceOf(ReadOnlyBufferException.class);
    PublicationFrame heartbeat = PublicationFrame.heartbeat(producer(1), 5, 1);
    assertThat(heartbeat.payloadBytes()).isZero();
    assertThat(heartbeat.baseSequence()).isEqualTo(heartbeat.sequence()).isEqualTo(5);
  }

  @Test
  void onlyTheContractsReasonsTravel() {
    assertThat(RelayErrorReason.CONTRACT_MISMATCH.isWireReason()).isTrue();
    assertThat(RelayErrorReason.INTERNAL.isWireReason()).isTrue();
    assertThat(RelayErrorReason.UNSPECIFIED.isWireReason()).isFalse();
    assertThat(RelayErrorReason.PROTOCOL_VIOLATION.isWireReason()).isFalse();
    assertThat(new RelayException(RelayErrorReason.INVALID_PUBLICATION, "x").action())
        .isEqualTo(RecoveryAction.ABANDON_GENERATION);
  }
}
