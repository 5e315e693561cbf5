package io.kvrelay.events.zmq;

import com.sun.management.ThreadMXBean;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.events.SourceTrust;
import io.kvrelay.testkit.engine.EngineSimulator;
import io.kvrelay.testkit.engine.EngineWire;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * {@code decode [PYTHON]}: engine events on one core, from a message's frames to relay events, next
 * to a Python subscriber that decodes the same payloads with msgspec and does nothing with them.
 * Without a PYTHON that has msgspec, the comparison is left out.
 */
public final class DecodeBenchmark implements StreamOutput {
  private static final int BATCHES = 20_000;
  private static final int BLOCK = 16;
  private static final int ROUNDS = 12;
  private static final Member MEMBER = new Member(1, 0);

  private long emitted;

  private DecodeBenchmark() {}

  /** Runs it. */
  public static void run(String[] args) throws IOException, InterruptedException {
    if (args.length > 1) {
      throw new IllegalArgumentException("decode [PYTHON]");
    }
    for (EngineWire wire :
        List.of(EngineWire.VLLM_ARRAYS, EngineWire.VLLM_MAPS, EngineWire.SGLANG_ARRAYS)) {
      new DecodeBenchmark().compare(wire, args.length == 0 ? null : args[0]);
    }
  }

  /** What one side did in its best round. */
  private record Rate(long events, long blocks, double seconds, double bytesPerBlock) {
    double eventsPerSecond() {
      return events / seconds;
    }

    double blocksPerSecond() {
      return blocks / seconds;
    }
  }

  private void compare(EngineWire wire, @Nullable String python)
      throws IOException, InterruptedException {
    List<byte[][]> messages = messages(wire);
    long bytes = messages.stream().mapToLong(frames -> frames[2].length).sum();
    Rate decode = best(messages, false);
    Rate whole = best(messages, true);
    String theirs = python == null ? "null" : python(python, messages);
    System.out.printf(
        Locale.ROOT,
        "{\"bench\":\"decode\",\"wire\":\"%s\",\"batches\":%d,\"events\":%d,\"blocks\":%d,\"bytes\":%d,"
            + "\"decode\":%s,\"decode_and_normalise\":%s,\"python_msgspec_decode\":%s}%n",
        wire.name().toLowerCase(Locale.ROOT),
        messages.size(),
        decode.events(),
        decode.blocks(),
        bytes,
        json(decode),
        json(whole),
        theirs);
  }

  private static String json(Rate rate) {
    return String.format(
        Locale.ROOT,
        "{\"events_per_s\":%.0f,\"blocks_per_s\":%.0f,\"bytes_per_block\":%.1f}",
        rate.eventsPerSecond(),
        rate.blocksPerSecond(),
        rate.bytesPerBlock());
  }

  /** Conversations that share prefixes in a cache that evicts. */
  private static List<byte[][]> messages(EngineWire wire) {
    SplittableRandom random = new SplittableRandom(1);
    EngineSimulator engine =
        EngineSimulator.builder(wire).blockSize(BLOCK).cacheBlocks(8192).bufferSteps(0).build();
    List<int[]> chats = new ArrayList<>();
    List<byte[][]> messages = new ArrayList<>(BATCHES);
    while (messages.size() < BATCHES) {
      int[] before =
          chats.isEmpty() || random.nextInt(3) == 0
              ? new int[0]
              : chats.get(random.nextInt(Math.max(0, chats.size() - 200), chats.size()));
      int[] tokens = Arrays.copyOf(before, before.length + 64 + random.nextInt(512));
      for (int i = before.length; i < tokens.length; i++) {
        tokens[i] = random.nextInt(128_000);
      }
      if (tokens.length < 8000) {
        chats.add(tokens);
      }
      engine.request(tokens);
      byte[][] frames = engine.step();
      if (frames != null) {
        messages.add(frames);
      }
    }
    return messages;
  }

  private Rate best(List<byte[][]> messages, boolean whole) {
    Rate best = whole ? normalise(messages) : decode(messages);
    for (int round = 1; round < ROUNDS; round++) {
      Rate rate = whole ? normalise(messages) : decode(messages);
      best = rate.seconds() < best.seconds() ? rate : best;
    }
    return best;
  }

  private static long allocated() {
    return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
  }

  private Rate decode(List<byte[][]> messages) {
    WireDecoder decoder = new WireDecoder(WireLimits.DEFAULT);
    long events = 0;
    long blocks = 0;
    long memory = allocated();
    long begin = System.nanoTime();
    try {
      for (byte[][] frames : messages) {
        WireBatch batch = decoder.decode(frames[2]);
        for (int i = 0; i < batch.size(); i++) {
          events++;
          blocks += batch.get(i).hashCount;
        }
      }
    } catch (WireFault e) {
      throw new IllegalStateException(e);
    }
    double seconds = (System.nanoTime() - begin) / 1e9;
    return new Rate(events, blocks, seconds, (double) (allocated() - memory) / blocks);
  }

  private Rate normalise(List<byte[][]> messages) {
    EngineSource source =
        EngineSource.builder(
                new EndpointId("bench", "engine", "generate"),
                MEMBER,
                "tcp://127.0.0.1:5557",
                new QuerySemantics(BLOCK, QueryHashFormat.DYNAMO_STANDARD_V1))
            .build();
    EngineStream stream = new EngineStream(source, this, new SharedMemory(WireLimits.DEFAULT));
    emitted = 0;
    long memory = allocated();
    long begin = System.nanoTime();
    for (byte[][] frames : messages) {
      stream.onLive(frames, 0);
    }
    double seconds = (System.nanoTime() - begin) / 1e9;
    long used = allocated() - memory;
    SourceCounters counters = stream.counters();
    if (stream.trust() != SourceTrust.EXACT || counters.get(Counter.UNKNOWN_PARENTS) != 0) {
      throw new IllegalStateException("not exact: " + stream.trustReason());
    }
    long events =
        counters.snapshot().entrySet().stream()
            .filter(one -> one.getKey().matches("events\\.(stored|removed|cleared)\\..*"))
            .mapToLong(one -> one.getValue())
            .sum();
    return new Rate(events, emitted, seconds, (double) used / emitted);
  }

  private static String python(String python, List<byte[][]> messages)
      throws IOException, InterruptedException {
    Path payloads = Files.createTempFile("kvrelay-payloads-", ".bin");
    Path script = Files.createTempFile("kvrelay-msgspec-", ".py");
    try (InputStream in = DecodeBenchmark.class.getResourceAsStream("msgspec_decode.py")) {
      if (in == null) {
        throw new IllegalStateException("msgspec_decode.py is missing");
      }
      Files.copy(in, script, StandardCopyOption.REPLACE_EXISTING);
      write(payloads, messages);
      Process process =
          new ProcessBuilder(python, script.toString(), payloads.toString(), "" + ROUNDS)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      String output =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      if (process.waitFor() != 0) {
        throw new IllegalArgumentException(python + ": failed; is msgspec installed?");
      }
      return output;
    } finally {
      Files.delete(payloads);
      Files.delete(script);
    }
  }

  private static void write(Path path, List<byte[][]> messages) throws IOException {
    try (OutputStream out = Files.newOutputStream(path);
        DataOutputStream data = new DataOutputStream(new BufferedOutputStream(out))) {
      for (byte[][] frames : messages) {
        data.writeInt(frames[2].length);
        data.write(frames[2]);
      }
    }
  }

  @Override
  public void events(List<KvEvent> events) {
    for (KvEvent event : events) {
      emitted += event.length();
    }
  }

  @Override
  public void trust(SourceTrust trust, String reason) {}

  @Override
  public void requestReplay(long request, long from) {
    throw new IllegalStateException("no replay was configured");
  }

  @Override
  public void cancelReplay() {}
}
