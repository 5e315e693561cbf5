package io.kvrelay.cli.demo;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * The input that needs no file: conversations of several turns. Every prompt starts with the same
 * block, then one of a few system prompts, of which some are far more popular than others; each
 * turn repeats everything said before it and adds something. Conversations begin, and their turns
 * follow, after exponentially distributed times. One seed is one input.
 */
final class BuiltInWorkload {
  /** Requests unless the user says otherwise. */
  static final int DEFAULT_REQUESTS = 5_000;

  private static final int SYSTEM_PROMPTS = 24;
  private static final int MIN_SYSTEM_BLOCKS = 2;
  private static final int MAX_SYSTEM_BLOCKS = 12;
  private static final int MAX_TURN_BLOCKS = 8;
  private static final double ANOTHER_TURN = 0.75;
  private static final double CONVERSATION_GAP_MILLIS = 800;
  private static final double TURN_GAP_MILLIS = 20_000;

  @SuppressWarnings("ArrayRecordComponent") // handed on, never compared
  private record Turn(long atMillis, long order, long[] prompt) {}

  private final SplittableRandom random;
  private final long[][] systemPrompts = new long[SYSTEM_PROMPTS][];
  private final PriorityQueue<Turn> turns =
      new PriorityQueue<>(Comparator.comparingLong(Turn::atMillis).thenComparingLong(Turn::order));
  private long nextId = 1;
  private long nextOrder;

  private BuiltInWorkload(long seed) {
    this.random = new SplittableRandom(seed);
    for (int i = 0; i < SYSTEM_PROMPTS; i++) {
      // Id 0 is the block that all of them share.
      systemPrompts[i] =
          extend(new long[1], random.nextInt(MIN_SYSTEM_BLOCKS, MAX_SYSTEM_BLOCKS + 1));
    }
  }

  /**
   * Makes an input.
   *
   * @param requests number of requests
   * @param seed the seed
   * @return the requests in order of time
   */
  static List<Request> generate(int requests, long seed) {
    return new BuiltInWorkload(seed).run(requests);
  }

  private List<Request> run(int requests) {
    List<Request> result = new ArrayList<>(requests);
    double nextConversation = 0;
    while (result.size() < requests) {
      while (turns.isEmpty() || turns.element().atMillis() >= nextConversation) {
        long[] prompt = systemPrompts[popular()];
        add((long) nextConversation, extend(prompt, 1 + random.nextInt(MAX_TURN_BLOCKS)));
        nextConversation += exponential(CONVERSATION_GAP_MILLIS);
      }
      Turn turn = turns.remove();
      result.add(new Request(turn.atMillis(), turn.prompt()));
      if (random.nextDouble() < ANOTHER_TURN) {
        add(
            turn.atMillis() + 1 + (long) exponential(TURN_GAP_MILLIS),
            extend(turn.prompt(), 1 + random.nextInt(MAX_TURN_BLOCKS)));
      }
    }
    return result;
  }

  private void add(long atMillis, long[] prompt) {
    turns.add(new Turn(atMillis, nextOrder++, prompt));
  }

  /** The smaller of two draws: the first prompts come up most. */
  private int popular() {
    return Math.min(random.nextInt(SYSTEM_PROMPTS), random.nextInt(SYSTEM_PROMPTS));
  }

  private double exponential(double mean) {
    return -mean * Math.log(1 - random.nextDouble());
  }

  private long[] extend(long[] prompt, int blocks) {
    long[] longer = Arrays.copyOf(prompt, prompt.length + blocks);
    for (int i = prompt.length; i < longer.length; i++) {
      longer[i] = nextId++;
    }
    return longer;
  }
}
