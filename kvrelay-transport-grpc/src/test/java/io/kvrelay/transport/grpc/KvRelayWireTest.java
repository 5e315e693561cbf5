package io.kvrelay.transport.grpc;

import static io.kvrelay.transport.grpc.Messages.producer;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.kvrelay.api.PoolLoad;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.transport.grpc.v1.DigestIdentity;
import io.kvrelay.transport.grpc.v1.KvPoolLoadEntry;
import io.kvrelay.transport.grpc.v1.ProducerIdentity;
import io.kvrelay.transport.grpc.v1.TopologyEntry;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class KvRelayWireTest {
  private static final io.kvrelay.api.ProducerIdentity POOL =
      Fixtures.producer(Messages.POOL, 1, 16);

  /** One change for each dimension of the producer key. */
  static List<Consumer<ProducerIdentity.Builder>> dimensions() {
    return List.of(
        p -> p.getPoolIdBuilder().setIdentityVersion(2),
        p -> cache(p).setDigest(ByteString.copyFrom(new byte[16])),
        p -> cache(p).setSourceValue(1),
        p -> scope(p).setDigest(ByteString.copyFrom(new byte[16])),
        p -> scope(p).setSourceValue(1),
        p -> p.getPoolIdBuilder().setDcId(4),
        p -> p.setProducerIncarnation(0x18),
        p -> p.setLayoutGeneration(2),
        p -> p.getCkfFormatBuilder().setFormatVersion(2),
        p -> p.getCkfFormatBuilder().setSeed(1),
        p -> p.getCkfFormatBuilder().setBucketCount(32),
        p -> p.getCkfFormatBuilder().setFingerprintBits(8),
        p -> p.getCkfFormatBuilder().setSlotsPerBucket(2));
  }

  private static DigestIdentity.Builder cache(ProducerIdentity.Builder p) {
    return p.getPoolIdBuilder().getIndexerDomainBuilder().getCacheSemanticsBuilder();
  }

  private static DigestIdentity.Builder scope(ProducerIdentity.Builder p) {
    return p.getPoolIdBuilder().getIndexerDomainBuilder().getRoutingScopeBuilder();
  }

  @ParameterizedTest
  @MethodSource("dimensions")
  void everyDimensionOfTheProducerKeyCounts(Consumer<ProducerIdentity.Builder> change) {
    ProducerIdentity changed = producer(change);
    assertThat(changed).isNotEqualTo(producer(p -> {}));
    if (WireValidator.producer(changed) == null) {
      assertThat(KvRelayWire.fromWire(changed)).isNotEqualTo(POOL);
    } else {
      assertThat(WireValidator.producer(changed).unsupported()).isTrue();
    }
  }

  @Test
  void thereAreThirteenDimensions() {
    Set<ProducerIdentity> different = new HashSet<>();
    dimensions().forEach(change -> different.add(producer(change)));
    assertThat(different).hasSize(13);
  }

  @Test
  void identitiesRoundTrip() {
    assertThat(KvRelayWire.fromWire(KvRelayWire.toWire(POOL))).isEqualTo(POOL);
    io.kvrelay.api.ProducerIdentity extreme =
        new io.kvrelay.api.ProducerIdentity(
            Fixtures.pool(0xF0), -1, Long.MIN_VALUE, new io.kvrelay.api.CkfFormat(-1, 1 << 24));
    assertThat(KvRelayWire.fromWire(KvRelayWire.toWire(extreme))).isEqualTo(extreme);
  }

  @Test
  void descriptorsAndEntriesRoundTrip() {
    assertThat(KvRelayWire.fromWire(KvRelayWire.toWire(Fixtures.richDescriptor(POOL))))
        .isEqualTo(Fixtures.richDescriptor(POOL));
    assertThat(KvRelayWire.fromWire(KvRelayWire.toWire(Fixtures.richEntry(Messages.POOL))))
        .isEqualTo(Fixtures.richEntry(Messages.POOL));
  }

  @Test
  void unpackedRolesAreRead() throws Exception {
    // Field 4 of a topology entry, one varint a time instead of packed.
    byte[] unpacked = {0x20, 0x01, 0x20, 0x02};
    assertThat(TopologyEntry.parseFrom(unpacked).getPresentRolesValueList()).containsExactly(1, 2);
  }

  @Test
  void unknownLoadTravelsAsZeroAndComesBackUnknown() {
    KvPoolLoadEntry wire = KvRelayWire.toWire(Fixtures.unknownLoad(POOL));
    assertThat(wire.getKvUsedBlocks()).isZero();
    assertThat(wire.getTotalKvBlocks()).isZero();
    assertThat(KvRelayWire.fromWire(wire)).isEqualTo(Fixtures.unknownLoad(POOL));
  }

  @Test
  void noUsageIsNotUnknownUsage() {
    PoolLoad idle = Fixtures.load(POOL, 0, 100);
    assertThat(KvRelayWire.fromWire(KvRelayWire.toWire(idle))).isEqualTo(idle);
  }

  @Test
  void withoutExpectedRanksNothingIsKnown() {
    KvPoolLoadEntry wire =
        KvRelayWire.toWire(Fixtures.load(POOL, 5, 9)).toBuilder()
            .setKvObservedRanks(0)
            .setKvExpectedRanks(0)
            .build();
    PoolLoad read = KvRelayWire.fromWire(wire);
    assertThat(read.kvUsedBlocks()).isEmpty();
    assertThat(read.totalKvBlocks()).isEmpty();
    assertThat(read.isDegraded()).isTrue();
  }
}
