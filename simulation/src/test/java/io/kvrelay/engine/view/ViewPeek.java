package io.kvrelay.engine.view;

import io.kvrelay.api.LaneLease;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.ProducerIdentity;
import java.lang.reflect.Field;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** Lets simulations look at the lanes of a view, and break what feeds them. */
public final class ViewPeek {
  /** What a lane is bound to; equal as long as nothing started over. */
  public record Binding(Object session, ProducerIdentity producer, int lane, Object lease) {}

  private ViewPeek() {}

  /** The lane of a pool, or null. */
  public static @Nullable Binding binding(KvGlobalView view, PoolId pool) {
    PoolSlot slot = view.board().slot(pool);
    FilterReplica replica = slot == null ? null : slot.replica();
    if (slot == null || replica == null) {
      return null;
    }
    Object lease = field(replica, FilterReplica.class, "lease");
    return new Binding(
        slot.session(), slot.producer(), slot.lane(), lease == null ? "none" : (LaneLease) lease);
  }

  /** Tables of the view. */
  public static int tables(KvGlobalView view) {
    return view.board().tables().size();
  }

  /** Lets one ingestion worker of every table die. */
  public static void failWorker(KvGlobalView view, int number) {
    for (ViewTable table : List.copyOf(view.board().tables().values())) {
      Object ingestion = Objects.requireNonNull(field(table, ViewTable.class, "ingestion"));
      AtomicReferenceArray<?> workers =
          (AtomicReferenceArray<?>)
              Objects.requireNonNull(field(ingestion, IngestionPool.class, "workers"));
      IngestWorker worker = (IngestWorker) workers.get(number % workers.length());
      // A command without a lane is a defect, and a defect ends its worker.
      worker.offer(
          new LaneDelta(
              view.board().slots().values().iterator().next().producer(),
              new LaneLease(1, 0, 1),
              0,
              1,
              new int[0],
              new long[0],
              0));
      worker.wake();
    }
  }

  private static @Nullable Object field(Object object, Class<?> type, String name) {
    try {
      Field field = type.getDeclaredField(name);
      field.setAccessible(true);
      return field.get(object);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(type + "." + name, e);
    }
  }
}
