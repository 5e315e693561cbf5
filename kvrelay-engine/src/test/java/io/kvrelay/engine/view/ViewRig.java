package io.kvrelay.engine.view;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import java.time.Duration;
import java.util.stream.IntStream;

/** A view in virtual time, and shorthand for what tests do with it. */
final class ViewRig {
  static final Duration LONG = Duration.ofMinutes(2);

  final VirtualRuntime runtime;
  final KvGlobalView view;

  ViewRig() {
    this(ViewConfig.builder().lanes(4).build());
  }

  ViewRig(ViewConfig config) {
    this(config, VirtualRuntime.inOrder(1));
  }

  ViewRig(ViewConfig config, VirtualRuntime runtime) {
    this.runtime = runtime;
    this.view = KvGlobalView.create(config, runtime);
  }

  Attachment attach(ScriptedRelay relay) {
    Attachment attachment = view.attach(relay);
    settle();
    return attachment;
  }

  void settle() {
    runtime.runUntilIdle();
  }

  void advance(Duration duration) {
    runtime.advance(duration);
  }

  /** {@code blocks} whole blocks of a prompt that begins alike for equal seeds. */
  static int[] prompt(int seed, int blocks) {
    return IntStream.range(0, blocks * ScriptedRelay.BLOCK).map(i -> seed * 100_000 + i).toArray();
  }

  static long[] hashes(int[] tokens) {
    return hashes(tokens, ScriptedRelay.SEMANTICS, BlockSalt.NONE);
  }

  static long[] hashes(int[] tokens, QuerySemantics semantics, BlockSalt salt) {
    return new BlockHasher(semantics).sequenceHashes(tokens, salt);
  }

  /** A relay that shows one ready pool whose filter holds a prompt. */
  static ScriptedFilter filter(ProducerIdentity producer, int[] tokens) {
    return new ScriptedFilter(producer).put(hashes(tokens));
  }

  PrefixMatch match(int... tokens) {
    return view.match(PrefixRequest.of(ScriptedRelay.MODEL, tokens));
  }

  PoolMatch only(int... tokens) {
    PrefixMatch match = match(tokens);
    assertThat(match.pools()).hasSize(1);
    return match.pools().get(0);
  }

  int depth(PoolId pool, int... tokens) {
    return match(tokens).pool(pool).orElseThrow().depth();
  }

  long count(ViewCounter counter) {
    return view.statistics().count(counter);
  }

  /** Serves and shows pools of one relay. */
  static void show(ScriptedRelay relay, long revision, ScriptedFilter... filters) {
    PoolDescriptor[] descriptors = new PoolDescriptor[filters.length];
    for (int i = 0; i < filters.length; i++) {
      relay.serve(filters[i]);
      descriptors[i] = ScriptedRelay.descriptor(filters[i].producer());
    }
    relay.show(revision, descriptors);
  }
}
