package io.kvrelay.engine.ingest;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.engine.pool.PoolActor;
import io.kvrelay.engine.pool.RankReplacement;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** What ingest does to a pool. The promises are {@link PoolActor}'s. */
interface PoolPort {
  CompletionStage<Void> admit(KvEvent event, long publisherId);

  CompletionStage<Void> resetRank(Member member);

  CompletionStage<Void> replaceRanks(Map<Member, RankReplacement> replacements);

  static PoolPort of(PoolActor actor) {
    return new PoolPort() {
      @Override
      public CompletionStage<Void> admit(KvEvent event, long publisherId) {
        return actor.admit(event, publisherId);
      }

      @Override
      public CompletionStage<Void> resetRank(Member member) {
        return actor.resetRank(member);
      }

      @Override
      public CompletionStage<Void> replaceRanks(Map<Member, RankReplacement> replacements) {
        return actor.replaceRanks(replacements);
      }
    };
  }
}
