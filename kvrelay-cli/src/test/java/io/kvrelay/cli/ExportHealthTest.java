package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.runtime.VirtualRuntime;
import io.kvrelay.api.transport.ExportOptions;
import io.kvrelay.api.transport.RelayExport;
import io.kvrelay.engine.relay.KvDcRelay;
import java.net.URI;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What a relay's health says of the exports that it opened. */
class ExportHealthTest {
  private final VirtualRuntime time = VirtualRuntime.inOrder(1);
  private final KvDcRelay relay = KvDcRelay.builder().dcName("dc").runtime(time).start();
  private final ExportOptions options = ExportOptions.defaults(time);

  private static URI name() {
    return URI.create("inproc:" + UUID.randomUUID());
  }

  @Test
  void withoutATransportNoneIsMissed() {
    assertThat(relay.health().wanEnabled()).isFalse();
    assertThat(relay.health().healthy()).isTrue();
  }

  @Test
  void everyExportThatWasNotClosedMustServe() {
    RelayExport first = relay.export(name(), options);
    RelayExport second = relay.export(name(), options);
    RelayHealth both = relay.health();
    assertThat(both.wanServing()).isTrue();
    assertThat(both.wanBoundAddress()).isEqualTo(first.address() + " " + second.address());
    second.close();
    assertThat(relay.health().wanBoundAddress()).isEqualTo(first.address().toString());
    first.close();
    assertThat(relay.health().wanServing()).isFalse();
    assertThat(relay.health().healthy()).isFalse();
    assertThat(relay.health().wanLastError()).isNull();
  }

  @Test
  void anAddressThatCannotBeServedIsAnErrorUntilOneIs() {
    URI taken = name();
    relay.export(taken, options);
    KvDcRelay other = KvDcRelay.builder().dcName("dc").runtime(time).start();
    assertThatThrownBy(() -> other.export(taken, options)).isInstanceOf(RelayException.class);
    assertThat(other.health().wanEnabled()).isTrue();
    assertThat(other.health().healthy()).isFalse();
    assertThat(other.health().wanLastError()).contains(taken.toString());
    other.export(name(), options);
    assertThat(other.health().healthy()).isTrue();
    assertThat(other.health().wanLastError()).isNull();
  }

  @Test
  void exportsEndWithTheirRelay() {
    RelayExport export = relay.export(name(), options);
    relay.shutdown();
    time.runUntilIdle();
    assertThat(export.isServing()).isFalse();
    URI late = name();
    assertThat(relay.export(late, options).isServing()).isFalse();
  }
}
