package io.kvrelay.engine.publication;

import io.kvrelay.api.ProducerIdentity;
import io.kvrelay.api.PublicationFrame;
import io.kvrelay.api.RelayErrorReason;
import io.kvrelay.api.RelayException;
import io.kvrelay.engine.cbi1.Cbi1Decoder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Flow;

/**
 * Takes what it asks for and keeps a replica as a view would; a frame out of order fails the test
 * by way of {@link #fault}.
 */
final class Subscriber implements Flow.Subscriber<PublicationFrame> {
  final ProducerIdentity expected;
  final List<PublicationFrame> frames = new ArrayList<>();
  final long[] words;
  long sequence;
  int chunksLeft = -1;
  Flow.Subscription subscription;
  Throwable error;
  boolean completed;
  boolean isCancelled;
  String fault = "";
  Throwable throwOnNext;

  private final Cbi1Decoder decoder;

  Subscriber(ProducerIdentity expected) {
    this.expected = expected;
    this.words = new long[expected.format().bucketCount()];
    this.decoder = new Cbi1Decoder(expected.format());
  }

  @Override
  public void onSubscribe(Flow.Subscription given) {
    check(subscription == null, "subscribed twice");
    subscription = given;
  }

  @Override
  public void onNext(PublicationFrame frame) {
    if (throwOnNext != null) {
      throw Subscriber.<RuntimeException>sneaky(throwOnNext);
    }
    check(!isEnded(), "a frame after the end");
    check(frame.producer().equals(expected), "a foreign frame");
    frames.add(frame);
    if (!decoder.decode(frame.payload())) {
      check(false, "undecodable: " + decoder.error());
      return;
    }
    check(decoder.epoch() == frame.sequence(), "epoch of " + frame);
    if (frame.kind() == PublicationFrame.Kind.SNAPSHOT_CHUNK) {
      chunk(frame);
    } else {
      delta(frame);
    }
  }

  @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
  private static <E extends Throwable> E sneaky(Throwable error) throws E {
    throw (E) error;
  }

  private void chunk(PublicationFrame frame) {
    if (chunksLeft < 0) {
      chunksLeft = decoder.chunkCount();
      sequence = frame.sequence();
    }
    check(chunksLeft-- > 0, "a chunk too many");
    check(frame.sequence() == sequence && frame.baseSequence() == sequence, "chunk " + frame);
    decoder.copyWords(words, decoder.bucketOffset());
  }

  private void delta(PublicationFrame frame) {
    check(chunksLeft == 0, "a delta before the snapshot is complete");
    check(
        frame.baseSequence() == sequence && frame.sequence() == sequence + 1,
        frame + " at sequence " + sequence);
    check(decoder.baseEpoch() == frame.baseSequence(), "base epoch of " + frame);
    for (int i = 0; i < decoder.imageCount(); i++) {
      words[decoder.bucket(i)] = decoder.word(i);
    }
    sequence = frame.sequence();
  }

  @Override
  public void onError(Throwable cause) {
    check(!isEnded(), "two ends");
    error = cause;
  }

  @Override
  public void onComplete() {
    check(!isEnded(), "two ends");
    completed = true;
  }

  private void check(boolean condition, String what) {
    if (!condition && fault.isEmpty()) {
      fault = what;
    }
  }

  void request(long n) {
    subscription.request(n);
  }

  void cancel() {
    isCancelled = true;
    subscription.cancel();
  }

  boolean isEnded() {
    return error != null || completed;
  }

  /** Whether it has a replica that should be right at this moment. */
  boolean isLive() {
    return !isEnded() && !isCancelled && hasSnapshot();
  }

  boolean hasSnapshot() {
    return chunksLeft == 0;
  }

  RelayErrorReason reason() {
    return error instanceof RelayException relay ? relay.reason() : null;
  }
}
