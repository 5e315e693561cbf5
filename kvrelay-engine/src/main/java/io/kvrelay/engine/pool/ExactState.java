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

  // A member is present exactly while it holds a mapping.
  private final Map<Member, LineageMap> members = new HashMap<>();

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

  void putLineage(Member member, LineageMap lineage) {
    contributions += lineage.size();
    lineageBytes += lineage.bytes();
    members.put(member, lineage);
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

  Map<Member, LineageMap> members() {
    return members;
  }

  /** Accounts for what happened to a table since it had this size. */
  void account(LineageMap lineage, int sizeBefore, long bytesBefore) {
    contributions += lineage.size() - sizeBefore;
    lineageBytes += lineage.bytes() - bytesBefore;
  }
}
