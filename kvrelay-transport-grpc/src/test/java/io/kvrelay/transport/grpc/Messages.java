package io.kvrelay.transport.grpc;

import com.google.protobuf.UnknownFieldSet;
import io.kvrelay.api.PoolId;
import io.kvrelay.testkit.transport.Fixtures;
import io.kvrelay.transport.grpc.v1.KvPoolDescriptor;
import io.kvrelay.transport.grpc.v1.ProducerIdentity;
import io.kvrelay.transport.grpc.v1.TopologyEntry;
import java.util.function.Consumer;

/** Valid wire messages, and the same with something broken. */
final class Messages {
  static final PoolId POOL = Fixtures.pool(0x11);

  /** A field of a newer version. */
  static final UnknownFieldSet ADDED =
      UnknownFieldSet.newBuilder()
          .addField(100, UnknownFieldSet.Field.newBuilder().addVarint(7).build())
          .build();

  private Messages() {}

  static ProducerIdentity producer(Consumer<ProducerIdentity.Builder> change) {
    ProducerIdentity.Builder builder =
        KvRelayWire.toWire(Fixtures.producer(POOL, 1, 16)).toBuilder();
    change.accept(builder);
    return builder.build();
  }

  static KvPoolDescriptor descriptor(Consumer<KvPoolDescriptor.Builder> change) {
    KvPoolDescriptor.Builder builder =
        KvRelayWire.toWire(Fixtures.richDescriptor(Fixtures.producer(POOL, 1, 16))).toBuilder();
    change.accept(builder);
    return builder.build();
  }

  static TopologyEntry entry(Consumer<TopologyEntry.Builder> change) {
    TopologyEntry.Builder builder = KvRelayWire.toWire(Fixtures.richEntry(POOL)).toBuilder();
    change.accept(builder);
    return builder.build();
  }
}
