package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvDcRelay;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;

/** Where a relay process takes its deployment, events and load from. */
interface RelayInputs extends AutoCloseable {
  /** Connects them to a relay that is being built. */
  void attach(KvDcRelay.Builder relay);

  /** Filters, cadence and recovery of the relay. */
  DeploymentConfig config();

  /** The relay has started. */
  void start();

  /** What they count. */
  void bindTo(MeterRegistry meters);

  /** Brings meters up to date that do not do so by themselves; called before each scrape. */
  default void refresh() {}

  /** What they have to say to operators, as fields. */
  void write(JsonGenerator json) throws IOException;

  /** Nothing new is wanted, while the relay stops. Idempotent. */
  void stop();

  /** Lets go of everything, once the relay has stopped. */
  @Override
  void close();
}
