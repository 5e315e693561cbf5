package io.kvrelay.engine.load;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.LoadReportSource;
import io.kvrelay.api.flow.Demand;
import io.kvrelay.api.runtime.SerialTask;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/**
 * Load reports that the host program states itself. A new subscriber first gets the latest report
 * of each rank; one that is slow misses values in between, never the latest.
 *
 * <p>Thread safe; nothing blocks. What is kept, here and for each subscriber, is one report per
 * rank, for at most {@value #MAX_RANKS} ranks of an endpoint.
 */
public final class HostLoadReports implements LoadReportSource {
  /** Most ranks of one endpoint that are kept. */
  public static final int MAX_RANKS = 65_536;

  private static final System.Logger LOG = System.getLogger(HostLoadReports.class.getName());

  private static final class Channel {
    private final Map<Member, LoadReport> latest = new LinkedHashMap<>();
    private final List<Subscription> subscriptions = new ArrayList<>();
  }

  private final Executor executor;
  // Guarded by this, with all channels.
  private final Map<EndpointId, Channel> channels = new HashMap<>();
  private long refused;

  /**
   * Without any report.
   *
   * @param executor where subscribers are called
   */
  public HostLoadReports(Executor executor) {
    this.executor = executor;
  }

  /**
   * States what a rank reports. It replaces only what it carries.
   *
   * @param endpoint the rank's serving endpoint
   * @param report the report
   * @return false if the endpoint has too many ranks; counted
   */
  public synchronized boolean report(EndpointId endpoint, LoadReport report) {
    Channel channel = channels.computeIfAbsent(endpoint, e -> new Channel());
    if (channel.latest.size() >= MAX_RANKS && !channel.latest.containsKey(report.member())) {
      refused++;
      return false;
    }
    channel.latest.merge(report.member(), report, HostLoadReports::merge);
    channel.subscriptions.forEach(subscription -> subscription.offer(report));
    return true;
  }

  private static LoadReport merge(LoadReport old, LoadReport next) {
    return new LoadReport(
        next.member(),
        latest(old.kvUsedBlocks(), next.kvUsedBlocks()),
        latest(old.activeDecodeBlocks(), next.activeDecodeBlocks()),
        latest(old.activePrefillTokens(), next.activePrefillTokens()));
  }

  private static OptionalLong latest(OptionalLong old, OptionalLong next) {
    return next.isPresent() ? next : old;
  }

  /**
   * Drops what ranks of a worker reported. Who has it already keeps it until the worker leaves the
   * deployment facts.
   *
   * @param endpoint the serving endpoint
   * @param workerId the worker
   */
  public synchronized void forget(EndpointId endpoint, long workerId) {
    Channel channel = channels.get(endpoint);
    if (channel != null) {
      channel.latest.keySet().removeIf(member -> member.workerId() == workerId);
      drop(endpoint, channel);
    }
  }

  private void drop(EndpointId endpoint, Channel channel) {
    if (channel.latest.isEmpty() && channel.subscriptions.isEmpty()) {
      channels.remove(endpoint);
    }
  }

  /**
   * Reports refused because an endpoint has too many ranks.
   *
   * @return how many
   */
  public synchronized long refused() {
    return refused;
  }

  /** Endpoints about which anything is kept. */
  synchronized int endpoints() {
    return channels.size();
  }

  @Override
  public Flow.Publisher<LoadReport> reports(EndpointId servingEndpoint) {
    return subscriber -> new Subscription(servingEndpoint, subscriber).open();
  }

  private synchronized void attach(Subscription subscription) {
    Channel channel = channels.computeIfAbsent(subscription.endpoint, e -> new Channel());
    channel.subscriptions.add(subscription);
    channel.latest.values().forEach(subscription::offer);
  }

  private synchronized void detach(Subscription subscription) {
    Channel channel = channels.get(subscription.endpoint);
    if (channel != null && channel.subscriptions.remove(subscription)) {
      drop(subscription.endpoint, channel);
    }
  }

  private final class Subscription implements Flow.Subscription {
    private final EndpointId endpoint;
    private final Demand demand = new Demand();
    private final SerialTask turn;
    private final Map<Member, LoadReport> pending = new LinkedHashMap<>();
    private volatile Flow.@Nullable Subscriber<? super LoadReport> subscriber;
    private boolean announced; // the turn's own

    private Subscription(EndpointId endpoint, Flow.Subscriber<? super LoadReport> subscriber) {
      this.endpoint = endpoint;
      this.subscriber = Objects.requireNonNull(subscriber, "subscriber");
      this.turn = new SerialTask(executor, this::deliver);
    }

    private void open() {
      attach(this);
      turn.wake();
    }

    private void offer(LoadReport report) {
      synchronized (pending) {
        pending.merge(report.member(), report, HostLoadReports::merge);
      }
      turn.wake();
    }

    private @Nullable LoadReport poll() {
      synchronized (pending) {
        Iterator<LoadReport> reports = pending.values().iterator();
        if (!reports.hasNext() || !demand.tryTake()) {
          return null;
        }
        LoadReport first = reports.next();
        reports.remove();
        return first;
      }
    }

    private void deliver() {
      Flow.Subscriber<? super LoadReport> to = subscriber;
      if (to == null) {
        return;
      }
      try {
        signal(to);
      } catch (RuntimeException broken) { // Reactive Streams §2.13
        cancel();
        LOG.log(Level.WARNING, "a subscriber to load reports of " + endpoint, broken);
      }
    }

    private void signal(Flow.Subscriber<? super LoadReport> to) {
      if (!announced) {
        announced = true;
        to.onSubscribe(this);
      }
      LoadReport next = demand.fault() == null ? poll() : null;
      while (next != null && subscriber != null) {
        to.onNext(next);
        next = demand.fault() == null ? poll() : null;
      }
      IllegalArgumentException fault = demand.fault();
      if (fault != null && subscriber != null) {
        cancel();
        to.onError(fault);
      }
    }

    @Override
    public void request(long n) {
      demand.add(n);
      turn.wake();
    }

    @Override
    public void cancel() {
      subscriber = null;
      detach(this);
    }
  }
}
