package io.kvrelay.engine.view;

import static io.kvrelay.engine.view.ScriptedRelay.producer;
import static io.kvrelay.engine.view.ViewRig.filter;
import static io.kvrelay.engine.view.ViewRig.prompt;
import static io.kvrelay.engine.view.ViewRig.show;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import java.net.URI;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Sources by address: connections and lives. */
class SourceAttachmentTest {
  private static final ProducerIdentity A = producer(1, 1, 9, 1);
  private static final int[] PROMPT = prompt(1, 8);
  private static final URI ADDRESS = URI.create("scripted:dc1");

  private final ViewRig rig = new ViewRig();
  private final ScriptedRelay relay = new ScriptedRelay(9);
  private final ScriptedTransport.Target target = ScriptedTransport.at("dc1");

  @AfterEach
  void forget() {
    ScriptedTransport.TARGETS.clear();
  }

  private static RelayException unavailable() {
    return new RelayException(RelayErrorReason.PUBLICATION_UNAVAILABLE, "gone");
  }

  private Attachment attach() {
    Attachment attachment = rig.view.attach(ADDRESS);
    rig.settle();
    return attachment;
  }

  private int depth() {
    PrefixMatch match = rig.match(PROMPT);
    return match.pools().isEmpty() ? -1 : match.pools().get(0).depth();
  }

  @Test
  void connectsAndFollows() {
    show(relay, 1, filter(A, PROMPT));
    target.then(relay);
    Attachment attachment = attach();
    assertThat(depth()).isEqualTo(8);
    assertThat(attachment.label()).isEqualTo("scripted:dc1");
    assertThat(attachment.state().connection()).isEqualTo("connected");
    assertThat(attachment.state().relay()).isEqualTo(relay.identity);
  }

  @Test
  void connectsAgainWithBackoffUntilItSucceeds() {
    show(relay, 1, filter(A, PROMPT));
    target.then(unavailable()).then(unavailable()).then(unavailable()).then(relay);
    Attachment attachment = attach();
    assertThat(target.attempts).isEqualTo(1);
    assertThat(attachment.state().trust()).isEqualTo(SourceState.Trust.UNKNOWN);
    assertThat(attachment.state().connection()).contains("PUBLICATION_UNAVAILABLE");
    rig.advance(Duration.ofMillis(249));
    assertThat(target.attempts).isEqualTo(1);
    rig.advance(Duration.ofMillis(251));
    assertThat(target.attempts).isEqualTo(2);
    rig.advance(Duration.ofSeconds(3));
    assertThat(target.attempts).isEqualTo(4);
    assertThat(depth()).isEqualTo(8);
    assertThat(rig.count(ViewCounter.CONNECTION_ATTEMPTS)).isEqualTo(4);
    assertThat(rig.count(ViewCounter.CONNECTION_FAILURES)).isEqualTo(3);
  }

  @Test
  void aContractMismatchIsNotRetried() {
    target.then(new RelayException(RelayErrorReason.CONTRACT_MISMATCH, "another marker"));
    Attachment attachment = attach();
    rig.advance(ViewRig.LONG);
    assertThat(target.attempts).isEqualTo(1);
    assertThat(attachment.state().connection()).startsWith("stopped: CONTRACT_MISMATCH");
  }

  @Test
  void anUnknownSchemeIsRefusedAtOnce() {
    assertThatThrownBy(() -> rig.view.attach(URI.create("nobody:dc1")))
        .isInstanceOfSatisfying(
            RelayException.class,
            e -> assertThat(e.reason()).isEqualTo(RelayErrorReason.ADDRESS_UNAVAILABLE))
        .hasMessageContaining("nobody");
  }

  @Test
  void anotherLifeStartsOverAndKeepsNothingOfTheFormer() {
    ScriptedRelay second = new ScriptedRelay(10);
    ProducerIdentity reborn = producer(1, 1, 10, 1);
    show(relay, 1, filter(A, PROMPT));
    show(second, 1, filter(reborn, prompt(1, 3)));
    target.then(relay).then(second);
    Attachment attachment = attach();
    // What both transports do when another life answers.
    relay.catalog.last().fail(unavailable());
    relay.readiness.last().fail(unavailable());
    relay.load.last().fail(unavailable());
    relay.stream(A).last().fail(unavailable());
    relay.shutdown.complete(null);
    rig.settle();
    assertThat(rig.match(PROMPT).status()).isEqualTo(MatchStatus.UNKNOWN_MODEL);
    assertThat(target.connections.get(0).isClosed()).isTrue();
    rig.advance(Duration.ofMillis(500));
    assertThat(depth()).isEqualTo(3);
    assertThat(attachment.state().relay()).isEqualTo(second.identity);
    assertThat(rig.count(ViewCounter.INCARNATION_CHANGES)).isEqualTo(1);
    rig.advance(ViewRig.LONG);
    assertThat(relay.catalog.opened()).as("nobody asks the former life again").isEqualTo(1);
    assertThat(relay.stream(A).opened()).isEqualTo(1);
  }

  @Test
  void aLifeThatChangesBehindADeadConnectionIsFoundOut() {
    ScriptedRelay second = new ScriptedRelay(10);
    ProducerIdentity reborn = producer(1, 1, 10, 1);
    show(relay, 1, filter(A, PROMPT));
    show(second, 1, filter(reborn, prompt(1, 3)));
    target.then(relay).then(second);
    attach();
    die(relay);
    rig.advance(Duration.ofSeconds(5));
    assertThat(depth()).isEqualTo(3);
    assertThat(rig.count(ViewCounter.INCARNATION_CHANGES)).isEqualTo(1);
    assertThat(target.connections.get(0).isClosed()).isTrue();
    int asked = relay.catalog.opened();
    rig.advance(ViewRig.LONG);
    assertThat(relay.catalog.opened()).isEqualTo(asked);
  }

  /** Every stream fails, now and whenever it is opened again. */
  private static void die(ScriptedRelay relay) {
    relay.catalog.refuse(unavailable());
    relay.readiness.refuse(unavailable());
    relay.load.refuse(unavailable());
    relay.pools.values().forEach(stream -> stream.refuse(unavailable()));
    relay.catalog.last().fail(unavailable());
    relay.readiness.last().fail(unavailable());
    relay.load.last().fail(unavailable());
    relay.pools.values().forEach(stream -> stream.last().fail(unavailable()));
  }

  @Test
  void theSameLifeGoesOnOverAnotherConnection() {
    ScriptedRelay again = new ScriptedRelay(9);
    show(relay, 1, filter(A, PROMPT));
    show(again, 1, filter(A, prompt(1, 5)));
    target.then(relay).then(again);
    attach();
    die(relay);
    rig.advance(Duration.ofSeconds(5));
    assertThat(depth()).isEqualTo(5);
    assertThat(rig.count(ViewCounter.INCARNATION_CHANGES)).isZero();
    assertThat(rig.count(ViewCounter.POOLS_ADMITTED)).as("the lane was kept").isEqualTo(1);
    assertThat(target.connections.get(0).isClosed()).isTrue();
    assertThat(target.connections.get(1).isClosed()).isFalse();
  }

  @Test
  void aFailingCatalogAloneDoesNotCostTheOtherPlanesTheirConnection() {
    show(relay, 1, filter(A, PROMPT));
    target.then(relay);
    attach();
    relay.catalog.refuse(unavailable());
    relay.catalog.last().fail(unavailable());
    rig.advance(ViewRig.LONG);
    assertThat(target.attempts).isEqualTo(1);
    assertThat(relay.stream(A).opened()).isEqualTo(1);
    assertThat(relay.load.opened()).isEqualTo(1);
  }

  @Test
  void aConnectionThatRecoversWhileAnotherIsDialedIsKept() {
    show(relay, 1, filter(A, PROMPT));
    target.then(relay).then(unavailable());
    attach();
    die(relay);
    rig.advance(Duration.ofSeconds(2));
    assertThat(target.attempts).isGreaterThan(1);
    show(relay, 1, filter(A, PROMPT));
    rig.advance(Duration.ofSeconds(60));
    assertThat(depth()).isEqualTo(8);
    int attempts = target.attempts;
    rig.advance(ViewRig.LONG);
    assertThat(target.attempts).isEqualTo(attempts);
    assertThat(target.connections.get(0).isClosed()).isFalse();
    assertThat(relay.catalog.live()).hasSize(1);
  }

  @Test
  void otherAttachmentsNoticeNothingOfALostRelay() {
    ScriptedRelay second = new ScriptedRelay(20);
    ProducerIdentity far = producer(1, 2, 20, 1);
    show(relay, 1, filter(A, PROMPT));
    show(second, 1, filter(far, prompt(1, 4)));
    target.then(relay).then(unavailable());
    attach();
    rig.attach(second);
    relay.shutdown.complete(null);
    rig.advance(ViewRig.LONG);
    assertThat(rig.match(PROMPT).pools()).extracting(PoolMatch::depth).containsExactly(4);
    assertThat(second.catalog.opened()).isEqualTo(1);
    assertThat(second.stream(far).opened()).isEqualTo(1);
  }

  @Test
  void detachingClosesTheConnectionAndStopsDialing() {
    show(relay, 1, filter(A, PROMPT));
    target.then(relay);
    Attachment attachment = attach();
    attachment.close();
    attachment.close();
    rig.settle();
    assertThat(attachment.detached().toCompletableFuture()).isCompleted();
    assertThat(target.connections.get(0).isClosed()).isTrue();
    rig.advance(ViewRig.LONG);
    assertThat(target.attempts).isEqualTo(1);
    assertThat(rig.runtime.pendingTimers()).isZero();
  }

  @Test
  void detachingWhileBackingOffStopsTheTimer() {
    target.then(unavailable());
    Attachment attachment = attach();
    attachment.close();
    rig.settle();
    assertThat(rig.runtime.pendingTimers()).isZero();
    assertThat(attachment.detached().toCompletableFuture()).isCompleted();
  }
}
