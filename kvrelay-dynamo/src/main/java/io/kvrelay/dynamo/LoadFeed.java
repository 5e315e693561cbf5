package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.flow.Demand;
import io.kvrelay.api.runtime.SerialTask;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * The load reports of one endpoint's ranks. A subscriber that is slow gets fewer reports of a rank,
 * each with the newest values; a message that cannot be used ends the stream, because nobody knows
 * what it said.
 */
final class LoadFeed implements Flow.Publisher<LoadReport> {
  private static final int MAX_PENDING_RANKS = 1 << 16;

  private final EventPlane plane;
  private final Executor executor;
  private final EndpointId endpoint;

  LoadFeed(EventPlane plane, Executor executor, EndpointId endpoint) {
    this.plane = plane;
    this.executor = executor;
    this.endpoint = endpoint;
  }

  @Override
  public void subscribe(Flow.Subscriber<? super LoadReport> subscriber) {
    new Subscription(Objects.requireNonNull(subscriber, "subscriber")).begin();
  }

  /** The newer values of a rank, and the older ones where there is no newer. */
  static LoadReport merged(@Nullable LoadReport older, LoadReport newer) {
    return older == null
        ? newer
        : new LoadReport(
            newer.member(),
            either(newer.kvUsedBlocks(), older.kvUsedBlocks()),
            either(newer.activeDecodeBlocks(), older.activeDecodeBlocks()),
            either(newer.activePrefillTokens(), older.activePrefillTokens()));
  }

  private static OptionalLong either(OptionalLong first, OptionalLong second) {
    return first.isPresent() ? first : second;
  }

  private final class Subscription implements Flow.Subscription, EventPlane.Receiver {
    private final SerialTask turn = new SerialTask(executor, this::turn);
    private final Demand demand = new Demand();
    private volatile Flow.@Nullable Subscriber<? super LoadReport> subscriber;
    private boolean introduced;

    // Guarded by this.
    private final Map<Member, LoadReport> pending = new HashMap<>();
    private final Queue<Member> order = new ArrayDeque<>();
    private @Nullable RelayException failure;
    private KvEventSource.@Nullable Following following;
    private boolean cancelled;

    private Subscription(Flow.Subscriber<? super LoadReport> subscriber) {
      this.subscriber = subscriber;
    }

    private void begin() {
      turn.wake();
      KvEventSource.Following begun = plane.follow(endpoint, Topic.KV_METRICS, this);
      synchronized (this) {
        following = begun;
        if (!cancelled) {
          return;
        }
      }
      begun.stop();
    }

    @Override
    public void request(long n) {
      demand.add(n);
      turn.wake();
    }

    @Override
    public void cancel() {
      subscriber = null;
      KvEventSource.Following begun;
      synchronized (this) {
        begun = cancelled ? null : following;
        cancelled = true;
        pending.clear();
        order.clear();
      }
      if (begun != null) {
        begun.stop();
      }
    }

    @Override
    public void onMessage(DiscoveryRecord.Channel channel, Envelope envelope)
        throws MalformedException {
      LoadReport report = envelope.load();
      synchronized (this) {
        LoadReport before = pending.get(report.member());
        if (before == null) {
          if (order.size() >= MAX_PENDING_RANKS) {
            throw MalformedException.of("rank", report.member(), "one of too many that wait");
          }
          order.add(report.member());
        }
        pending.put(report.member(), merged(before, report));
      }
      turn.wake();
    }

    @Override
    public void onMalformed(DiscoveryRecord.Channel channel, String reason) {
      fail(
          new RelayException(
              RelayErrorReason.PROTOCOL_VIOLATION,
              "a load report of publisher "
                  + Long.toUnsignedString(channel.publisherId())
                  + " cannot be used: "
                  + reason));
    }

    @Override
    public void onClosed() {
      fail(new RelayException(RelayErrorReason.CLOSED, "the deployment is not followed any more"));
    }

    private void fail(RelayException why) {
      synchronized (this) {
        if (failure == null) {
          failure = why;
        }
      }
      turn.wake();
    }

    private void turn() {
      Flow.Subscriber<? super LoadReport> s = subscriber;
      if (s != null && !introduced) {
        introduced = true;
        guarded(() -> s.onSubscribe(this));
      }
      Throwable end = demand.fault();
      while (end == null && subscriber != null) {
        LoadReport next;
        synchronized (this) {
          end = failure;
          next = end == null && !order.isEmpty() && demand.tryTake() ? take() : null;
        }
        if (next == null) {
          break;
        }
        guarded(() -> Objects.requireNonNull(s).onNext(next));
      }
      Throwable last = end;
      if (last != null && s != null && subscriber != null) {
        cancel();
        s.onError(last);
      }
    }

    private LoadReport take() {
      return Objects.requireNonNull(pending.remove(order.remove()));
    }

    /** A subscriber that throws has broken its contract and gets nothing more. */
    private void guarded(Runnable signal) {
      try {
        signal.run();
      } catch (RuntimeException e) {
        cancel();
        throw e;
      }
    }
  }
}
