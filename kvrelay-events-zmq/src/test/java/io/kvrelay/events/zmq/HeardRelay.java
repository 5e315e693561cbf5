package io.kvrelay.events.zmq;

import static org.assertj.core.api.Assertions.fail;

import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.SourceTrust;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;

/** A relay at the end of real sockets: one model for each publisher, and waiting with a bound. */
final class HeardRelay implements KvEventListener {
  private static final long BOUND_NANOS = 20_000_000_000L;

  private final Map<Long, RelayModel> models = new HashMap<>();
  private final Map<Long, List<KvEventBatch>> early = new HashMap<>();
  private final Map<Long, SourceTrust> trusts = new HashMap<>();
  private final Map<Long, String> reasons = new HashMap<>();
  private RelayException failure;
  private AssertionError broken;

  /** Asks for the whole state, as a relay does that begins to follow; until then it only waits. */
  void recover(ZmqEventSource source, EventSourceAdvertisement advertised) {
    source
        .history(advertised, HistoryRequest.full(advertised.member()))
        .thenAccept(reply -> install(advertised.publisherId(), (HistoryReply.TreeDump) reply));
  }

  private synchronized void install(long publisher, HistoryReply.TreeDump dump) {
    RelayModel model = new RelayModel();
    model.replace(dump.events(), dump.last());
    models.put(publisher, model);
    List<KvEventBatch> waiting = early.remove(publisher);
    for (KvEventBatch batch : waiting == null ? List.<KvEventBatch>of() : waiting) {
      model.apply(batch.events().stream().filter(e -> e.eventId() > dump.last()).toList());
    }
    notifyAll();
  }

  @Override
  public synchronized void onBatch(KvEventBatch batch) {
    RelayModel model = models.get(batch.publisherId());
    try {
      if (model == null) {
        early.computeIfAbsent(batch.publisherId(), id -> new ArrayList<>()).add(batch);
      } else {
        model.apply(batch.events());
      }
    } catch (AssertionError e) {
      broken = e;
    }
    notifyAll();
  }

  @Override
  public synchronized void onDiscontinuity(long publisherId, String reason) {
    throw new AssertionError(reason);
  }

  @Override
  public synchronized void onTrust(long publisherId, SourceTrust trust, String reason) {
    trusts.put(publisherId, trust);
    reasons.put(publisherId, reason);
    notifyAll();
  }

  @Override
  public synchronized void onFailure(RelayException error) {
    failure = error;
    notifyAll();
  }

  synchronized SourceTrust trust(long publisher) {
    return trusts.getOrDefault(publisher, SourceTrust.UNKNOWN);
  }

  synchronized String reason(long publisher) {
    return reasons.getOrDefault(publisher, "");
  }

  synchronized RelayException failure() {
    return failure;
  }

  synchronized Set<Long> sequenceHashes(long publisher) {
    RelayModel model = models.get(publisher);
    return model == null ? Set.of() : new HashSet<>(model.sequenceHashes());
  }

  synchronized long clears(long publisher) {
    RelayModel model = models.get(publisher);
    return model == null ? 0 : model.clears();
  }

  /** Waits until something holds that only changes when this object is told something. */
  synchronized void await(String what, BooleanSupplier condition) {
    long end = System.nanoTime() + BOUND_NANOS;
    try {
      while (!condition.getAsBoolean()) {
        if (broken != null) {
          throw broken;
        }
        long left = (end - System.nanoTime()) / 1_000_000;
        if (left <= 0) {
          fail("not within the bound: " + what + "; " + trusts + " " + reasons);
        }
        wait(Math.min(left, 50));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      fail("interrupted while waiting for " + what);
    }
  }

  void awaitExact(long publisher, Set<Long> truth) {
    await(
        "the engine's state, exactly",
        () -> trust(publisher) == SourceTrust.EXACT && sequenceHashes(publisher).equals(truth));
  }
}
