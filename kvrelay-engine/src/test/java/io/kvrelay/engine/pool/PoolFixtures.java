package io.kvrelay.engine.pool;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.engine.hash.SequenceHashes;
import java.util.Arrays;

/**
 * Short names for what these tests use all the time. An engine hash here is its local hash plus
 * 1000.
 */
final class PoolFixtures {
  static final Member A = new Member(1, 0);
  static final Member A1 = new Member(1, 1);
  static final Member B = new Member(2, 0);

  static final LaneLease LEASE_1 = new LaneLease(7, 0, 1);
  static final LaneLease LEASE_2 = new LaneLease(7, 0, 2);

  private PoolFixtures() {}

  static ProducerIdentity identity(CkfFormat format) {
    Digest digest = new Digest(1, 2);
    PoolId pool =
        new PoolId(
            new IndexerDomainId(
                new CacheSemanticsId(digest, IdentitySource.EXPLICIT),
                new RoutingScopeId(digest, IdentitySource.EXPLICIT)),
            new DcId(3));
    return new ProducerIdentity(pool, 7, 1, format);
  }

  static long engine(long local) {
    return local + 1000;
  }

  static long[] engines(long... locals) {
    return Arrays.stream(locals).map(PoolFixtures::engine).toArray();
  }

  static KvEvent.Builder store(Member member, long... locals) {
    return KvEvent.stored(member, 1, engines(locals), locals);
  }

  static KvEvent.Builder storeAs(Member member, long[] engineHashes, long... locals) {
    return KvEvent.stored(member, 1, engineHashes, locals);
  }

  static KvEvent.Builder remove(Member member, long... locals) {
    return KvEvent.removed(member, 1, engines(locals));
  }

  static KvEvent.Builder clear(Member member) {
    return KvEvent.cleared(member, 1);
  }

  static long[] range(long from, int to) {
    long[] values = new long[(int) (to - from + 1)];
    for (int i = 0; i < values.length; i++) {
      values[i] = from + i;
    }
    return values;
  }

  static long[] chain(long... locals) {
    return SequenceHashes.chain(locals);
  }
}
