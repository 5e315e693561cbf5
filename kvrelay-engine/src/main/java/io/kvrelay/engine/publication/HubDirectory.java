package io.kvrelay.engine.publication;

import static io.kvrelay.engine.publication.HubSlot.State.EVICTING;
import static io.kvrelay.engine.publication.HubSlot.State.FAILED;
import static io.kvrelay.engine.publication.HubSlot.State.INITIALIZING;
import static io.kvrelay.engine.publication.HubSlot.State.READY;
import static io.kvrelay.engine.publication.HubSlot.State.RETIRED;
import static io.kvrelay.engine.publication.HubSlot.State.VACANT;

import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Starts hubs on demand and keeps their number within its limit. A hub that nobody uses stays until
 * another pool needs its place (there is no idle timer): one reclaim at a time looks for a victim.
 *
 * <p>Guarded by one lock; hubs and callers are called outside it, by way of a list of actions.
 */
final class HubDirectory {
  private final PublicationContext context;
  private final Object lock = new Object();
  private final Set<HubSlot> slots = new LinkedHashSet<>();
  private final Queue<HubSlot> reclaims = new ArrayDeque<>();
  private boolean reclaiming;
  private int freePermits;

  HubDirectory(PublicationContext context) {
    this.context = context;
    this.freePermits = context.config().maxInitializedPoolHubs();
  }

  /** What to do once the lock is released. */
  private static final class Actions {
    private final List<Runnable> list = new ArrayList<>();

    void add(Runnable action) {
      list.add(action);
    }

    void run() {
      list.forEach(Runnable::run);
    }
  }

  void register(HubSlot slot) {
    synchronized (lock) {
      slots.add(slot);
    }
  }

  /** Asks for the slot's hub; the request counts as a pending admission until it is closed. */
  HubRequest request(HubSlot slot, HubRequest.Answer answer) {
    HubRequest request = new HubRequest(slot, answer);
    Actions actions = new Actions();
    synchronized (lock) {
      slot.pendingAdmissions++;
      slot.requested = true;
      evaluate(request, actions);
    }
    actions.run();
    return request;
  }

  /** Withdraws a request, or ends its admission once it is subscribed. Idempotent. */
  void close(HubRequest request) {
    synchronized (lock) {
      if (!request.closed) {
        request.closed = true;
        request.slot.pendingAdmissions--;
        request.slot.waiters.remove(request);
      }
    }
  }

  /** Ends the slot for good. Idempotent. */
  void retire(HubSlot slot) {
    Actions actions = new Actions();
    synchronized (lock) {
      slots.remove(slot);
      PublicationHub hub = slot.hub;
      if (slot.state != FAILED) {
        slot.state = RETIRED;
      }
      if (hub != null) {
        actions.add(hub::retire);
      }
      wakeWaiters(slot, actions);
    }
    actions.run();
  }

  // The rest runs under the lock, but for what it puts into actions.

  private void evaluate(HubRequest request, Actions actions) {
    HubSlot slot = request.slot;
    switch (slot.state) {
      case READY -> {
        PublicationHub hub = Objects.requireNonNull(slot.hub);
        actions.add(() -> request.answer.hub(hub));
      }
      case INITIALIZING, EVICTING -> slot.waiters.add(request);
      case FAILED -> {
        RelayException failure = Objects.requireNonNull(slot.failure);
        refuse(request, PublicationHub.unavailable(failure.getMessage()), actions);
      }
      case RETIRED ->
          refuse(request, PublicationHub.unavailable("the generation was retired"), actions);
      case VACANT -> {
        if (request.attempted) {
          refuse(request, noHubLeft(), actions);
        } else {
          request.attempted = true;
          slot.state = INITIALIZING;
          slot.waiters.add(request);
          initialize(slot, actions);
        }
      }
    }
  }

  private RelayException noHubLeft() {
    context.counters().rejectedHub();
    return new RelayException(
        RelayErrorReason.RESOURCE_LIMIT,
        "max_initialized_pool_hubs = "
            + context.config().maxInitializedPoolHubs()
            + " reached and none is idle");
  }

  private static void refuse(HubRequest request, RelayException error, Actions actions) {
    actions.add(() -> request.answer.noHub(error));
  }

  private void wakeWaiters(HubSlot slot, Actions actions) {
    List<HubRequest> waiting = List.copyOf(slot.waiters);
    slot.waiters.clear();
    waiting.forEach(request -> evaluate(request, actions));
  }

  private void initialize(HubSlot slot, Actions actions) {
    if (freePermits > 0) {
      freePermits--;
      startHub(slot, actions);
    } else {
      reclaims.add(slot);
      nextReclaim(actions);
    }
  }

  private void startHub(HubSlot slot, Actions actions) {
    PublicationHub hub = new PublicationHub(context, slot.producer, new Owner(slot));
    slot.hub = hub;
    actions.add(hub::start);
  }

  private void nextReclaim(Actions actions) {
    if (reclaiming) {
      return;
    }
    HubSlot next = reclaims.poll();
    while (next != null && next.state != INITIALIZING) {
      next = reclaims.poll(); // retired while it waited for its turn
    }
    if (next != null) {
      reclaiming = true;
      new Reclaim(next, new ArrayList<>(slots).iterator()).proceed(actions);
    }
  }

  /** Looks for a hub to evict on behalf of one slot. */
  private final class Reclaim {
    private final HubSlot needy;
    private final Iterator<HubSlot> candidates;

    Reclaim(HubSlot needy, Iterator<HubSlot> candidates) {
      this.needy = needy;
      this.candidates = candidates;
    }

    void proceed(Actions actions) {
      if (freePermits > 0) {
        freePermits--;
        finish(true, actions);
        return;
      }
      while (candidates.hasNext()) {
        HubSlot victim = candidates.next();
        if (victim != needy && victim.state == READY && victim.pendingAdmissions == 0) {
          victim.state = EVICTING;
          PublicationHub hub = Objects.requireNonNull(victim.hub);
          actions.add(() -> hub.evictIfIdle(evicted -> answered(victim, evicted)));
          return;
        }
      }
      finish(false, actions);
    }

    private void answered(HubSlot victim, PublicationHub.Eviction eviction) {
      Actions actions = new Actions();
      synchronized (lock) {
        if (victim.state == EVICTING) {
          switch (eviction) {
            case DONE -> victim.state = VACANT;
            case REFUSED -> victim.state = READY;
            case FAILED -> {
              victim.state = RETIRED;
              RelayException error = PublicationHub.unavailable("the eviction of the hub failed");
              actions.add(() -> victim.terminalFailure.accept(error));
            }
          }
          if (eviction != PublicationHub.Eviction.REFUSED) {
            victim.hub = null;
          }
          wakeWaiters(victim, actions);
        }
        if (eviction == PublicationHub.Eviction.REFUSED) {
          proceed(actions);
        } else {
          context.counters().evicted();
          finish(true, actions); // the victim's place goes to the one who asked
        }
      }
      actions.run();
    }

    private void finish(boolean permit, Actions actions) {
      reclaiming = false;
      if (needy.state != INITIALIZING) {
        freePermits += permit ? 1 : 0; // retired meanwhile
      } else if (permit) {
        startHub(needy, actions);
      } else {
        // One after the other: the waiter that started this attempt is told that hubs are scarce,
        // the next one makes an attempt of its own.
        needy.state = VACANT;
        wakeWaiters(needy, actions);
      }
      nextReclaim(actions);
    }
  }

  private final class Owner implements PublicationHub.Owner {
    private final HubSlot slot;

    Owner(HubSlot slot) {
      this.slot = slot;
    }

    @Override
    public void ready(PublicationHub hub) {
      Actions actions = new Actions();
      synchronized (lock) {
        if (slot.hub == hub && slot.state == INITIALIZING) {
          slot.state = READY;
          wakeWaiters(slot, actions);
        }
      }
      actions.run();
    }

    @Override
    public void failed(PublicationHub hub, RelayException error) {
      Actions actions = new Actions();
      synchronized (lock) {
        if (slot.hub == hub && slot.state != RETIRED) {
          slot.state = FAILED;
          slot.failure = error;
          wakeWaiters(slot, actions);
          actions.add(() -> slot.terminalFailure.accept(error));
        }
      }
      actions.run();
    }

    @Override
    public void closed(PublicationHub hub) {
      synchronized (lock) {
        freePermits++;
      }
    }
  }

  int freePermits() {
    synchronized (lock) {
      return freePermits;
    }
  }

  /** Whatever {@link PublicationStatistics} wants to know of hubs. */
  record Gauges(int requested, int initialized, int ready, int idle) {}

  Gauges gauges() {
    synchronized (lock) {
      int requested = 0;
      int ready = 0;
      int idle = 0;
      for (HubSlot slot : slots) {
        PublicationHub hub = slot.hub;
        requested += slot.requested ? 1 : 0;
        if (hub != null && hub.isReady()) {
          ready++;
          idle += hub.subscriberCount() == 0 ? 1 : 0;
        }
      }
      int initialized = context.config().maxInitializedPoolHubs() - freePermits;
      return new Gauges(requested, initialized, ready, idle);
    }
  }

  /** Checks that nothing leaks; for tests. */
  @Nullable PublicationHub hubOf(HubSlot slot) {
    synchronized (lock) {
      return slot.hub;
    }
  }

  int pendingAdmissions(HubSlot slot) {
    synchronized (lock) {
      return slot.pendingAdmissions;
    }
  }
}
