package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.QuarantinedEntry;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.DeploymentFacts;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.deployment.EventSourceAdvertisement;
import io.kvrelay.api.deployment.LoadReport;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryRequest;
import io.kvrelay.api.events.KvEventSource;
import io.kvrelay.api.runtime.SystemRuntime;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A deployment of workers made by hand, over real files and real sockets of the loopback. */
@Timeout(60)
class DynamoDeploymentTest {
  private static final EndpointId SERVING = FakeWorker.SERVING;
  private static final long ID = Long.parseUnsignedLong("15552025308339077319");

  @TempDir Path root;

  private final SystemRuntime runtime = SystemRuntime.create(2);
  private FakeWorker worker;
  private DynamoDeployment deployment;

  @BeforeEach
  void open() throws Exception {
    worker = new FakeWorker(root, ID, 7);
    deployment =
        DynamoDeployment.at("file:" + root)
            .answerBind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .open(runtime);
  }

  @AfterEach
  void close() throws Exception {
    deployment.close();
    worker.close();
    runtime.close();
  }

  private Collected.Values<DeploymentFacts> watch() {
    return Collected.Values.of(deployment.facts(DiscoveryScope.ALL));
  }

  private static boolean complete(DeploymentFacts facts) {
    return facts.cards().size() == 1
        && !facts.liveWorkers().isEmpty()
        && facts.eventSources().size() == 1
        && facts.eventSources().get(0).liveAddress() != null;
  }

  @Test
  void aWorkerThatRegistersShowsWithAllItHas() throws Exception {
    Collected.Values<DeploymentFacts> facts = watch();
    assertThat(facts.next().cards()).isEmpty();
    worker.register();

    DeploymentFacts known = facts.nextWhere(DynamoDeploymentTest::complete);

    assertThat(known.cards().get(0).workerId()).isEqualTo(ID);
    assertThat(known.liveWorkers()).isEqualTo(Map.of(SERVING, Set.of(ID)));
    assertThat(known.eventSources().get(0).member()).isEqualTo(new Member(ID, 0));
    assertThat(known.refused()).isEmpty();

    worker.unregister();
    DeploymentFacts gone = facts.nextWhere(f -> f.cards().isEmpty() && f.liveWorkers().isEmpty());
    assertThat(gone.eventSources()).isEmpty();
    assertThat(Long.compareUnsigned(gone.revision(), known.revision())).isPositive();
  }

  @Test
  void aCardThatCannotBeReadIsNamedAndTheRestGoesOn() throws Exception {
    worker.register();
    worker.record("mdc", "dynamo/backend/generate/99", "{\"type\":\"Model\"");
    DeploymentFacts known =
        watch().nextWhere(facts -> complete(facts) && !facts.refused().isEmpty());

    assertThat(known.refused())
        .extracting(QuarantinedEntry::key)
        .containsExactly("v1/mdc/dynamo/backend/generate/99");
    assertThat(known.refused().get(0).detail()).contains("no JSON");
    assertThat(deployment.statistics().malformedRecords()).isEqualTo(1);
  }

  @Test
  void whatLiesOutsideTheScopeIsNotShown() throws Exception {
    worker.register();
    worker.record("mdc", "dynamo/backend/generate/99", "{");
    watch().nextWhere(facts -> complete(facts) && !facts.refused().isEmpty());

    DeploymentFacts other =
        Collected.Values.of(deployment.facts(DiscoveryScope.of("other"))).next();

    assertThat(other.cards()).isEmpty();
    assertThat(other.liveWorkers()).isEmpty();
    assertThat(other.refused()).isEmpty();
  }

  @Test
  void eventsArriveInOrderAndFaultyMessagesAreDroppedAlone() throws Exception {
    worker.register();
    Collected.Batches listener = new Collected.Batches();
    KvEventSource.Following following = deployment.follow(SERVING, listener);
    worker.awaitEventSubscriber();
    worker.publishEvents(1);
    worker.publish(List.of(Topic.KV_EVENTS.subscription(), new byte[7]));
    worker.publish(Published.frames("kv-events", 8, 0, Published.batch(ID, 0, 1)));
    worker.publish(Published.frames("kv-events2", 7, 0, new byte[0]));
    worker.publish(Published.frames("kv-events", 7, 999, new byte[] {(byte) 0xC1}));
    worker.publishEvents(2, 3);

    assertThat(listener.next().events()).extracting(KvEvent::eventId).containsExactly(1L);
    List<KvEvent> last = listener.next().events();
    assertThat(last).extracting(KvEvent::eventId).containsExactly(2L, 3L);
    assertThat(last.get(0).member()).isEqualTo(new Member(ID, 0));
    assertThat(deployment.statistics().malformedMessages()).isEqualTo(3);

    following.stop().toCompletableFuture().get(20, TimeUnit.SECONDS);
    worker.publishEvents(4);
    assertThat(listener.batches).isEmpty();
  }

  @Test
  void skippedSequencesAreCounted() throws Exception {
    worker.register();
    Collected.Batches listener = new Collected.Batches();
    deployment.follow(SERVING, listener);
    worker.awaitEventSubscriber();
    worker.publishEvents(1);
    worker.skipSequence();
    worker.skipSequence();
    worker.publishEvents(2);
    listener.next();
    listener.next();

    assertThat(deployment.statistics().skippedSequences()).isEqualTo(2);
  }

  @Test
  void aPublisherThatVanishesInTheMiddleOfAFrameIsNamedAndOthersGoOn() throws Exception {
    try (ServerSocket half = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      worker.channel("kv-events", 9, half.getLocalPort());
      worker.register();
      Collected.Batches listener = new Collected.Batches();
      deployment.follow(SERVING, listener);
      Collected.Values<DeploymentFacts> facts = watch();
      try (Socket subscriber = half.accept()) {
        subscriber.getOutputStream().write(greeting());
        subscriber.getInputStream().readNBytes(64);
        subscriber.getOutputStream().write(ready());
        // A message of two frames is announced; its first frame breaks off.
        subscriber.getOutputStream().write(new byte[] {1, 100, 'k', 'v', '-'});
        subscriber.getOutputStream().flush();
        subscriber.getInputStream().read();
      }

      DeploymentFacts named = facts.nextWhere(f -> !f.refused().isEmpty());
      assertThat(named.refused().get(0).key()).endsWith("/topic/kv-events/9");
      assertThat(named.refused().get(0).detail()).contains("is not connected");
      worker.awaitEventSubscriber();
      worker.publishEvents(1);
      assertThat(listener.next().publisherId()).isEqualTo(7);
    }
  }

  /** The greeting of ZMTP 3.0 with the mechanism NULL. */
  private static byte[] greeting() {
    byte[] greeting = new byte[64];
    greeting[0] = (byte) 0xFF;
    greeting[9] = 0x7F;
    greeting[10] = 3;
    System.arraycopy(
        "NULL".getBytes(java.nio.charset.StandardCharsets.US_ASCII), 0, greeting, 12, 4);
    return greeting;
  }

  private static byte[] ready() {
    ByteArrayOutputStream command = new ByteArrayOutputStream();
    command.writeBytes(new byte[] {5, 'R', 'E', 'A', 'D', 'Y', 11});
    command.writeBytes("Socket-Type".getBytes(java.nio.charset.StandardCharsets.US_ASCII));
    command.writeBytes(new byte[] {0, 0, 0, 3, 'P', 'U', 'B'});
    byte[] body = command.toByteArray();
    return FakeWorker.concat(new byte[] {4, (byte) body.length}, body);
  }

  @Test
  void loadArrivesUntilAMessageCannotBeUnderstood() throws Exception {
    worker.register();
    Collected.Values<LoadReport> reports = Collected.Values.of(deployment.reports(SERVING));
    watch().nextWhere(DynamoDeploymentTest::complete);
    worker.awaitLoadSubscriber();
    worker.publishLoad(Published.load(ID, 0, 42), 0);

    LoadReport report = reports.next();
    assertThat(report.member()).isEqualTo(new Member(ID, 0));
    assertThat(report.kvUsedBlocks()).hasValue(42);

    worker.publishLoad(new byte[] {(byte) 0xC1}, 1);
    assertThat(reports.failure())
        .isInstanceOf(RelayException.class)
        .hasMessageContaining("publisher 8");
  }

  private EventSourceAdvertisement source(Collected.Values<DeploymentFacts> facts)
      throws InterruptedException {
    return facts.nextWhere(DynamoDeploymentTest::complete).eventSources().get(0);
  }

  @Test
  void historyIsAskedOfTheAdvertisedWorker() throws Exception {
    worker.register();
    EventSourceAdvertisement source = source(watch());
    CompletableFuture<HistoryReply> reply =
        deployment.history(source, HistoryRequest.from(source.member(), 3)).toCompletableFuture();
    worker
        .nextQuestion()
        .answer(
            "{\"TooNew\":{\"requested_start\":3,\"requested_end\":null,\"newest_available\":2}}");

    assertThat(reply.get(20, TimeUnit.SECONDS)).isEqualTo(new HistoryReply.TooNew(3, 2, 2));
  }

  @Test
  void aQuestionDoesNotWaitForAPublisherThatIsNeverHeard() throws Exception {
    try (ServerSocket mute = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      worker.card("");
      worker.instance();
      worker.channel("kv-events", worker.publisher, mute.getLocalPort());
      worker.source();
      EventSourceAdvertisement source = source(watch());
      deployment.follow(SERVING, new Collected.Batches());
      CompletableFuture<HistoryReply> reply =
          deployment.history(source, HistoryRequest.full(source.member())).toCompletableFuture();
      worker.nextQuestion().answer("{\"TreeDump\":{\"events\":[],\"last_event_id\":0}}");

      assertThat(reply.get(20, TimeUnit.SECONDS)).isInstanceOf(HistoryReply.TreeDump.class);
    }
  }

  @Test
  void aWorkerThatDoesNotAnswerIsNamedUntilItDoes() throws Exception {
    worker.register();
    Collected.Values<DeploymentFacts> facts = watch();
    EventSourceAdvertisement source = source(facts);
    HistoryRequest request = HistoryRequest.full(source.member());
    CompletableFuture<HistoryReply> refused =
        deployment.history(source, request).toCompletableFuture();
    worker.nextQuestion().acknowledge("Server unavailable: closing");

    assertThatThrownBy(() -> refused.get(20, TimeUnit.SECONDS)).hasMessageContaining("closing");
    QuarantinedEntry named = facts.nextWhere(f -> !f.refused().isEmpty()).refused().get(0);
    assertThat(named.key()).contains("history").contains(source.member().toString());
    assertThat(named.detail()).contains("no answer").contains("closing");

    CompletableFuture<HistoryReply> answered =
        deployment.history(source, request).toCompletableFuture();
    worker.nextQuestion().answer("{\"TreeDump\":{\"events\":[],\"last_event_id\":0}}");
    answered.get(20, TimeUnit.SECONDS);
    assertThat(facts.nextWhere(f -> f.refused().isEmpty())).isNotNull();
    assertThat(deployment.statistics().failedQueries()).isEqualTo(1);
    assertThat(deployment.statistics().answeredQueries()).isEqualTo(1);
  }

  @Test
  void aSourceWithoutAnAddressCannotBeAsked() throws Exception {
    EventSourceAdvertisement strange =
        new EventSourceAdvertisement(SERVING, new Member(1, 0), 7, "elsewhere", null);

    assertThat(
            deployment
                .history(strange, HistoryRequest.full(strange.member()))
                .toCompletableFuture()
                .get(20, TimeUnit.SECONDS))
        .isInstanceOf(HistoryReply.Failed.class);
  }

  @Test
  void twoPublishersOfARankAreBothAdvertisedUntilOneGoes() throws Exception {
    worker.register();
    Path second = worker.source(11);
    Collected.Values<DeploymentFacts> facts = watch();

    assertThat(facts.nextWhere(f -> f.eventSources().size() == 2).eventSources())
        .extracting(EventSourceAdvertisement::publisherId)
        .containsExactlyInAnyOrder(7L, 11L);
    Files.delete(second);
    assertThat(facts.nextWhere(f -> f.eventSources().size() == 1).eventSources())
        .extracting(EventSourceAdvertisement::publisherId)
        .containsExactly(7L);
  }

  @Test
  void aClosedDeploymentSaysSoToEverybody() throws Exception {
    worker.register();
    Collected.Values<DeploymentFacts> facts = watch();
    EventSourceAdvertisement source = source(facts);
    Collected.Batches listener = new Collected.Batches();
    deployment.follow(SERVING, listener);
    Collected.Values<LoadReport> reports = Collected.Values.of(deployment.reports(SERVING));
    CompletableFuture<HistoryReply> reply =
        deployment.history(source, HistoryRequest.full(source.member())).toCompletableFuture();
    worker.nextQuestion();

    deployment.close();

    assertThat(listener.failures.poll(20, TimeUnit.SECONDS).reason())
        .isEqualTo(RelayErrorReason.CLOSED);
    assertThat(facts.failure()).isInstanceOf(RelayException.class);
    assertThat(reports.failure()).isInstanceOf(RelayException.class);
    assertThatThrownBy(() -> reply.get(20, TimeUnit.SECONDS)).isNotNull();
    assertThat(Collected.Values.of(deployment.facts(DiscoveryScope.ALL)).failure()).isNotNull();
    Collected.Batches late = new Collected.Batches();
    KvEventSource.Following none = deployment.follow(SERVING, late);
    none.stop().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }

  @Test
  void settingsThatCannotWorkAreRefusedByName() {
    assertThatThrownBy(() -> DynamoDeployment.at("http://x"))
        .hasMessageContaining("deployment = http://x");
    assertThatThrownBy(() -> DynamoDeployment.at("etcd://nowhere"))
        .hasMessageContaining("endpoints = http://nowhere");
    assertThatThrownBy(() -> DynamoDeployment.files(root).queryTimeout(Duration.ZERO).open(runtime))
        .hasMessageContaining("queryTimeout");
    assertThatThrownBy(() -> DynamoDeployment.files(root).maxAnswerBytes(0).open(runtime))
        .hasMessageContaining("maxAnswerBytes = 0");
  }
}
