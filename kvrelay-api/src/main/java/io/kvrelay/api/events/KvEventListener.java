package io.kvrelay.api.events;

import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.RelayException;

/**
 * Takes what a {@link KvEventSource} delivers. Thread safe; no method blocks, whatever the state of
 * the index: a provider's receiving thread may call it directly. What the relay cannot take in time
 * it drops, counts, and recovers.
 */
public interface KvEventListener {
  /**
   * A batch of one publisher. Batches of one publisher are delivered one at a time.
   *
   * @param batch the batch
   */
  void onBatch(KvEventBatch batch);

  /**
   * What a publisher said before may be out of date and nothing later will tell: its rank is reset,
   * and its source is taken up again from the beginning.
   *
   * @param publisherId the publisher
   * @param reason for people
   */
  void onDiscontinuity(long publisherId, String reason);

  /**
   * How far the provider trusts its own picture of a publisher. A provider that never calls this
   * leaves the judgement to the relay. After {@link SourceTrust#UNKNOWN} for ten seconds the rank
   * stops contributing to answers: it is reset, and taken up again from the beginning once the
   * publisher is something else. What a subscription said ends with it: a new one starts with
   * nothing said.
   *
   * @param publisherId the publisher
   * @param trust the level
   * @param reason for people; the empty string for {@link SourceTrust#EXACT}
   */
  void onTrust(long publisherId, SourceTrust trust, String reason);

  /**
   * The subscription has ended by itself; the last call. The relay follows again after a while.
   *
   * @param error why
   */
  void onFailure(RelayException error);
}
