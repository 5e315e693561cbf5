package io.kvrelay.engine.view;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.engine.cbi1.Cbi1Encoder;
import io.kvrelay.engine.ckf.CkfAddressing;
import io.kvrelay.engine.ckf.CkfBuckets;
import io.kvrelay.engine.hash.Xxh3;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A producer's filter, its sequence, and the frames that publish it. */
final class ScriptedFilter {
  private final ProducerIdentity producer;
  private final CkfAddressing addressing;
  private final Cbi1Encoder encoder;
  final long[] words;
  long sequence;

  ScriptedFilter(ProducerIdentity producer) {
    this.producer = producer;
    this.addressing = new CkfAddressing(producer.format());
    this.encoder = new Cbi1Encoder(producer.format(), producer.poolId().dcId().value());
    this.words = new long[producer.format().bucketCount()];
  }

  ProducerIdentity producer() {
    return producer;
  }

  /** Puts hashes in without publishing; the filter must have room at their places. */
  ScriptedFilter put(long... sequenceHashes) {
    for (long hash : sequenceHashes) {
      long mix = addressing.mix(hash);
      int bucket = addressing.bucketA(mix);
      if (CkfBuckets.firstEmpty(words[bucket]) == CkfBuckets.NONE) {
        bucket = addressing.bucketB(mix);
      }
      int slot = CkfBuckets.firstEmpty(words[bucket]);
      if (slot == CkfBuckets.NONE) {
        throw new IllegalStateException("no room for " + hash);
      }
      words[bucket] = CkfBuckets.with(words[bucket], slot, CkfAddressing.fingerprint(mix));
    }
    return this;
  }

  /** The delta that publishes more hashes. */
  PublicationFrame store(long... sequenceHashes) {
    long[] before = words.clone();
    put(sequenceHashes);
    Map<Integer, Long> changed = new TreeMap<>();
    for (int i = 0; i < words.length; i++) {
      if (words[i] != before[i]) {
        changed.put(i, words[i]);
      }
    }
    return delta(changed);
  }

  /** The delta that publishes one bucket. */
  PublicationFrame set(int bucket, long word) {
    words[bucket] = word;
    Map<Integer, Long> changed = new TreeMap<>();
    changed.put(bucket, word);
    return delta(changed);
  }

  private PublicationFrame delta(Map<Integer, Long> changed) {
    int[] buckets = changed.keySet().stream().mapToInt(Integer::intValue).toArray();
    long[] values = changed.values().stream().mapToLong(Long::longValue).toArray();
    long base = sequence++;
    return deltaFrame(base, sequence, base, sequence, buckets, values);
  }

  /** A delta frame whose envelope and payload may disagree. */
  PublicationFrame deltaFrame(
      long base, long to, long payloadBase, long payloadTo, int[] buckets, long[] values) {
    return new PublicationFrame(
        producer,
        PublicationFrame.Kind.DELTA,
        base,
        to,
        encoder.delta(payloadTo, payloadBase, buckets, values, buckets.length),
        0);
  }

  PublicationFrame heartbeat() {
    return PublicationFrame.heartbeat(producer, sequence, 0);
  }

  /** The image in a number of chunks of equal size. */
  List<PublicationFrame> snapshot(int chunks) {
    List<PublicationFrame> frames = new ArrayList<>();
    int size = words.length / chunks;
    for (int i = 0; i < chunks; i++) {
      frames.add(chunk(sequence, i, chunks, i * size, size));
    }
    return frames;
  }

  PublicationFrame chunk(long at, int index, int count, int offset, int size) {
    return frame(
        producer,
        PublicationFrame.Kind.SNAPSHOT_CHUNK,
        at,
        at,
        payload(at, index, count, offset, size));
  }

  /** A chunk of any shape: the codec's own encoder only makes full ones. */
  ByteBuffer payload(long epoch, int index, int count, int offset, int size) {
    ByteBuffer whole =
        encoder.snapshotChunk(epoch, words, 0).duplicate().order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer header = whole.slice(whole.position(), 48).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer chunk = ByteBuffer.allocate(48 + 16 + 8 * size).order(ByteOrder.LITTLE_ENDIAN);
    chunk.put(header).putInt(index).putInt(count).putLong(offset);
    for (int i = 0; i < size; i++) {
      chunk.putLong(words[offset + i]);
    }
    chunk.flip();
    chunk.putInt(44, (int) Xxh3.UNSEEDED.hashBytes(chunk.array(), 48, chunk.limit() - 48));
    return chunk;
  }

  static PublicationFrame frame(
      ProducerIdentity producer,
      PublicationFrame.Kind kind,
      long base,
      long to,
      ByteBuffer payload) {
    return new PublicationFrame(producer, kind, base, to, payload, 0);
  }
}
