package io.kvrelay.testkit.engine;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One data-parallel rank of an inference engine: a prefix cache of bounded size, the events that it
 * publishes, and the replay of those it still holds. Frames in, frames out; the caller brings the
 * sockets, or does without.
 *
 * <p>It behaves as engines do: prefix hits say nothing; blocks are freed tail first, one event
 * each, before the store that needed their room; a concurrent copy of a prefix is announced and
 * removed on its own; a restarted process begins at sequence 0, with an empty cache, and says
 * nothing about it.
 *
 * <p>Not thread safe.
 */
public final class EngineSimulator {
  private static final byte[] NOTHING = {};
  private static final byte[] END_MARK = {-1, -1, -1, -1, -1, -1, -1, -1};

  /** A block in the cache. */
  private static final class Block {
    private final byte[] digest;
    private final int[] prefix;
    private final @Nullable String adapter;
    private final @Nullable String salt;
    private int copies = 1;

    Block(byte[] digest, int[] prefix, @Nullable String adapter, @Nullable String salt) {
      this.digest = digest;
      this.prefix = prefix;
      this.adapter = adapter;
      this.salt = salt;
    }
  }

  /** A batch that may be replayed. */
  private static final class Batch {
    private final long sequence;
    private final byte[] payload;

    Batch(long sequence, byte[] payload) {
      this.sequence = sequence;
      this.payload = payload;
    }
  }

  private final EngineWire wire;
  private final int blockSize;
  private final int cacheBlocks;
  private final int bufferSteps;
  private final String topic;
  private final ReplayLayout layout;
  private final boolean namesItself;
  private final @Nullable String medium;
  private final EngineWriter writer;

  /** By digest in hexadecimal, the one to be freed next first. */
  private final Map<String, Block> cache = new LinkedHashMap<>();

  private final List<EngineEvent> pending = new ArrayList<>();
  private final Deque<Batch> buffer = new ArrayDeque<>();
  private long sequence;
  private int process;
  private UUID identity;
  private int used;

  private EngineSimulator(Builder b) {
    this.wire = b.wire;
    this.blockSize = b.blockSize;
    this.cacheBlocks = b.cacheBlocks;
    this.bufferSteps = b.bufferSteps;
    this.topic = b.topic;
    this.layout = b.layout;
    this.namesItself = b.namesItself;
    this.medium = b.wire == EngineWire.VLLM_SHORT_ARRAYS ? null : "GPU";
    this.writer = new EngineWriter(b.wire, b.byteHashes, b.rank);
    this.identity = identityOf(0);
  }

  private static UUID identityOf(int process) {
    return new UUID(0x6b76_7265_6c61_7900L, 0x8000_0000_0000_0000L | process);
  }

  /**
   * Starts an engine of one wire generation.
   *
   * @param wire what it writes
   * @return a builder
   */
  public static Builder builder(EngineWire wire) {
    return new Builder(wire);
  }

  /** Collects an engine's configuration. Not thread safe. */
  public static final class Builder {
    private final EngineWire wire;
    private int blockSize = 16;
    private int cacheBlocks = 1024;
    private int bufferSteps = 10_000;
    private int rank;
    private String topic = "";
    private ReplayLayout layout = ReplayLayout.WITHOUT_TOPIC;
    private boolean namesItself;
    private boolean byteHashes;

    private Builder(EngineWire wire) {
      this.wire = wire;
    }

    /**
     * Sets the tokens of a block. Default: 16.
     *
     * @param blockSize positive
     * @return this
     */
    public Builder blockSize(int blockSize) {
      this.blockSize = blockSize;
      return this;
    }

    /**
     * Sets how many blocks the cache holds, copies included. Default: 1024.
     *
     * @param cacheBlocks positive
     * @return this
     */
    public Builder cacheBlocks(int cacheBlocks) {
      this.cacheBlocks = cacheBlocks;
      return this;
    }

    /**
     * Sets how many batches can be replayed. Default: 10,000.
     *
     * @param bufferSteps 0 or more
     * @return this
     */
    public Builder bufferSteps(int bufferSteps) {
      this.bufferSteps = bufferSteps;
      return this;
    }

    /**
     * Sets the data-parallel rank that batches name. Default: 0.
     *
     * @param rank 0 or more
     * @return this
     */
    public Builder rank(int rank) {
      this.rank = rank;
      return this;
    }

    /**
     * Sets the topic of live messages. Default: empty.
     *
     * @param topic the topic
     * @return this
     */
    public Builder topic(String topic) {
      this.topic = topic;
      return this;
    }

    /**
     * Sets the layout of replies. Default: without the topic.
     *
     * @param layout the layout
     * @return this
     */
    public Builder replayLayout(ReplayLayout layout) {
      this.layout = layout;
      return this;
    }

    /**
     * Makes sequence frames of 24 bytes that name the process. Default: 8 bytes, no name.
     *
     * @param namesItself true for 24 bytes
     * @return this
     */
    public Builder namesItself(boolean namesItself) {
      this.namesItself = namesItself;
      return this;
    }

    /**
     * Writes vLLM's hashes as whole digests instead of integers. Default: integers.
     *
     * @param byteHashes true for bytes
     * @return this
     */
    public Builder byteHashes(boolean byteHashes) {
      this.byteHashes = byteHashes;
      return this;
    }

    /**
     * Creates the engine.
     *
     * @return the engine, at sequence 0 with an empty cache
     * @throws IllegalArgumentException naming the value that is not acceptable
     */
    public EngineSimulator build() {
      check("blockSize", blockSize, 1);
      check("cacheBlocks", cacheBlocks, 1);
      check("bufferSteps", bufferSteps, 0);
      check("rank", rank, 0);
      return new EngineSimulator(this);
    }

    private static void check(String field, int value, int least) {
      if (value < least) {
        throw new IllegalArgumentException(field + " = " + value + ": must be at least " + least);
      }
    }
  }

  /**
   * Caches a prompt's full blocks, as far as they fit.
   *
   * @param tokens the prompt
   */
  public void request(int... tokens) {
    request(tokens, null, null, false);
  }

  /**
   * Caches a prompt's full blocks, as far as they fit.
   *
   * @param tokens the prompt
   * @param adapter adapter name, or null for the base model
   * @param salt cache salt, or null
   * @param copy whether another request computes the same prompt at the same time: what is cached
   *     already is stored once more, and removed once more later
   */
  public void request(int[] tokens, @Nullable String adapter, @Nullable String salt, boolean copy) {
    int blocks = Math.min(tokens.length / blockSize, cacheBlocks);
    byte[][] digests = digests(tokens, blocks, adapter, salt);
    int hits = 0;
    while (hits < blocks && !copy && cache.containsKey(key(digests[hits]))) {
      hits++;
    }
    // Whoever is used now must not be freed to make room for the rest.
    touch(digests, blocks);
    Set<String> inUse = new HashSet<>();
    for (int i = 0; i < hits; i++) {
      inUse.add(key(digests[i]));
    }
    makeRoom(blocks - hits, inUse);
    for (int i = hits; i < blocks; i++) {
      Block known = cache.get(key(digests[i]));
      if (known == null) {
        int[] prefix = Arrays.copyOf(tokens, (i + 1) * blockSize);
        cache.put(key(digests[i]), new Block(digests[i], prefix, adapter, salt));
      } else {
        known.copies++;
      }
      used++;
    }
    touch(digests, blocks);
    announce(tokens, digests, hits, blocks, adapter, salt);
  }

  private void announce(
      int[] tokens,
      byte[][] digests,
      int hits,
      int blocks,
      @Nullable String adapter,
      @Nullable String salt) {
    // SGLang announces page by page.
    int step = wire.isSglang() ? 1 : Math.max(1, blocks - hits);
    for (int i = hits; i < blocks; i += step) {
      int end = Math.min(i + step, blocks);
      pending.add(
          new EngineEvent(
              EngineEvent.Kind.STORED,
              Arrays.copyOfRange(digests, i, end),
              i == 0 ? null : digests[i - 1],
              Arrays.copyOfRange(tokens, i * blockSize, end * blockSize),
              blockSize,
              medium,
              adapter,
              salt));
    }
  }

  /** Last block first, so that a sequence is freed from its tail. */
  private void touch(byte[][] digests, int blocks) {
    for (int i = blocks - 1; i >= 0; i--) {
      Block block = cache.remove(key(digests[i]));
      if (block != null) {
        cache.put(key(digests[i]), block);
      }
    }
  }

  /** Frees blocks, but never the last copy of one that the request itself stands on. */
  private void makeRoom(int blocks, Set<String> inUse) {
    Iterator<Map.Entry<String, Block>> oldest = cache.entrySet().iterator();
    while (used + blocks > cacheBlocks && oldest.hasNext()) {
      Map.Entry<String, Block> entry = oldest.next();
      Block block = entry.getValue();
      int kept = inUse.contains(entry.getKey()) ? 1 : 0;
      while (used + blocks > cacheBlocks && block.copies > kept) {
        used--;
        block.copies--;
        pending.add(EngineEvent.removed(new byte[][] {block.digest}, medium));
      }
      if (block.copies == 0) {
        oldest.remove();
      }
    }
  }

  /** Empties the cache, and announces it. */
  public void clear() {
    cache.clear();
    used = 0;
    pending.add(EngineEvent.cleared());
  }

  /**
   * Ends a scheduler step: publishes what has happened since the last one.
   *
   * @return the frames of the live message, or null if nothing happened
   */
  public byte @Nullable [][] step() {
    return pending.isEmpty() ? null : heartbeat();
  }

  /**
   * Ends a scheduler step and publishes a batch even if it is empty.
   *
   * @return the frames of the live message
   */
  public byte[][] heartbeat() {
    byte[] payload = writer.batch(timestamp(), pending);
    pending.clear();
    buffer.add(new Batch(sequence, payload));
    if (buffer.size() > bufferSteps) {
      buffer.remove();
    }
    return live(sequence++, payload);
  }

  private double timestamp() {
    return 1_780_000_000.0 + 1000.0 * process + sequence / 64.0;
  }

  private byte[][] live(long number, byte[] payload) {
    return new byte[][] {topic.getBytes(StandardCharsets.UTF_8), sequenceFrame(number), payload};
  }

  private byte[] sequenceFrame(long number) {
    ByteBuffer frame = ByteBuffer.allocate(namesItself ? 24 : 8).putLong(number);
    if (namesItself) {
      frame.putLong(identity.getMostSignificantBits()).putLong(identity.getLeastSignificantBits());
    }
    return frame.array();
  }

  /**
   * Answers a replay request.
   *
   * @param request the frames that a DEALER sends: the empty delimiter, and the first sequence
   * @return the replies in order, each as the DEALER sees it, the end mark last; none if the
   *     request is malformed, as engines do
   */
  public List<byte[][]> replay(byte[][] request) {
    if (request.length != 2 || request[0].length != 0 || request[1].length != Long.BYTES) {
      return List.of();
    }
    return replay(ByteBuffer.wrap(request[1]).getLong());
  }

  /**
   * Answers a replay request.
   *
   * @param start the first sequence wanted
   * @return the replies in order, each as a DEALER sees it, the end mark last
   */
  public List<byte[][]> replay(long start) {
    List<byte[][]> replies = new ArrayList<>();
    for (Batch batch : buffer) {
      if (batch.sequence >= start) {
        byte[] number = ByteBuffer.allocate(Long.BYTES).putLong(batch.sequence).array();
        replies.add(reply(topic.getBytes(StandardCharsets.UTF_8), number, batch.payload));
      }
    }
    replies.add(reply(NOTHING, END_MARK.clone(), NOTHING));
    return replies;
  }

  private byte[][] reply(byte[] ofTopic, byte[] number, byte[] payload) {
    return layout == ReplayLayout.WITHOUT_TOPIC
        ? new byte[][] {NOTHING, number, payload}
        : new byte[][] {NOTHING, ofTopic, number, payload};
  }

  /** Ends the process and begins another: empty cache, empty buffer, sequence 0, a new name. */
  public void restart() {
    restart(false);
  }

  /**
   * Ends the process and begins another.
   *
   * @param sameIdentity whether the new one calls itself by the old one's name
   */
  public void restart(boolean sameIdentity) {
    cache.clear();
    used = 0;
    pending.clear();
    buffer.clear();
    sequence = 0;
    process++;
    if (!sameIdentity) {
      identity = identityOf(process);
    }
  }

  /** Consumes a sequence number without publishing under it, as a failed send does. */
  public void skipSequence() {
    sequence++;
  }

  /**
   * The sequence of the next batch.
   *
   * @return the number
   */
  public long nextSequence() {
    return sequence;
  }

  /**
   * The engine's truth: each cached block by the tokens that lead up to it and include it.
   *
   * @return one entry for each distinct block
   */
  public List<CachedBlock> cached() {
    List<CachedBlock> blocks = new ArrayList<>(cache.size());
    for (Block block : cache.values()) {
      blocks.add(new CachedBlock(block.prefix.clone(), block.adapter, block.salt));
    }
    return blocks;
  }

  /**
   * A block in the cache.
   *
   * @param prefix the tokens of the block and of all before it
   * @param adapter adapter name, or null
   * @param salt cache salt, or null
   */
  @SuppressWarnings("ArrayRecordComponent") // a value to be read, not compared
  public record CachedBlock(int[] prefix, @Nullable String adapter, @Nullable String salt) {}

  private byte[][] digests(
      int[] tokens, int blocks, @Nullable String adapter, @Nullable String salt) {
    byte[][] digests = new byte[blocks][];
    byte[] previous = seed(adapter, salt);
    for (int i = 0; i < blocks; i++) {
      ByteBuffer bytes =
          ByteBuffer.allocate(blockSize * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
      bytes.asIntBuffer().put(tokens, i * blockSize, blockSize);
      MessageDigest sha = sha256();
      sha.update(previous);
      sha.update(bytes.array());
      digests[i] = sha.digest();
      previous = digests[i];
    }
    return digests;
  }

  /** Where a chain begins: SGLang with nothing, vLLM with something that differs by process. */
  private byte[] seed(@Nullable String adapter, @Nullable String salt) {
    String text =
        (wire.isSglang() ? "" : "process " + process)
            + (adapter == null ? "" : "/adapter " + adapter)
            + (salt == null ? "" : "/salt " + salt);
    return text.isEmpty() ? NOTHING : sha256().digest(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String key(byte[] digest) {
    return HexFormat.of().formatHex(digest);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
