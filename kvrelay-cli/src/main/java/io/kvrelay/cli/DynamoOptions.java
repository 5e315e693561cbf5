package io.kvrelay.cli;

import io.kvrelay.api.RelayException;
import io.kvrelay.api.deployment.DiscoveryScope;
import io.kvrelay.api.runtime.RelayRuntime;
import io.kvrelay.dynamo.DynamoDeployment;
import io.kvrelay.dynamo.EtcdAccess;
import io.kvrelay.engine.relay.DeploymentConfig;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** A Dynamo deployment on the command line. */
final class DynamoOptions {
  private static final String ETCD = "etcd://";

  @Option(
      names = "--dynamo",
      paramLabel = "DEPLOYMENT",
      description =
          "Follow a running Dynamo deployment instead of a file: file:DIR is its DYN_FILE_KV,"
              + " etcd://HOST:PORT[,HOST:PORT...] its etcd. See docs/dynamo.md.")
  private @Nullable String address;

  @Option(
      names = "--namespaces",
      paramLabel = "NAME",
      split = ",",
      description = "With --dynamo: only these namespaces.")
  private List<String> namespaces = List.of();

  @Option(names = "--watch-all", description = "With --dynamo: every namespace.")
  private boolean watchAll;

  @Option(
      names = "--endpoint-prefix",
      paramLabel = "PREFIX",
      description =
          "With --dynamo: only endpoints under this prefix, such as ns.component; may be repeated.")
  private List<String> prefixes = List.of();

  @Option(
      names = "--expected-blocks",
      paramLabel = "N",
      description =
          "With --dynamo: unique blocks that each pool's filter is sized for (default: 1048576).")
  private @Nullable Long expectedBlocks;

  @Option(
      names = "--answer-bind",
      paramLabel = "HOST:PORT",
      description =
          "With --dynamo: listen here for workers that answer questions (default: any port of all"
              + " addresses).")
  private @Nullable String answerBind;

  @Option(
      names = "--answer-host",
      paramLabel = "HOST",
      description =
          "With --dynamo: the name under which workers reach that (default: the address from which"
              + " they are asked).")
  private @Nullable String answerHost;

  boolean isGiven() {
    return address != null;
  }

  /** Whether an option is given that means nothing without {@code --dynamo}. */
  boolean hasMore() {
    return watchAll
        || !namespaces.isEmpty()
        || !prefixes.isEmpty()
        || expectedBlocks != null
        || answerBind != null
        || answerHost != null;
  }

  /** Begins to read the deployment. */
  RelayInputs open(RelayRuntime runtime) {
    try {
      DiscoveryScope scope = new DiscoveryScope(watchAll, namespaces, prefixes);
      DeploymentConfig built = config();
      DynamoDeployment.Builder deployment = deployment(String.valueOf(address));
      if (answerBind != null) {
        deployment.answerBind(HttpAddress.parse("--answer-bind", answerBind));
      }
      return new DynamoInputs(deployment.answerHost(answerHost).open(runtime), scope, built);
    } catch (IllegalArgumentException e) {
      throw new InputException("--dynamo = " + address + ": " + e.getMessage(), e);
    }
  }

  private DeploymentConfig config() {
    DeploymentConfig.Builder config = DeploymentConfig.builder();
    if (expectedBlocks != null) {
      config.expectedUniqueBlocks(expectedBlocks);
    }
    try {
      return config.build();
    } catch (RelayException e) {
      throw new InputException("--expected-blocks = " + expectedBlocks + ": " + e.getMessage(), e);
    }
  }

  /** The deployment's own variables name the user, so that no password stands on a command line. */
  private static DynamoDeployment.Builder deployment(String address) {
    String user = System.getenv("ETCD_AUTH_USERNAME");
    if (!address.startsWith(ETCD) || user == null) {
      return DynamoDeployment.at(address);
    }
    EtcdAccess access = EtcdAccess.parse(address.substring(ETCD.length()));
    String password = System.getenv().getOrDefault("ETCD_AUTH_PASSWORD", "");
    return DynamoDeployment.etcd(new EtcdAccess(access.endpoints(), user, password, null));
  }
}
