package io.kvrelay.cli;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.ModelTarget;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.engine.view.Explanation;
import io.kvrelay.engine.view.KvGlobalView;
import io.kvrelay.engine.view.MatchStatus;
import io.kvrelay.engine.view.PoolMatch;
import io.kvrelay.engine.view.PrefixMatch;
import io.kvrelay.engine.view.PrefixRequest;
import io.kvrelay.engine.view.ViewConfig;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Asks a view for one prompt after the other. Without a model it asks every pool, each by a name
 * that it serves: a base model's if it has one. The filters are copied once, so that all prompts
 * are answered by the same ones. One thread.
 */
final class PromptMatcher {
  private final KvGlobalView view;
  private final boolean hashes;
  private final @Nullable String model;
  private final @Nullable String lora;
  private final @Nullable String cacheNamespace;
  private final Map<ProducerIdentity, long[]> filters = new HashMap<>();
  // What to ask, and whose answers count; null means everybody's.
  private final Map<String, @Nullable Set<PoolId>> questions;

  PromptMatcher(
      KvGlobalView view,
      boolean hashes,
      @Nullable String model,
      @Nullable String lora,
      @Nullable String cacheNamespace) {
    this.view = view;
    this.hashes = hashes;
    this.model = model;
    this.lora = lora;
    this.cacheNamespace = cacheNamespace;
    this.questions = questions();
  }

  private Map<String, @Nullable Set<PoolId>> questions() {
    Map<String, @Nullable Set<PoolId>> asked = new LinkedHashMap<>();
    String given = model != null ? model : lora;
    if (given != null) {
      asked.put(given, null);
      return asked;
    }
    for (PoolDescriptor pool : view.pools()) {
      Set<PoolId> pools = asked.computeIfAbsent(name(pool), name -> new LinkedHashSet<>());
      if (pools != null) {
        pools.add(pool.poolId());
      }
    }
    return asked;
  }

  private static String name(PoolDescriptor pool) {
    return pool.registrations().stream()
        .min(
            Comparator.comparing(
                (ModelRegistration one) -> !(one.target() instanceof ModelTarget.Base)))
        .map(ModelRegistration::canonicalModelId)
        .orElseThrow(
            () ->
                new FailureException(
                    "pool " + pool.poolId() + " serves no model by which it could be asked"));
  }

  /**
   * Asks for one prompt.
   *
   * @param prompt token ids, or local hashes
   * @return a match for each pool, in pool order
   * @throws InputException if no pool serves the model
   */
  List<PoolMatch> match(long[] prompt) {
    List<PoolMatch> matches = new ArrayList<>();
    questions.forEach(
        (name, pools) -> {
          Explanation explanation = view.explain(request(name, prompt));
          PrefixMatch answer = explanation.match();
          if (answer.status() != MatchStatus.ANSWERED && answer.status() != MatchStatus.NO_ANSWER) {
            throw refused(name, answer);
          }
          for (PoolMatch match : answer.pools()) {
            if (pools == null || pools.contains(match.poolId())) {
              matches.add(withCommonDepth(match, explanation));
            }
          }
        });
    matches.sort(Comparator.comparing(PoolMatch::poolId));
    return matches;
  }

  private PoolMatch withCommonDepth(PoolMatch match, Explanation explanation) {
    Explanation.Hashes names = explanation.hashes().get(match.descriptor().querySemantics());
    ProducerIdentity producer = match.descriptor().producer();
    long[] words = filters.computeIfAbsent(producer, this::copy);
    if (!match.hasAnswer() || names == null || words.length == 0) {
      return match;
    }
    int window = ViewConfig.DEFAULTS.verificationWindow();
    return new PoolMatch(
        match.descriptor(),
        match.registration(),
        match.answer(),
        CommonDepth.of(words, producer.format(), names.sequence(), window),
        match.queryBlocks(),
        match.readiness(),
        match.load(),
        match.catalogFresh(),
        match.detail());
  }

  /** A pool's filter, or nothing while it has none. */
  private long[] copy(ProducerIdentity producer) {
    long[] words = new long[producer.format().bucketCount()];
    return view.copyLaneWords(producer.poolId(), words) ? words : new long[0];
  }

  private PrefixRequest request(String name, long[] prompt) {
    PrefixRequest.Builder request = PrefixRequest.builder(name);
    if (model != null && lora != null) {
      request.adapter(lora);
    }
    if (cacheNamespace != null) {
      request.cacheNamespace(cacheNamespace);
    }
    if (hashes) {
      return request.localHashes(null, prompt).build();
    }
    int[] tokens = new int[prompt.length];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = (int) prompt[i];
    }
    return request.tokens(tokens).build();
  }

  private RuntimeException refused(String name, PrefixMatch answer) {
    String why = answer.status() + (answer.detail().isEmpty() ? "" : ", " + answer.detail());
    if (model == null && lora == null) {
      return new FailureException(name + ": " + why + "; try --model");
    }
    String asked = model == null ? "" : "--model = " + model;
    String adapter = lora == null ? "" : "--lora = " + lora;
    String both = asked + (asked.isEmpty() || adapter.isEmpty() ? "" : ", ") + adapter;
    return new InputException(both + ": " + why);
  }
}
