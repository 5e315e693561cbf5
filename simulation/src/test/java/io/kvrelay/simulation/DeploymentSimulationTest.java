package io.kvrelay.simulation;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Whole deployments with faults at every boundary, in virtual time: several data centers whose
 * relays follow their deployments, and several views that follow the relays. In every episode
 * something goes wrong somewhere while requests go on everywhere; then all becomes quiet, and
 *
 * <ul>
 *   <li>a rank that claims to be exact is exact, whatever was done to it,
 *   <li>the exact state of every pool is the union of its workers' caches, once ranks that say that
 *       they are not exact have been cleared by hand,
 *   <li>every view equals its producers, word for word, and answers as a linear scan does,
 *   <li>readiness and load are what the deployment says,
 *   <li>nothing that the faults did not touch has noticed them: no generation, no lane, no rank
 *       began anew, and no counter of a loss, reset or recovery moved.
 * </ul>
 *
 * <p>{@code -Dkvrelay.simulations=1000} runs that many seeds, the given one and its successors.
 */
class DeploymentSimulationTest {
  private static final int EPISODES = 5;

  private static int runs() {
    return Integer.getInteger("kvrelay.simulations", Seeds.isGiven() ? 1 : 25);
  }

  @Test
  void everythingConvergesAndFaultsStayWhereTheyHappen() {
    long first = Seeds.first();
    for (int run = 0; run < runs(); run++) {
      simulate(first + run);
      if (run % 100 == 99) {
        System.out.println((run + 1) + " seeds from " + first + " on hold");
      }
    }
  }

  private static void simulate(long seed) {
    List<String> story = new ArrayList<>();
    try {
      World world = new World(seed);
      Invariants invariants = new Invariants(world);
      quiet(world);
      invariants.check();
      for (int episode = 0; episode < EPISODES; episode++) {
        episode(world, invariants, story);
      }
      world.end();
    } catch (AssertionError | RuntimeException e) {
      throw new AssertionError(
          "replay with -Dkvrelay.seed=" + seed + "\nstory: " + story + "\n" + e.getMessage(), e);
    }
  }

  private static void episode(World world, Invariants invariants, List<String> story) {
    Fingerprint before = Fingerprint.of(world);
    Touched touched = new Touched();
    Faults faults = new Faults(world, touched);
    for (int i = 1 + world.random.nextInt(3); i > 0; i--) {
      faults.strike();
      world.traffic(10 + world.random.nextInt(30));
    }
    story.add(faults.struck().toString());
    quiet(world);
    invariants.checkClaims(touched);
    world.remedy().forEach(pool -> invariants.needed(pool, touched));
    invariants.check();
    before.assertUntouched(world, Fingerprint.of(world), touched);
  }

  private static void quiet(World world) {
    world.heal();
    world.settle();
  }
}
