package io.kvrelay.engine.topology;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Text;
import java.util.Comparator;

/**
 * Texts in the order of their UTF-8 bytes. {@link String#compareTo} compares UTF-16 units, which
 * puts characters outside the basic plane before U+E000..U+FFFF.
 */
final class TextOrder {
  static final Comparator<String> UTF8 = TextOrder::compare;

  /** By dotted text; endpoints whose texts are equal are told apart by their parts. */
  static final Comparator<EndpointId> ENDPOINTS =
      Comparator.comparing(EndpointId::toString, UTF8).thenComparing(Comparator.naturalOrder());

  private TextOrder() {}

  private static int compare(String a, String b) {
    int length = Math.min(a.length(), b.length());
    for (int i = 0; i < length; i++) {
      char x = a.charAt(i);
      char y = b.charAt(i);
      if (x != y) {
        return rank(x) - rank(y);
      }
    }
    return a.length() - b.length();
  }

  /** Lifts surrogates above all other units (the fix-up of UTF-16 in code point order). */
  private static int rank(char unit) {
    return Character.isSurrogate(unit) ? unit + 0x10000 : unit;
  }

  /** A name that can be served: by the text rule, and without an unpaired surrogate. */
  static boolean isName(String value) {
    return Text.isValid(value)
        && value.codePoints().noneMatch(c -> c >= Character.MIN_SURROGATE && c <= 0xDFFF);
  }
}
