package io.kvrelay.dynamo;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.ResidencyDomain;
import io.kvrelay.api.StorageTier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decodes lists of router events: maps, by key. Unknown keys are passed over at every level; a
 * residency domain that cannot be used spoils its own event alone, which still counts in the order.
 * Not thread safe.
 */
final class RouterEvents {
  private static final int FIRST_BLOCKS = 1024;
  private static final long[] NONE = {};

  private final MessagePackReader in;

  // The event being read.
  private boolean hasWorker;
  private long workerId;
  private StorageTier tier = StorageTier.DEVICE;
  private ResidencyDomain domain = ResidencyDomain.MISSING;
  private boolean hasId;
  private long eventId;
  private int dpRank;
  private KvEvent.@Nullable Kind kind;
  private boolean hasParent;
  private long parent;
  private long startPosition;
  private long[] engineHashes = NONE;
  private long[] localHashes = NONE;

  private RouterEvents(MessagePackReader in) {
    this.in = in;
  }

  /** Reads the list that comes next. */
  static List<KvEvent> read(MessagePackReader in) throws MalformedException {
    RouterEvents reader = new RouterEvents(in);
    int count = in.list("events");
    List<KvEvent> events = new ArrayList<>(Math.min(count, FIRST_BLOCKS));
    for (int i = 0; i < count; i++) {
      events.add(reader.routerEvent());
    }
    return events;
  }

  private KvEvent routerEvent() throws MalformedException {
    clear();
    for (int n = in.map("event"); n > 0; n--) {
      switch (in.text("key")) {
        case "worker_id" -> {
          workerId = in.u64("worker_id");
          hasWorker = true;
        }
        case "storage_tier" -> tier = tier(in.text("storage_tier"));
        case "residency_domain" -> domain = domain();
        case "event" -> event();
        default -> in.skip();
      }
    }
    return build();
  }

  private void clear() {
    hasWorker = false;
    tier = StorageTier.DEVICE;
    domain = ResidencyDomain.MISSING;
    hasId = false;
    dpRank = 0;
    kind = null;
    hasParent = false;
    startPosition = KvEvent.NO_START_POSITION;
    engineHashes = NONE;
    localHashes = NONE;
  }

  private static StorageTier tier(String name) throws MalformedException {
    StorageTier tier = StorageTier.ofWireName(name);
    if (tier == null) {
      throw MalformedException.of("storage_tier", name, "is unknown");
    }
    return tier;
  }

  /** An explicit nil is not the same as a field that is absent. */
  private ResidencyDomain domain() throws MalformedException {
    if (in.isText()) {
      return ResidencyDomain.ofWireName(in.text("residency_domain"));
    }
    in.skip();
    return ResidencyDomain.INVALID;
  }

  private void event() throws MalformedException {
    for (int n = in.map("event"); n > 0; n--) {
      switch (in.text("key")) {
        case "event_id" -> {
          eventId = in.u64("event_id");
          hasId = true;
        }
        case "dp_rank" -> dpRank = in.u32("dp_rank");
        case "data" -> data();
        default -> in.skip();
      }
    }
  }

  private void data() throws MalformedException {
    String tag;
    if (in.isText()) {
      tag = in.text("data");
    } else if (in.map("data") == 1) {
      tag = in.text("data");
      switch (tag) {
        case "stored" -> {
          stored();
          return;
        }
        case "removed" -> {
          removed();
          return;
        }
        case "cleared" -> in.skip();
        default -> {}
      }
    } else {
      throw new MalformedException("data: must have one tag");
    }
    if (!tag.equals("cleared")) {
      throw MalformedException.of("data", tag, "must be stored, removed or cleared");
    }
    kind = KvEvent.Kind.CLEARED;
  }

  private void stored() throws MalformedException {
    kind = KvEvent.Kind.STORED;
    boolean blocks = false;
    for (int n = in.map("stored"); n > 0; n--) {
      switch (in.text("key")) {
        case "parent_hash" -> {
          hasParent = !in.nil();
          parent = hasParent ? in.u64("parent_hash") : 0;
        }
        case "start_position" ->
            startPosition =
                in.nil()
                    ? KvEvent.NO_START_POSITION
                    : Integer.toUnsignedLong(in.u32("start_position"));
        case "blocks" -> {
          blocks();
          blocks = true;
        }
        default -> in.skip();
      }
    }
    if (!blocks) {
      throw new MalformedException("stored.blocks is missing");
    }
  }

  private void blocks() throws MalformedException {
    int count = in.list("blocks");
    engineHashes = new long[Math.min(count, FIRST_BLOCKS)];
    localHashes = new long[engineHashes.length];
    for (int i = 0; i < count; i++) {
      if (i == engineHashes.length) {
        engineHashes = Arrays.copyOf(engineHashes, (int) Math.min(count, 2L * i));
        localHashes = Arrays.copyOf(localHashes, engineHashes.length);
      }
      block(i);
    }
  }

  private void block(int at) throws MalformedException {
    boolean engine = false;
    boolean local = false;
    for (int n = in.map("block"); n > 0; n--) {
      switch (in.text("key")) {
        case "block_hash" -> {
          engineHashes[at] = in.u64("block_hash");
          engine = true;
        }
        case "tokens_hash" -> {
          localHashes[at] = in.u64("tokens_hash");
          local = true;
        }
        default -> in.skip(); // what objects a block shows is in its tokens_hash already
      }
    }
    if (!engine || !local) {
      throw new MalformedException((engine ? "tokens_hash" : "block_hash") + " is missing");
    }
  }

  private void removed() throws MalformedException {
    kind = KvEvent.Kind.REMOVED;
    boolean hashes = false;
    for (int n = in.map("removed"); n > 0; n--) {
      if (in.text("key").equals("block_hashes")) {
        removedHashes();
        hashes = true;
      } else {
        in.skip();
      }
    }
    if (!hashes) {
      throw new MalformedException("removed.block_hashes is missing");
    }
  }

  private void removedHashes() throws MalformedException {
    engineHashes = new long[in.list("block_hashes")]; // a byte each at least: bounded by the input
    for (int i = 0; i < engineHashes.length; i++) {
      engineHashes[i] = in.u64("block_hashes");
    }
  }

  private KvEvent build() throws MalformedException {
    KvEvent.Kind what = kind;
    if (!hasWorker || !hasId || what == null) {
      throw new MalformedException(
          (!hasWorker ? "worker_id" : !hasId ? "event.event_id" : "event.data") + " is missing");
    }
    Member member = new Member(workerId, dpRank);
    KvEvent.Builder event =
        switch (what) {
          case STORED -> KvEvent.stored(member, eventId, engineHashes, localHashes);
          case REMOVED -> KvEvent.removed(member, eventId, engineHashes);
          case CLEARED -> KvEvent.cleared(member, eventId);
        };
    if (what == KvEvent.Kind.STORED) {
      event.startPosition(startPosition);
      if (hasParent) {
        event.parent(parent);
      }
    }
    return event.tier(tier).domain(domain).build();
  }
}
