package io.kvrelay.engine.pool;

import io.kvrelay.api.Member;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfConfig;
import io.kvrelay.engine.ckf.CkfFilter;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a pool owns: lineage, owners, and the filter that projects them, with the window of buckets
 * written since the last drain.
 *
 * <p>A replacement builds a second one beside the first and swaps it in whole. One thread at a
 * time.
 */
final class ExactState {
  final Memory memory;
  final CkfConfig config;
  final CkfFilter filter;
  final CkfAddressing addressing;
  final DirtyWindow window;
  final OwnerMap owners;

  /** Mappings of all members. */
  long contributions;

  /** Memory of all members' tables. */
  long lineageBytes;

  // A member is present exactly while it holds a mapping, and during its first store.
  private final Map<Member, LineageMap> members = new HashMap<>();

  // A trim of the owners that found no memory is not tried again before half of them have gone.
  private int trimBelow = Integer.MAX_VALUE;

  // Events of one rank come in runs.
  private @Nullable Member latestMember;
  private @Nullable LineageMap latestLineage;

  ExactState(CkfConfig config, Memory memory, long expectedOwners) {
    this.memory = memory;
    this.config = config;
    this.filter = new CkfFilter(config.format(), config.maxKicks(), memory::longs);
    this.addressing = filter.addressing();
    this.window = new DirtyWindow(memory, filter.bucketCount());
    this.owners = new OwnerMap(memory, expectedOwners);
  }

  @Nullable LineageMap lineage(Member member) {
    if (!member.equals(latestMember)) {
      latestMember = member;
      latestLineage = members.get(member);
    }
    return latestLineage;
  }

  /**
   * Adds a member that is not there, so that nothing can fail once it has mappings. The caller
   * drops it if it stays without. Throws {@link OutOfMemoryError} with nothing changed.
   */
  LineageMap openLineage(Member member) {
    LineageMap lineage = new LineageMap(memory);
    putLineage(member, lineage);
    return lineage;
  }

  /** Adds a member that is not there. Throws {@link OutOfMemoryError} with nothing changed. */
  void putLineage(Member member, LineageMap lineage) {
    try {
      memory.entry();
      members.put(member, lineage);
    } catch (OutOfMemoryError e) {
      // The entry may be there: the map grows after it has added one.
      members.remove(member);
      throw e;
    }
    contributions += lineage.size();
    lineageBytes += lineage.bytes();
    latestMember = member;
    latestLineage = lineage;
  }

  /** Removes a member whose mappings are all released. */
  void dropMember(Member member, LineageMap lineage) {
    contributions -= lineage.size();
    lineageBytes -= lineage.bytes();
    members.remove(member);
    latestMember = null;
    latestLineage = null;
  }

  /**
   * Gives memory of the owner table back if little of it is used. What that costs has been paid for
   * by the removals since the last time.
   */
  void trimOwners() {
    if (owners.size() >= trimBelow) {
      return;
    }
    try {
      owners.trim();
      trimBelow = Integer.MAX_VALUE;
    } catch (OutOfMemoryError e) {
      // The larger table stays in use.
      trimBelow = owners.size() / 2;
    }
  }

  Map<Member, LineageMap> members() {
    return members;
  }

  /** Accounts for what happened to a table since it had this size. */
  void account(LineageMap lineage, int sizeBefore, long bytesBefore) {
    contributions += lineage.size() - sizeBefore;
    lineageBytes += lineage.bytes() - bytesBefore;
  }
}
