package io.kvrelay.dynamo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.RelayHealth;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.runtime.SystemRuntime;
import io.kvrelay.engine.ingest.RankStatus;
import io.kvrelay.engine.relay.DeploymentConfig;
import io.kvrelay.engine.relay.KvDcRelay;
import io.kvrelay.engine.relay.KvPoolStatistics;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;

/** A whole relay on a deployment of workers made by hand. */
@Timeout(90)
class RelayOnDynamoTest {
  private static final long ID = Long.parseUnsignedLong("15552025308339077319");

  @TempDir Path root;

  private final SystemRuntime runtime = SystemRuntime.create(2);
  private FakeWorker worker;
  private DynamoDeployment deployment;
  private KvDcRelay relay;

  @BeforeEach
  void open() throws Exception {
    worker = new FakeWorker(root, ID, 7);
    deployment =
        DynamoDeployment.files(root)
            .answerBind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .open(runtime);
    relay =
        KvDcRelay.builder()
            .dcName("dc")
            .runtime(runtime)
            .deployment(deployment, DiscoveryScope.ALL)
            .events(deployment)
            .loadReports(deployment)
            .deploymentConfig(DeploymentConfig.builder().expectedUniqueBlocks(1_000).build())
            .start();
  }

  @AfterEach
  void close() throws Exception {
    relay.close();
    deployment.close();
    worker.close();
    runtime.close();
  }

  private void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime())
          .as("%s; %s; %s", what, relay.health(), relay.statistics())
          .isLessThan(deadline);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
    }
  }

  private List<KvPoolStatistics> pools() {
    return relay.statistics().pools();
  }

  private long blocks() {
    List<KvPoolStatistics> now = pools();
    return now.isEmpty() ? -1 : now.get(0).actor().pool().uniqueBlocks();
  }

  private static String json(long... ids) throws Exception {
    try (MessageUnpacker in = MessagePack.newDefaultUnpacker(Published.batch(ID, 0, ids))) {
      return in.unpackValue().toJson();
    }
  }

  private static String dump(long last, long... ids) throws Exception {
    return "{\"TreeDump\":{\"events\":" + json(ids) + ",\"last_event_id\":" + last + "}}";
  }

  private long start(FakeWorker.Question question) throws Exception {
    try (MessageUnpacker in = MessagePack.newDefaultUnpacker(question.body)) {
      JsonObject body =
          Json.parseObject(in.unpackValue().toJson().getBytes(StandardCharsets.UTF_8));
      return body.optionalU64("start_event_id").orElse(0);
    }
  }

  @Test
  void aRankIsDumpedFollowedAndRepairedAfterAGap() throws Exception {
    worker.register();
    worker.awaitEventSubscriber();
    FakeWorker.Question first = worker.nextQuestion();
    assertThat(start(first)).isZero();
    first.answer(dump(2, 0, 1));
    await("the dump", () -> blocks() == 2);

    worker.publishEvents(3);
    await("a live event", () -> blocks() == 3);

    worker.publishEvents(6);
    FakeWorker.Question gap = worker.nextQuestion();
    assertThat(start(gap)).isEqualTo(4);
    gap.answer("{\"Events\":{\"events\":" + json(4, 5, 6) + ",\"last_event_id\":6}}");
    await("the history", () -> blocks() == 6);
    RankStatus rank = pools().get(0).following().ranks().get(0);
    assertThat(rank.member().workerId()).isEqualTo(ID);
    assertThat(rank.cursor()).hasValue(6);
  }

  /** After an empty dump the cursor stands at 0, so that a publisher's first event follows it. */
  @Test
  void theFirstEventFollowsAnEmptyDump() throws Exception {
    worker.register();
    worker.awaitEventSubscriber();
    worker.nextQuestion().answer(dump(0));
    await("the rank", () -> cursor() == 0);
    worker.publishEvents(1);

    await("the event", () -> cursor() == 1 && blocks() == 1);
    assertThat(deployment.statistics().queries()).isEqualTo(1);
  }

  private long cursor() {
    List<KvPoolStatistics> now = pools();
    if (now.isEmpty()) {
      return -1;
    }
    List<RankStatus> ranks = now.get(0).following().ranks();
    return ranks.isEmpty() ? -1 : ranks.get(0).cursor().orElse(-1);
  }

  @Test
  void aFailedAttemptIsRepeated() throws Exception {
    worker.register();
    worker.nextQuestion().acknowledge("Server overloaded: try later");
    worker.nextQuestion().answer("{\"Error\":\"not yet\"}");
    worker.nextQuestion().answer(dump(1, 0));

    await("the dump", () -> blocks() == 1);
    await("health", () -> relay.health().problems().isEmpty());
  }

  @Test
  void aCardWithoutASourceHasNoPoolUntilThereIsOne() throws Exception {
    worker.card("");
    worker.instance();
    await("the endpoint", () -> relay.health().endpointCount() == 1);
    assertThat(pools()).isEmpty();
    worker.channels();
    worker.source();
    worker.nextQuestion().answer(dump(0));

    await("the pool", () -> blocks() == 0);
  }

  @Test
  void twoPublishersOfARankAreReadFromNeitherUntilOneIsGone() throws Exception {
    worker.register();
    worker.nextQuestion().answer(dump(2, 0, 1));
    await("the dump", () -> blocks() == 2);
    Path second = worker.source(11);
    await("nothing of the rank", () -> blocks() <= 0);

    Files.delete(second);
    worker.nextQuestion().answer(dump(3, 0, 1, 2));
    await("the dump of the one that is left", () -> blocks() == 3);
  }

  @Test
  void anEndpointWithTwoBlockSizesLosesItsPoolAndIsNamed() throws Exception {
    worker.register();
    worker.nextQuestion().answer(dump(2, 0, 1));
    await("the dump", () -> blocks() == 2);
    try (FakeWorker other = new FakeWorker(root, 99, 21)) {
      other.card(32, "");
      await("no pool", () -> pools().isEmpty());
      assertThat(relay.health().problems())
          .extracting(RelayHealth.Problem::subject)
          .contains("dynamo.backend.generate");
    }
    worker.nextQuestion().answer(dump(2, 0, 1));
    await("the pool again", () -> blocks() == 2);
  }

  @Test
  void aWorkerThatRestartsIsAnotherWorkerAndTheOldOneStandsBesideItUntilItExpires()
      throws Exception {
    worker.register();
    worker.nextQuestion().answer(dump(2, 0, 1));
    await("the dump", () -> blocks() == 2);
    worker.vanish();
    try (FakeWorker again = new FakeWorker(root, 99, 21)) {
      again.register();
      again.nextQuestion().answer("{\"TreeDump\":{\"events\":[],\"last_event_id\":0}}");
      await("both", () -> ranks() == 2);
      assertThat(blocks()).isEqualTo(2);

      worker.unregister();
      await("the new one alone", () -> ranks() == 1 && blocks() == 0);
    }
  }

  private int ranks() {
    List<KvPoolStatistics> now = pools();
    return now.isEmpty() ? 0 : now.get(0).following().ranks().size();
  }
}
