package io.kvrelay.events.zmq;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.KvEventBatch;
import io.kvrelay.api.events.KvEventListener;
import io.kvrelay.api.events.SourceTrust;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Where one source's events leave for those who follow its endpoint. The source's thread delivers;
 * followers come and go on it too, so nobody hears anything after leaving.
 */
final class SourceOutlet {
  private static final System.Logger LOG = System.getLogger(SourceOutlet.class.getName());

  private final EngineSource source;
  private final long publisherId;
  private final List<KvEventListener> listeners = new CopyOnWriteArrayList<>();

  SourceOutlet(EngineSource source, long publisherId) {
    this.source = source;
    this.publisherId = publisherId;
  }

  long publisherId() {
    return publisherId;
  }

  void add(KvEventListener listener, SourceTrust trust, String reason) {
    listeners.add(listener);
    guarded(listener, () -> listener.onTrust(publisherId, trust, reason));
  }

  void remove(KvEventListener listener) {
    listeners.remove(listener);
  }

  void events(List<KvEvent> events) {
    if (listeners.isEmpty()) {
      return;
    }
    KvEventBatch batch = new KvEventBatch(publisherId, events);
    for (KvEventListener listener : listeners) {
      guarded(listener, () -> listener.onBatch(batch));
    }
  }

  void trust(SourceTrust trust, String reason) {
    Level level = trust == SourceTrust.EXACT ? Level.INFO : Level.WARNING;
    LOG.log(level, "source {0} is {1}{2}", source, trust, reason.isEmpty() ? "" : ": " + reason);
    for (KvEventListener listener : listeners) {
      guarded(listener, () -> listener.onTrust(publisherId, trust, reason));
    }
  }

  /** A listener that throws must not stop the streams of others. */
  private void guarded(KvEventListener listener, Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "a listener of source " + source + " threw: " + listener, e);
    }
  }
}
