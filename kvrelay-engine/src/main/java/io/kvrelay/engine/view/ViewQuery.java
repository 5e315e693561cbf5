package io.kvrelay.engine.view;

import io.kvrelay.api.ModelRegistration;
import io.kvrelay.api.PoolDescriptor;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.WorkerRole;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A reusable look-up for hot paths: fill it, {@link #run} it, read the answer, {@link #clear} it.
 * Once its arrays have grown to the largest request, nothing of this allocates, as long as the
 * requests' adapter and cache namespace stay the same. Made by {@link KvGlobalView#newQuery()}.
 *
 * <p>Not thread safe: one per thread. Never blocks. Token and hash arrays are read during {@link
 * #run} and not kept beyond {@link #clear}.
 *
 * <p>The answer lists every candidate pool in pool order, with or without a depth; a missing answer
 * is never a depth of 0.
 */
public final class ViewQuery {
  private static final int NO_DEPTH = -1;
  private static final int INITIAL = 16;

  private final KvGlobalView view;
  private final QueryHashes hashes = new QueryHashes();
  private @Nullable PrefixQuery search;

  private @Nullable String model;
  private @Nullable String adapter;
  private @Nullable String namespace;
  private final Set<WorkerRole> roles = EnumSet.noneOf(WorkerRole.class);

  private MatchStatus status = MatchStatus.UNKNOWN_MODEL;
  private @Nullable Resolution resolution;
  private int size;
  private @Nullable Route[] routes = new @Nullable Route[INITIAL];
  private int[] positions = new int[INITIAL];
  private @Nullable PoolAnswer[] answers = new @Nullable PoolAnswer[INITIAL];
  private int[] depths = new int[INITIAL];
  private int[] blocks = new int[INITIAL];
  private boolean shorterThanABlock;

  ViewQuery(KvGlobalView view) {
    this.view = view;
  }

  /**
   * Forgets request and answer. An idle query that was cleared keeps nothing of the view's tables.
   *
   * @return this
   */
  public ViewQuery clear() {
    model = null;
    adapter = null;
    namespace = null;
    roles.clear();
    hashes.clear();
    clearAnswer();
    PrefixQuery prefix = search;
    if (prefix != null) {
      prefix.release();
    }
    return this;
  }

  private void clearAnswer() {
    Arrays.fill(routes, 0, size, null);
    size = 0;
    resolution = null;
    shorterThanABlock = false;
    status = MatchStatus.UNKNOWN_MODEL;
  }

  /**
   * Sets the name to look up.
   *
   * @param name canonical, alias, or an adapter's
   * @return this
   */
  public ViewQuery model(String name) {
    this.model = Objects.requireNonNull(name, "model");
    return this;
  }

  /**
   * Names an adapter on the model.
   *
   * @param name its served or its runtime name
   * @return this
   */
  public ViewQuery adapter(String name) {
    this.adapter = name.isEmpty() ? null : name;
    return this;
  }

  /**
   * Looks only at pools whose endpoint is in one namespace.
   *
   * @param name the namespace
   * @return this
   */
  public ViewQuery namespace(String name) {
    this.namespace = Objects.requireNonNull(name, "namespace");
    return this;
  }

  /**
   * Looks only at pools that declare this role, or another one given.
   *
   * @param role the role
   * @return this
   */
  public ViewQuery role(WorkerRole role) {
    roles.add(role);
    return this;
  }

  /**
   * Salts the whole request.
   *
   * @param name a cache namespace; empty means none
   * @return this
   */
  public ViewQuery cacheNamespace(String name) {
    hashes.cacheNamespace(name);
    return this;
  }

  /**
   * Sets the prompt.
   *
   * @param ids token ids, unsigned
   * @param from index of the first one
   * @param to index after the last one
   * @return this
   * @throws IndexOutOfBoundsException if the range leaves the array
   */
  public ViewQuery tokens(int[] ids, int from, int to) {
    Objects.checkFromToIndex(from, to, ids.length);
    hashes.tokens(ids, from, to);
    return this;
  }

  /**
   * Adds one token range of a multimodal object.
   *
   * @param hash the object's hash
   * @param startToken first token of the range, counted from the prompt's start
   * @param endToken token after the last one
   * @return this
   * @throws IllegalArgumentException if the range is negative
   */
  public ViewQuery object(long hash, int startToken, int endToken) {
    hashes.object(hash, startToken, endToken);
    return this;
  }

  /**
   * Gives local hashes that were computed elsewhere, salts included. Pools of these semantics use
   * them instead of the tokens.
   *
   * @param semantics what they were computed with, or null if they hold for every pool
   * @param locals one local hash per block
   * @param from index of the first one
   * @param to index after the last one
   * @return this
   * @throws IndexOutOfBoundsException if the range leaves the array
   */
  public ViewQuery localHashes(
      @Nullable QuerySemantics semantics, long[] locals, int from, int to) {
    Objects.checkFromToIndex(from, to, locals.length);
    hashes.localHashes(semantics, locals, from, to);
    return this;
  }

  /**
   * Asks the view. The answer stays readable until the next run or {@link #clear}.
   *
   * @return what came of it as a whole
   * @throws IllegalStateException if no model or no prompt was set
   */
  public MatchStatus run() {
    String name = model;
    if (name == null) {
      throw new IllegalStateException("model: not set");
    }
    hashes.requirePrompt();
    clearAnswer();
    view.counters().increment(ViewCounter.QUERIES);
    Resolution found = view.board().directory().resolve(name, adapter, namespace);
    resolution = found;
    status = found == null ? MatchStatus.UNKNOWN_MODEL : answer(found);
    count();
    return status;
  }

  private void count() {
    if (status == MatchStatus.UNKNOWN_MODEL) {
      view.counters().increment(ViewCounter.QUERIES_UNKNOWN_MODEL);
    } else if (status == MatchStatus.AMBIGUOUS_MODEL) {
      view.counters().increment(ViewCounter.QUERIES_AMBIGUOUS_MODEL);
    }
    if (shorterThanABlock) {
      view.counters().increment(ViewCounter.QUERIES_SHORTER_THAN_A_BLOCK);
    }
  }

  private MatchStatus answer(Resolution found) {
    if (found.isAmbiguous()) {
      return MatchStatus.AMBIGUOUS_MODEL;
    }
    choose(found.routes());
    if (size == 0) {
      return MatchStatus.NO_CANDIDATE;
    }
    hashes.adapter(found.adapterSalt());
    List<Resolution.HashGroup> groups = found.groups();
    for (int i = 0; i < groups.size(); i++) {
      ask(groups.get(i));
    }
    int answered = 0;
    for (int i = 0; i < size; i++) {
      if (answers[i] == PoolAnswer.DEPTH) {
        answered++;
      }
    }
    view.counters().add(ViewCounter.ANSWERS_MISSING, size - answered);
    return answered > 0 ? MatchStatus.ANSWERED : MatchStatus.NO_ANSWER;
  }

  /** Keeps the routes that pass the filters, in their order. */
  private void choose(List<Route> all) {
    reserve(all.size());
    for (int i = 0; i < all.size(); i++) {
      Route route = all.get(i);
      boolean chosen = roles.isEmpty() || route.hasAnyOf(roles);
      positions[i] = chosen ? size : NO_DEPTH;
      if (chosen) {
        routes[size] = route;
        answers[size] = route.slot.isRefused() ? PoolAnswer.NO_LANE : PoolAnswer.NO_REPLICA;
        depths[size] = NO_DEPTH;
        blocks[size] = NO_DEPTH;
        size++;
      }
    }
  }

  private void reserve(int count) {
    if (routes.length < count) {
      int length = Math.max(count, routes.length * 2);
      routes = new @Nullable Route[length];
      positions = new int[length];
      answers = new @Nullable PoolAnswer[length];
      depths = new int[length];
      blocks = new int[length];
    }
  }

  /** Hashes once for all pools of equal semantics, then searches each of their tables once. */
  private void ask(Resolution.HashGroup group) {
    if (!anyChosen(group.routes())) {
      return;
    }
    int count = hashes.compute(group.semantics());
    for (int i = 0; i < group.routes().length; i++) {
      int at = positions[group.routes()[i]];
      if (at >= 0) {
        blocks[at] = count;
        if (count < 0) {
          answers[at] = PoolAnswer.NO_HASHES;
        }
      }
    }
    shorterThanABlock |= count == 0;
    if (count >= 0) {
      for (Resolution.TableGroup table : group.tables()) {
        if (anyChosen(table.routes())) {
          search(table, count);
        }
      }
    }
  }

  private boolean anyChosen(int[] candidates) {
    for (int candidate : candidates) {
      if (positions[candidate] >= 0) {
        return true;
      }
    }
    return false;
  }

  private void search(Resolution.TableGroup group, int count) {
    LaneIndex index = group.table().index();
    PrefixQuery prefix = search;
    if (prefix == null) {
      prefix = new PrefixQuery(index, view.config().verificationWindow());
      search = prefix;
    }
    int from = hashes.from();
    if (!prefix.searchLocals(index, hashes.locals(), from, from + count)) {
      return; // no lane is ready
    }
    for (int candidate : group.routes()) {
      int at = positions[candidate];
      if (at >= 0) {
        depths[at] = depth(at, prefix);
      }
    }
  }

  /**
   * The depth of one candidate's lane. The capture says which pool the lane stood for when it was
   * read, and the replica whether it still serves: a lane that was given away meanwhile never
   * answers under the wrong name.
   */
  private int depth(int at, PrefixQuery found) {
    PoolSlot slot = route(at).slot;
    FilterReplica replica = slot.replica();
    int lane = slot.lane();
    if (replica == null
        || (found.capturedLanes() >>> lane & 1) == 0
        || !found.pool(lane).equals(slot.poolId())
        || !replica.isServing()) {
      return NO_DEPTH;
    }
    if (!replica.freshness().isFresh(view.runtime(), view.maxFilterAgeNanos())) {
      answers[at] = PoolAnswer.STALE;
      return NO_DEPTH;
    }
    answers[at] = PoolAnswer.DEPTH;
    return found.depth(lane);
  }

  private Route route(int at) {
    return Objects.requireNonNull(routes[Objects.checkIndex(at, size)]);
  }

  // The answer.

  /**
   * What came of the last run.
   *
   * @return the status
   */
  public MatchStatus status() {
    return status;
  }

  /**
   * Candidate pools.
   *
   * @return their number
   */
  public int size() {
    return size;
  }

  /**
   * One candidate's pool.
   *
   * @param at 0..{@link #size()}-1
   * @return the pool
   */
  public PoolId poolId(int at) {
    return route(at).descriptor.poolId();
  }

  /**
   * One candidate as its catalog shows it.
   *
   * @param at 0..{@link #size()}-1
   * @return the descriptor
   */
  public PoolDescriptor descriptor(int at) {
    return route(at).descriptor;
  }

  /**
   * The registration by which a candidate was found.
   *
   * @param at 0..{@link #size()}-1
   * @return the registration
   */
  public ModelRegistration registration(int at) {
    return route(at).registration;
  }

  /**
   * Whether a candidate has a depth, and if not why.
   *
   * @param at 0..{@link #size()}-1
   * @return the answer
   */
  public PoolAnswer answer(int at) {
    Objects.checkIndex(at, size);
    return Objects.requireNonNull(answers[at]);
  }

  /**
   * Leading blocks that a candidate probably holds.
   *
   * @param at 0..{@link #size()}-1
   * @return the depth, or -1 without an answer
   */
  public int depthBlocks(int at) {
    Objects.checkIndex(at, size);
    return depths[at];
  }

  /**
   * The depth in tokens.
   *
   * @param at 0..{@link #size()}-1
   * @return depth times block size, or -1 without an answer
   */
  public long depthTokens(int at) {
    int depth = depthBlocks(at);
    return depth < 0
        ? NO_DEPTH
        : depth * Integer.toUnsignedLong(descriptor(at).querySemantics().kvBlockSize());
  }

  /**
   * Blocks of the request under a candidate's semantics.
   *
   * @param at 0..{@link #size()}-1
   * @return blocks, or -1 if the request has no hashes for it
   */
  public int queryBlocks(int at) {
    Objects.checkIndex(at, size);
    return blocks[at];
  }

  /**
   * A candidate's readiness for the name.
   *
   * @param at 0..{@link #size()}-1
   * @return the readiness
   */
  public PoolReadiness readiness(int at) {
    Route route = route(at);
    boolean stale =
        route.readiness != PoolReadiness.DISCONNECTED
            && !route
                .slot
                .session()
                .readinessPlane()
                .freshness()
                .isFresh(view.runtime(), view.maxReadinessAgeNanos());
    return stale ? PoolReadiness.STALE : route.readiness;
  }

  /**
   * A candidate's load.
   *
   * @param at 0..{@link #size()}-1
   * @return the reading; without numbers if the load is not known
   */
  public LoadReading load(int at) {
    PoolSlot slot = route(at).slot;
    LoadReading reading = slot.load();
    boolean stale =
        reading.coverage() != LoadReading.Coverage.DISCONNECTED
            && !slot.session()
                .loadPlane()
                .freshness()
                .isFresh(view.runtime(), view.maxLoadAgeNanos());
    return stale ? LoadReading.STALE : reading;
  }

  /**
   * Whether the catalog that shows a candidate is recent enough.
   *
   * @param at 0..{@link #size()}-1
   * @return false if it is older than the configured age
   */
  public boolean isCatalogFresh(int at) {
    return route(at)
        .slot
        .session()
        .catalogPlane()
        .freshness()
        .isFresh(view.runtime(), view.maxCatalogAgeNanos());
  }

  /**
   * Where a candidate's replica stands. Allocates.
   *
   * @param at 0..{@link #size()}-1
   * @return a text for people
   */
  public String detail(int at) {
    PoolSlot slot = route(at).slot;
    FilterReplica replica = slot.replica();
    if (replica == null) {
      return slot.refusal();
    }
    StreamPlane.Report report = replica.report();
    return report.status() + ": " + report.reason();
  }

  /**
   * The answer in a value of its own. Allocates.
   *
   * @return the answer
   */
  public PrefixMatch toMatch() {
    PoolMatch[] pools = new PoolMatch[size];
    for (int i = 0; i < size; i++) {
      pools[i] =
          new PoolMatch(
              descriptor(i),
              registration(i),
              answer(i),
              depthBlocks(i),
              queryBlocks(i),
              readiness(i),
              load(i),
              isCatalogFresh(i),
              detail(i));
    }
    return new PrefixMatch(status, List.of(pools), statusDetail());
  }

  private String statusDetail() {
    return switch (status) {
      case ANSWERED -> "";
      case NO_ANSWER -> "no candidate pool has a usable replica";
      case NO_CANDIDATE -> "model = " + model + ": no pool that serves it has the wanted role";
      case UNKNOWN_MODEL -> "model = " + model + adapterText() + ": no current catalog shows it";
      case AMBIGUOUS_MODEL ->
          "model = "
              + model
              + adapterText()
              + ": stands for "
              + (resolution == null ? List.of() : resolution.bindings());
    };
  }

  private String adapterText() {
    return (adapter == null ? "" : ", adapter = " + adapter)
        + (namespace == null ? "" : ", namespace = " + namespace);
  }

  /** The hashes of this request. */
  QueryHashes hashes() {
    return hashes;
  }
}
