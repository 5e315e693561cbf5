package io.kvrelay.transport.grpc;

import io.kvrelay.transport.grpc.WireFault.Kind;
import io.kvrelay.transport.grpc.v1.DataStatus;
import io.kvrelay.transport.grpc.v1.KvPoolId;
import io.kvrelay.transport.grpc.v1.LoadView;
import io.kvrelay.transport.grpc.v1.ModelServingLoad;
import io.kvrelay.transport.grpc.v1.PoolServingLoad;
import io.kvrelay.transport.grpc.v1.RequestLifecycleStats;
import io.kvrelay.transport.grpc.v1.ServingLoadUpdate;
import io.kvrelay.transport.grpc.v1.TokenLoadStats;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Validation of the additive serving-load plane, in the contract's order of evaluation. A window's
 * fault makes the whole window unusable; an entry's fault concerns that entry. Stateless, thread
 * safe, never blocks, changes nothing.
 */
public final class ServingLoadValidator {
  private ServingLoadValidator() {}

  /**
   * Checks what a window must satisfy as a whole: envelope, relay, and keys that identify its
   * entries. An entry whose producer is unsupported is tolerated and takes no part in the search
   * for duplicates.
   *
   * @param window the window
   * @return the fault, or null
   */
  public static @Nullable WireFault window(ServingLoadUpdate window) {
    WireFault fault =
        WireValidator.envelope(window.getContractMarker(), window.getProtocolVersion());
    if (fault != null) {
      return fault;
    }
    if (!window.hasRelay()) {
      return WireFault.missing("relay");
    }
    fault = poolKeys(window.getPoolsList());
    return fault == null ? modelKeys(window.getModelsList()) : fault;
  }

  private static @Nullable WireFault poolKeys(List<PoolServingLoad> pools) {
    Set<io.kvrelay.api.ProducerIdentity> seen = new HashSet<>();
    for (int i = 0; i < pools.size(); i++) {
      WireFault fault = producer(pools.get(i));
      if (fault == null) {
        io.kvrelay.api.ProducerIdentity key = KvRelayWire.fromWire(pools.get(i).getProducer());
        if (!seen.add(key)) {
          fault = WireFault.malformed(Kind.DUPLICATE_LOAD_POOL, "producer", key);
        }
      } else if (fault.unsupported()) {
        continue;
      }
      if (fault != null) {
        return fault.in("pools[" + i + "]");
      }
    }
    return null;
  }

  private static @Nullable WireFault modelKeys(List<ModelServingLoad> models) {
    Set<List<String>> seen = new HashSet<>();
    for (int i = 0; i < models.size(); i++) {
      ModelServingLoad model = models.get(i);
      WireFault fault = key(model);
      if (fault == null && !seen.add(List.of(model.getNamespace(), model.getCanonicalModelId()))) {
        fault =
            WireFault.malformed(
                Kind.DUPLICATE_LOAD_MODEL,
                "canonical_model_id",
                WireValidator.quoted(model.getCanonicalModelId()));
      }
      if (fault != null) {
        return fault.in("models[" + i + "]");
      }
    }
    return null;
  }

  /**
   * Checks a pool's entry.
   *
   * @param entry the entry
   * @return the fault, or null
   */
  public static @Nullable WireFault pool(PoolServingLoad entry) {
    WireFault fault = producer(entry);
    if (fault != null) {
      return fault;
    }
    if (!entry.hasLoad()) {
      return WireFault.missing("load");
    }
    fault = poolView(entry.getLoad());
    if (fault != null) {
      return fault.in("load");
    }
    return entry.hasDeployment() ? null : WireFault.missing("deployment");
  }

  private static @Nullable WireFault producer(PoolServingLoad entry) {
    if (!entry.hasProducer()) {
      return WireFault.missing("producer");
    }
    WireFault fault = WireValidator.producer(entry.getProducer());
    return fault == null ? null : fault.in("producer");
  }

  private static @Nullable WireFault poolView(LoadView view) {
    WireFault fault = status(view);
    if (fault != null) {
      return fault;
    }
    boolean complete = isComplete(view);
    TokenLoadStats tokens = view.getTokens();
    fault = presence("requests", view.hasRequests(), false);
    if (fault == null) {
      fault = presence("tokens", view.hasTokens(), true);
    }
    if (fault == null) {
      fault = presence("tokens.active_prefill_tokens", tokens.hasActivePrefillTokens(), complete);
    }
    if (fault == null) {
      fault = presence("tokens.active_decode_blocks", tokens.hasActiveDecodeBlocks(), complete);
    }
    if (fault == null) {
      fault =
          presence(
              "tokens.awaiting_first_token_input_tokens",
              tokens.hasAwaitingFirstTokenInputTokens(),
              false);
    }
    if (fault == null) {
      fault = presence("tokens.inflight_input_tokens", tokens.hasInflightInputTokens(), false);
    }
    if (fault == null) {
      fault = presence("tokens.input_tokens_total", tokens.hasInputTokensTotal(), false);
    }
    return fault == null
        ? presence("tokens.output_tokens_total", tokens.hasOutputTokensTotal(), false)
        : fault;
  }

  /**
   * Checks a model's entry.
   *
   * @param entry the entry
   * @return the fault, or null
   */
  public static @Nullable WireFault model(ModelServingLoad entry) {
    WireFault fault = key(entry);
    if (fault != null) {
      return fault;
    }
    if (!entry.hasLoad()) {
      return WireFault.missing("load");
    }
    fault = modelView(entry.getLoad());
    if (fault != null) {
      return fault.in("load");
    }
    if (!entry.hasDeployment()) {
      return WireFault.missing("deployment");
    }
    return servingPools(entry.getDeployment().getServingPoolsList());
  }

  private static @Nullable WireFault key(ModelServingLoad entry) {
    WireFault fault = WireValidator.text(entry.getNamespace(), "namespace");
    return fault == null
        ? WireValidator.text(entry.getCanonicalModelId(), "canonical_model_id")
        : fault;
  }

  private static @Nullable WireFault modelView(LoadView view) {
    WireFault fault = status(view);
    if (fault != null) {
      return fault;
    }
    boolean complete = isComplete(view);
    RequestLifecycleStats requests = view.getRequests();
    fault = presence("requests", view.hasRequests(), true);
    if (fault == null) {
      fault =
          presence(
              "requests.requests_awaiting_first_token",
              requests.hasRequestsAwaitingFirstToken(),
              complete);
    }
    if (fault == null) {
      fault = presence("requests.requests_generating", requests.hasRequestsGenerating(), complete);
    }
    if (fault == null) {
      fault = presence("tokens", view.hasTokens(), true);
    }
    return fault == null ? modelTokens(view.getTokens(), complete) : fault;
  }

  private static @Nullable WireFault modelTokens(TokenLoadStats tokens, boolean complete) {
    WireFault fault =
        presence(
            "tokens.awaiting_first_token_input_tokens",
            tokens.hasAwaitingFirstTokenInputTokens(),
            complete);
    if (fault == null) {
      fault = presence("tokens.inflight_input_tokens", tokens.hasInflightInputTokens(), complete);
    }
    if (fault == null) {
      fault = presence("tokens.input_tokens_total", tokens.hasInputTokensTotal(), true);
    }
    if (fault == null) {
      fault = presence("tokens.output_tokens_total", tokens.hasOutputTokensTotal(), true);
    }
    if (fault == null) {
      fault = presence("tokens.active_prefill_tokens", tokens.hasActivePrefillTokens(), false);
    }
    return fault == null
        ? presence("tokens.active_decode_blocks", tokens.hasActiveDecodeBlocks(), false)
        : fault;
  }

  private static @Nullable WireFault servingPools(List<KvPoolId> pools) {
    Set<io.kvrelay.api.PoolId> seen = new HashSet<>();
    for (int i = 0; i < pools.size(); i++) {
      String field = "deployment.serving_pools[" + i + "]";
      WireFault fault = WireValidator.poolId(pools.get(i));
      if (fault != null) {
        return fault.in(field);
      }
      io.kvrelay.api.PoolId id = KvRelayWire.fromWire(pools.get(i));
      if (!seen.add(id)) {
        return WireFault.malformed(Kind.DUPLICATE_SERVING_POOL, field, id);
      }
    }
    return null;
  }

  private static @Nullable WireFault status(LoadView view) {
    int status = view.getStatusValue();
    return status != 0 && DataStatus.forNumber(status) != null
        ? null
        : WireFault.unlisted(Kind.DATA_STATUS, "status", status, Integer.toString(status));
  }

  private static boolean isComplete(LoadView view) {
    return view.getStatusValue() == DataStatus.DATA_STATUS_COMPLETE_VALUE;
  }

  private static @Nullable WireFault presence(String field, boolean set, boolean required) {
    return set == required
        ? null
        : WireFault.malformed(Kind.LOAD_VIEW_FIELD, field, set ? "set" : "unset");
  }
}
