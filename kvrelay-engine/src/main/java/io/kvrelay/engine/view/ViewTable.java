package io.kvrelay.engine.view;

import io.kvrelay.api.CkfFormat;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.LaneLease;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.runtime.RelayRuntime;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One table of the view: the lanes of all pools of one indexer domain and filter format, and the
 * workers that feed them. Bound and released on the board; lanes are thread safe.
 */
final class ViewTable {
  /** What pools of one table have in common. */
  record Key(IndexerDomainId domain, CkfFormat format) {
    static Key of(ProducerIdentity producer) {
      return new Key(producer.poolId().indexerDomain(), producer.format());
    }

    /** Memory of a table of this key. */
    long bytes(int lanes) {
      long width = lanes == 1 ? 1 : Integer.highestOneBit(lanes - 1) << 1;
      return Long.BYTES * width * format.bucketCount();
    }
  }

  private final Key key;
  private final LaneIndex index;
  private final IngestionPool ingestion;

  /**
   * Creates an empty table.
   *
   * @throws LaneException if there is no memory for it
   */
  ViewTable(
      Key key,
      long consumerInstance,
      ViewConfig config,
      RelayRuntime runtime,
      ViewCounters counters) {
    this.key = key;
    this.index =
        new LaneIndex(Manifest.empty(consumerInstance, key.domain(), key.format(), config.lanes()));
    this.ingestion =
        new IngestionPool(
            index,
            IngestionConfig.DEFAULT
                .withWorkers(config.ingestWorkers())
                .withMaxDirtyToAppliedAge(config.maxApplyAge()),
            runtime,
            counters);
  }

  Key key() {
    return key;
  }

  LaneIndex index() {
    return index;
  }

  /** No pool has a lane, and none is being released. */
  boolean isEmpty() {
    return index.manifest().configuredLanes() == 0;
  }

  /**
   * Gives a pool a lane.
   *
   * @throws LaneException if none is free, or the pool's former lane has not been released yet
   */
  int bind(PoolId pool) {
    return ingestion.bindLane(pool);
  }

  /** Takes back a lane that was bound and not used yet. */
  void unbind(int lane) {
    index.releaseLane(lane);
  }

  CompletionStage<Void> release(int lane) {
    return ingestion.releaseLane(lane);
  }

  void shutDown() {
    ingestion.shutDown();
  }

  ViewState.TableState state() {
    LaneIndex.Capture capture = index.capture();
    return new ViewState.TableState(
        key.domain(),
        key.format(),
        capture.manifest().capacity(),
        capture.manifest().configuredLanes(),
        capture.readyLanes(),
        index.table().bytes(),
        ingestion.failedWorker(),
        ingestion.counters().deltasRefused(),
        ingestion.counters().deltasDropped(),
        ingestion.counters().faults());
  }

  ReplicaLane lane(int lane) {
    return new Lane(lane);
  }

  /** One lane for its replica. The lease is touched by the replica's mailbox only. */
  private final class Lane implements ReplicaLane {
    private final int lane;
    private @Nullable LaneLease lease;

    private Lane(int lane) {
      this.lane = lane;
    }

    @Override
    public CompletionStage<LaneLease> assign(ProducerIdentity identity, Listener listener) {
      LaneLease next;
      try {
        next = ingestion.nextLease(lane);
      } catch (LaneException e) {
        return CompletableFuture.failedFuture(e);
      }
      lease = next;
      return ingestion.assign(identity, next, new Relayed(listener)).thenApply(assigned -> next);
    }

    @Override
    public CompletionStage<IngestOutcome> install(
        ProducerIdentity identity, LaneLease under, long sequence, long[] words) {
      return ingestion.installSnapshot(identity, under, sequence, words);
    }

    @Override
    public Admission submit(LaneDelta delta) {
      return ingestion.submitDelta(delta);
    }

    @Override
    public void retire() {
      LaneLease current = lease;
      if (current != null) {
        lease = null;
        ingestion.retire(current);
      }
    }
  }

  /** Tells a replica what its lane's workers say. */
  private record Relayed(ReplicaLane.Listener listener) implements LaneListener {
    @Override
    public void onDelta(LaneDelta delta, IngestResult result) {
      listener.applied(delta, result);
    }

    @Override
    public void onFault(IngestFault fault) {
      listener.lost(
          new RelayException(
              fault.kind() == IngestFault.Kind.LANE_DEACTIVATED
                  ? RelayErrorReason.PROTOCOL_VIOLATION
                  : RelayErrorReason.RESOURCE_LIMIT,
              "the lane was withdrawn: " + fault));
    }
  }
}
