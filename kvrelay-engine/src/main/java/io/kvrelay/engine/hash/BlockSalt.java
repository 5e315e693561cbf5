package io.kvrelay.engine.hash;

import org.jspecify.annotations.Nullable;

/**
 * The seed of a request's local hashes: the base seed plus one hash for the adapter and one for the
 * cache namespace.
 *
 * <p>Immutable and shareable. Keep one per adapter and namespace in use: making one hashes two
 * texts and prepares the seeded hash, using one costs nothing.
 */
public final class BlockSalt {
  /** Seed of everything that is not salted. */
  public static final long BASE_SEED = 1337;

  /** No adapter, no namespace. */
  public static final BlockSalt NONE = new BlockSalt(BASE_SEED);

  private static final Xxh3 LORA = Xxh3.UNSEEDED;
  private static final Xxh3 NAMESPACE = Xxh3.withSeed(1);

  private final Xxh3 hash;

  private BlockSalt(long seed) {
    this.hash = Xxh3.withSeed(seed);
  }

  /**
   * The salt of an adapter and a namespace. The inner seeds differ, so one name gives two different
   * salts in the two roles.
   *
   * @param loraName the runtime adapter name, not the model name of a request; null or empty for
   *     the base model
   * @param cacheNamespace the cache namespace; null or empty for none
   * @return the salt
   * @throws IllegalArgumentException if a name holds an unpaired surrogate
   */
  public static BlockSalt of(@Nullable String loraName, @Nullable String cacheNamespace) {
    long seed =
        BASE_SEED
            + inner(LORA, loraName, "loraName")
            + inner(NAMESPACE, cacheNamespace, "cacheNamespace");
    return seed == BASE_SEED ? NONE : new BlockSalt(seed);
  }

  private static long inner(Xxh3 hash, @Nullable String name, String field) {
    if (name == null || name.isEmpty()) {
      return 0;
    }
    byte[] utf8 = Utf8.encode(name, field);
    return hash.hashBytes(utf8, 0, utf8.length);
  }

  /**
   * The seed.
   *
   * @return the unsigned seed
   */
  public long seed() {
    return hash.seed();
  }

  Xxh3 hash() {
    return hash;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof BlockSalt salt && salt.seed() == seed();
  }

  @Override
  public int hashCode() {
    return Long.hashCode(seed());
  }

  @Override
  public String toString() {
    return "BlockSalt[" + Long.toUnsignedString(seed()) + "]";
  }
}
