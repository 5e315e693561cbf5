package io.kvrelay.api.events;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Provider interface: where the events of ranks come from, live and in retrospect. Thread safe; no
 * method blocks.
 *
 * <p>Which publisher may speak for which rank is not said here but in the deployment's facts
 * ({@link EventSourceAdvertisement}): a provider delivers what its publishers say, and the relay
 * drops whatever has no advertisement.
 */
public interface KvEventSource {
  /** Nobody publishes anything. */
  KvEventSource NONE =
      new KvEventSource() {
        @Override
        public Following follow(EndpointId kvStateEndpoint, KvEventListener listener) {
          return () -> CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<HistoryReply> history(
            EventSourceAdvertisement source, HistoryRequest request) {
          return CompletableFuture.completedFuture(
              new HistoryReply.Failed("there is no event source"));
        }
      };

  /** A subscription to one endpoint's live events. */
  interface Following {
    /**
     * Ends it. Idempotent.
     *
     * @return a stage that completes once the listener is not called any more; never fails
     */
    CompletionStage<Void> stop();
  }

  /**
   * Follows the live events of every publisher under an endpoint, present and future, from now on.
   * Nothing is replayed. Each publisher's batches arrive in the order in which it sent them;
   * publishers are independent.
   *
   * @param kvStateEndpoint the endpoint under which the sources are advertised
   * @param listener takes the batches
   * @return the subscription
   */
  Following follow(EndpointId kvStateEndpoint, KvEventListener listener);

  /**
   * Asks a source for what it has sent or holds. The relay bounds how many requests are under way,
   * and how long it waits.
   *
   * @param source whom to ask; it has a recovery target
   * @param request what for
   * @return the answer. A stage that fails means that none came: the relay asks again. Cancelling
   *     its {@code toCompletableFuture()} tells the provider that nobody waits any more
   */
  CompletionStage<HistoryReply> history(EventSourceAdvertisement source, HistoryRequest request);
}
