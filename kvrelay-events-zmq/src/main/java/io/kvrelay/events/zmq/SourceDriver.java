package io.kvrelay.events.zmq;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.events.SourceTrust;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One source in its thread: its stream, its outlet, and the replay that it waits for. */
final class SourceDriver implements StreamOutput {
  private final EngineSource source;
  private final ZmqLoop loop;
  private final SourceOutlet outlet;
  private final EngineStream stream;
  private long wantedRequest;
  private long wantedFrom;
  private @Nullable ReplayConnection replay;

  SourceDriver(EngineSource source, ZmqLoop loop, SourceOutlet outlet, SharedMemory shared) {
    this.source = source;
    this.loop = loop;
    this.outlet = outlet;
    this.stream = new EngineStream(source, this, shared);
  }

  EngineSource source() {
    return source;
  }

  SourceOutlet outlet() {
    return outlet;
  }

  EngineStream stream() {
    return stream;
  }

  long wantedRequest() {
    return wantedRequest;
  }

  long wantedFrom() {
    return wantedFrom;
  }

  @Nullable ReplayConnection replay() {
    return replay;
  }

  void replay(@Nullable ReplayConnection connection) {
    replay = connection;
  }

  @Override
  public void events(List<KvEvent> events) {
    outlet.events(events);
  }

  @Override
  public void trust(SourceTrust trust, String reason) {
    outlet.trust(trust, reason);
  }

  @Override
  public void requestReplay(long request, long from) {
    wantedRequest = request;
    wantedFrom = from;
    loop.requestReplay(this);
  }

  @Override
  public void cancelReplay() {
    loop.cancelReplay(this);
  }

  SourceStatistics statistics() {
    return new SourceStatistics(
        source.kvStateEndpoint(),
        source.member(),
        source.address(),
        stream.trust(),
        stream.trustReason(),
        stream.blocks(),
        stream.heldBatches(),
        stream.counters().snapshot());
  }
}
