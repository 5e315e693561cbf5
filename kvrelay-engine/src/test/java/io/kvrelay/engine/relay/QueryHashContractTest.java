package io.kvrelay.engine.relay;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import io.kvrelay.engine.hash.EngineBlocks;
import io.kvrelay.engine.hash.PlaceholderTokens;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What a pool declares about its hashes is enough to ask for what it holds: blocks that workers
 * store under a salt are found by whoever knows the tokens, the names and the catalog.
 */
class QueryHashContractTest {
  private static final String NAMESPACE = "tenant-ns";
  private static final int[] TOKENS = IntStream.rangeClosed(0, 12).toArray();
  private static final long[] ENGINE_HASHES = {101, 102, 103};

  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final KvDcRelay relay = KvDcRelay.builder().dcName("dc-a").runtime(time).start();
  private final KvGlobalView view = KvGlobalView.create(ViewConfig.DEFAULTS, time);

  @ParameterizedTest
  @CsvSource({
    "DYNAMO_STANDARD_V1,",
    "DYNAMO_STANDARD_V1, sql",
    "DYNAMO_EAGLE_V1,",
    "DYNAMO_EAGLE_V1, sql"
  })
  void storedBlocksAreFoundByTheDeclaredSemantics(QueryHashFormat format, @Nullable String lora) {
    KvPoolSpec spec = spec(format, lora);
    KvPool pool = join(relay.openPool(spec));
    view.attach(relay.source());
    join(pool.apply(stored(format, lora)));
    join(pool.flush());

    PrefixRequest.Builder request =
        PrefixRequest.builder(lora == null ? "llama" : lora).tokens(TOKENS);
    assertThat(depth(request.cacheNamespace(NAMESPACE).build())).isEqualTo(3);
    assertThat(depth(request.cacheNamespace("another").build())).isZero();
    assertThat(ownHashesDepth(spec.querySemantics(), lora)).isEqualTo(3);
  }

  private static KvPoolSpec spec(QueryHashFormat format, @Nullable String lora) {
    KvPoolSpec.Builder spec =
        KvPoolSpec.builder()
            .endpoint("prod.backend.generate")
            .model("llama")
            .blockSize(4)
            .hashFormat(format)
            .expectedUniqueBlocks(100);
    if (lora != null) {
      spec.registration(
          new ModelRegistration(lora, new ModelTarget.Lora("llama", lora), List.of()));
    }
    return spec.build();
  }

  private static KvEvent stored(QueryHashFormat format, @Nullable String lora) {
    return new EngineBlocks(new BlockHasher(4, format), PlaceholderTokens.NONE)
        .reset()
        .salt(BlockSalt.of(lora, NAMESPACE))
        .event(new Member(1, 0), 1, ENGINE_HASHES, TOKENS);
  }

  private int depth(PrefixRequest request) {
    return view.match(request).pools().get(0).depth();
  }

  /** The same for a caller that hashes itself, by what the pool declares. */
  private int ownHashesDepth(QuerySemantics declared, @Nullable String lora) {
    BlockHasher hasher = new BlockHasher(declared);
    long[] locals = new long[hasher.blockCount(TOKENS.length)];
    hasher.localHashes(TOKENS, 0, TOKENS.length, BlockSalt.of(lora, NAMESPACE), locals, 0);
    return depth(PrefixRequest.builder("llama").localHashes(declared, locals).build());
  }

  private <T> T join(CompletionStage<T> stage) {
    time.runUntilIdle();
    CompletableFuture<T> future = stage.toCompletableFuture();
    assertThat(future).isDone();
    return future.join();
  }
}
