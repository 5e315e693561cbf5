package io.kvrelay.testkit.sim;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.deployment.ModelCard;
import io.kvrelay.engine.ingest.InMemoryEventSource;
import java.util.ArrayList;
import java.util.List;

/**
 * One worker of a {@link SimulatedSite}: its ranks, and what the deployment's facts say about it.
 * Thread safe.
 */
public final class SimulatedWorker {
  private final SimulatedSite site;
  private final ModelCard card;
  private final int cacheBlocks;

  // Guarded by this.
  private List<SimulatedRank> ranks = List.of();
  private boolean listed;
  private boolean running;

  SimulatedWorker(SimulatedSite site, ModelCard card, int cacheBlocks) {
    this.site = site;
    this.card = card;
    this.cacheBlocks = cacheBlocks;
  }

  /**
   * Its card.
   *
   * @return what the facts say of it while it is listed
   */
  public ModelCard card() {
    return card;
  }

  /**
   * Its number.
   *
   * @return the worker id
   */
  public long id() {
    return card.workerId();
  }

  /**
   * Where it serves.
   *
   * @return the endpoint
   */
  public EndpointId endpoint() {
    return card.endpoint();
  }

  /**
   * Its ranks in this life.
   *
   * @return one for each that the card declares, in order
   */
  public synchronized List<SimulatedRank> ranks() {
    return ranks;
  }

  /**
   * One of its ranks.
   *
   * @param index its place among the declared ones, from 0
   * @return the rank, in this life
   */
  public SimulatedRank rank(int index) {
    return ranks().get(index);
  }

  /**
   * Whether the deployment's facts know it.
   *
   * @return true while listed
   */
  public synchronized boolean isListed() {
    return listed;
  }

  /**
   * Whether it runs.
   *
   * @return false after a crash or a stop
   */
  public synchronized boolean isRunning() {
    return running;
  }

  synchronized void start() {
    ranks = freshRanks();
    running = true;
    list();
  }

  private List<SimulatedRank> freshRanks() {
    List<SimulatedRank> fresh = new ArrayList<>();
    int first = card.runtime().dataParallelStartRank();
    for (int i = 0; i < card.runtime().dataParallelSize(); i++) {
      Member member = new Member(card.workerId(), first + i);
      fresh.add(rank(site.workers().start(kvStateEndpoint(), member, true)));
    }
    return List.copyOf(fresh);
  }

  private EndpointId kvStateEndpoint() {
    EndpointId own = card.runtime().kvStateEndpoint();
    return own == null ? card.endpoint() : own;
  }

  private SimulatedRank rank(InMemoryEventSource.Rank publisher) {
    return new SimulatedRank(publisher, cacheBlocks, site.runtime().randomLong());
  }

  private List<EventSourceAdvertisement> advertisements() {
    return ranks.stream().map(rank -> rank.publisher().advertisement()).toList();
  }

  /** Ends the process and starts it again: empty caches, new publishers, the same worker id. */
  public synchronized void restart() {
    List<EventSourceAdvertisement> before = advertisements();
    ranks.forEach(rank -> rank.publisher().stop());
    ranks = freshRanks();
    running = true;
    if (listed) {
      site.readvertise(before, advertisements());
    }
  }

  /**
   * Ends the process and starts it again under the identity that it had: empty caches, the same
   * publishers, event ids from 1. Followers are told that the streams broke.
   */
  public synchronized void restartInPlace() {
    ranks = ranks.stream().map(rank -> rank(rank.publisher().restartInPlace())).toList();
    running = true;
  }

  /** Ends the process without a word: the facts still list it, and nobody answers. */
  public synchronized void crash() {
    ranks.forEach(rank -> rank.publisher().stop());
    running = false;
  }

  /** Ends the process and takes it out of the facts. */
  public synchronized void stop() {
    crash();
    unlist();
  }

  /** Puts it into the facts: its card, its being live, its event sources. */
  public synchronized void list() {
    listed = true;
    site.list(this, advertisements());
  }

  /** Takes it out of the facts; it runs on and keeps its caches. */
  public synchronized void unlist() {
    listed = false;
    site.unlist(this, advertisements());
  }

  /**
   * States whether it is discovered and routable; its card stays.
   *
   * @param live whether
   */
  public void live(boolean live) {
    site.live(this, live);
  }

  /** Reports the blocks in use on each rank. */
  public synchronized void reportLoad() {
    for (SimulatedRank rank : ranks) {
      site.loads().report(endpoint(), LoadReport.kvUsed(rank.member(), rank.blocks().size()));
    }
  }
}
