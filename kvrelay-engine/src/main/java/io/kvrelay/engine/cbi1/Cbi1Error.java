package io.kvrelay.engine.cbi1;

/**
 * Everything that can be wrong with a frame, a publication or a sequence of chunks. Local: never on
 * the wire.
 */
public enum Cbi1Error {
  /** The frame is shorter than a header. */
  TRUNCATED("Truncated"),
  /** The frame is longer than the largest one; carries its length and the limit. */
  FRAME_TOO_LARGE("FrameTooLarge"),
  /** The frame does not start with the magic bytes. */
  MAGIC("Magic"),
  /** Another version of the layout; carries it. */
  WIRE_VERSION("WireVersion"),
  /** The body's checksum differs. */
  CHECKSUM("Checksum"),
  /** Another version of the filter format. */
  FORMAT_VERSION("Format.Version"),
  /** Another fingerprint width. */
  FORMAT_FINGERPRINT_BITS("Format.FingerprintBits"),
  /** Another bucket width. */
  FORMAT_SLOTS_PER_BUCKET("Format.SlotsPerBucket"),
  /** Another seed or bucket count than the expected one. */
  FORMAT_MISMATCH("Format.Mismatch"),
  /** The bucket count is not a power of two in 2..2^24; carries it. */
  FORMAT_BUCKET_COUNT("Format.BucketCount"),
  /** Neither a chunk nor a delta; carries the flags. */
  FLAGS("Flags"),
  /** A length, an index or a range of the body contradicts another. */
  MALFORMED("Malformed"),
  /** More images than a frame can hold; carries the count and the limit. */
  DELTA_IMAGE_COUNT("DeltaImageCount"),
  /**
   * An image of a bucket that the filter does not have; carries the bucket and the bucket count.
   */
  BUCKET_INDEX("BucketIndex"),
  /** A snapshot with another number of words than buckets; carries both. */
  SNAPSHOT_BUCKET_COUNT("SnapshotBucketCount"),
  /** More words than a chunk may have. Frames that large are too large already; a guard. */
  SNAPSHOT_CHUNK_WORD_COUNT("SnapshotChunkWordCount"),
  /** A chunk does not continue the assembly. */
  CHUNK_SEQUENCE("ChunkSequence"),
  /** The last chunk leaves buckets uncovered. */
  INCOMPLETE_COVERAGE("IncompleteCoverage");

  private final String title;

  Cbi1Error(String title) {
    this.title = title;
  }

  /**
   * The error's name in the codec's documentation.
   *
   * @return the name
   */
  public String title() {
    return title;
  }
}
