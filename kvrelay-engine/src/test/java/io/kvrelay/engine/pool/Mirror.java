package io.kvrelay.engine.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;

/** What a subscriber holds: one snapshot, then absolute images. */
final class Mirror {
  final long[] words;
  int batches;
  long images;

  Mirror(long[] snapshot) {
    this.words = snapshot.clone();
  }

  void apply(BucketImages publication) {
    if (publication == null) {
      return;
    }
    batches++;
    images += publication.count();
    Set<Integer> seen = new HashSet<>();
    assertThat(publication.count()).isPositive();
    for (int i = 0; i < publication.count(); i++) {
      int bucket = publication.buckets()[i];
      assertThat(seen.add(bucket)).as("bucket %d once in a batch", bucket).isTrue();
      assertThat(publication.words()[i]).as("image of a change").isNotEqualTo(words[bucket]);
      words[bucket] = publication.words()[i];
    }
  }
}
