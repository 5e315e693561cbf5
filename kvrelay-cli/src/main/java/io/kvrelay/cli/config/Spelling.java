package io.kvrelay.cli.config;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds what somebody probably meant. */
final class Spelling {
  private Spelling() {}

  /** The candidate that takes the fewest edits, if those are few enough to be a slip. */
  static @Nullable String nearest(String word, List<String> candidates) {
    String best = null;
    int fewest = Math.max(2, word.length() / 2) + 1;
    for (String candidate : candidates) {
      if (word.length() >= 2 * candidate.length() + 2) {
        continue; // no slip makes it so long
      }
      int edits = distance(word, candidate);
      if (edits < fewest) {
        best = candidate;
        fewest = edits;
      }
    }
    return best;
  }

  /** Levenshtein's distance. */
  static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int change = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(change, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()];
  }
}
