package io.kvrelay.cli.demo;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.api.transport.ConnectedSource;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.api.transport.RelayTransports;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.relay.KvPool;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.ViewConfig;
import io.kvrelay.engine.view.ViewQuery;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/**
 * Measures on the real clock how long an event takes from being handed to a relay until a query
 * sees it. The input's virtual clock cannot tell: there, processing takes no time, and a lone event
 * becomes visible after exactly the publication delay.
 *
 * <p>A relay and a view of the demo's size, on the demo's transport; lone events, one by one, each
 * awaited by a spinning query. So a figure holds the publication delay in full, every hand-over
 * between threads, encoding, transport, decoding and installation.
 */
final class FreshnessProbe {
  private static final long PATIENCE_SECONDS = 30;
  private static final int WARM_UP = 100;
  private static final Member MEMBER = new Member(1, 0);

  private final KvPool pool;
  private final ViewQuery query;
  private final SplittableRandom random;
  private long nextEventId;

  private FreshnessProbe(KvPool pool, ViewQuery query, SplittableRandom random) {
    this.pool = pool;
    this.query = query;
    this.random = random;
  }

  /**
   * Measures.
   *
   * @param workload the input, for sizes
   * @param settings the world, for sizes and the transport
   * @param samples how many events
   * @param stop whether to end early
   * @return nanoseconds of each event
   */
  static Samples measure(
      Workload workload, DemoSettings settings, int samples, BooleanSupplier stop) {
    Addresses addresses = Addresses.parse(settings.transport(), settings.dcs());
    try (SystemRuntime runtime = SystemRuntime.create();
        KvDcRelay relay = KvDcRelay.builder().dcName("probe").runtime(runtime).start()) {
      KvPool pool = await(relay.openPool(ServingPool.spec(workload, settings)));
      try (RelayExport export =
              RelayTransports.export(
                  relay.source(), addresses.of(0), settings.exportOptions(runtime));
          ConnectedSource remote =
              await(RelayTransports.connect(export.address(), settings.connectOptions(runtime)));
          KvGlobalView view =
              KvGlobalView.create(ViewConfig.builder().lanes(settings.dcs()).build(), runtime)) {
        view.attach(remote);
        await(view.awaitSequence(pool.identity().poolId(), 0));
        SplittableRandom random = new SplittableRandom(settings.seed());
        return new FreshnessProbe(pool, view.newQuery(), random).run(samples, stop);
      }
    } catch (RelayException e) {
      throw addresses.unusable(e);
    }
  }

  private Samples run(int samples, BooleanSupplier stop) {
    for (int i = 0; i < WARM_UP && !stop.getAsBoolean(); i++) {
      one();
    }
    Samples nanos = new Samples();
    for (int i = 0; i < samples && !stop.getAsBoolean(); i++) {
      nanos.add(one());
    }
    return nanos;
  }

  /** One block that nobody has yet, until the view says that somebody has it; then it goes. */
  private long one() {
    long[] block = {random.nextLong()};
    KvEvent store = KvEvent.stored(MEMBER, nextEventId++, block, block).startPosition(0).build();
    long start = System.nanoTime();
    await(pool.apply(store));
    awaitVisible(block, true);
    long nanos = System.nanoTime() - start;
    // The smallest filter has room for eight blocks.
    await(pool.apply(KvEvent.removed(MEMBER, nextEventId++, block).build()));
    awaitVisible(block, false);
    return nanos;
  }

  private void awaitVisible(long[] block, boolean visible) {
    long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (isVisible(block) != visible) {
      if (System.nanoTime() > giveUp) {
        throw new IllegalStateException("an event had no effect for 30 s");
      }
      Thread.onSpinWait();
    }
  }

  private boolean isVisible(long[] block) {
    query.clear().model(ServingPool.MODEL).localHashes(null, block, 0, 1).run();
    return query.size() == 1 && query.depthBlocks(0) == 1;
  }

  private static <T> T await(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RelayException refused ? refused : new CompletionException(e);
    } catch (TimeoutException e) {
      throw new IllegalStateException("the probe made no progress for 30 s", e);
    }
  }
}
