package io.kvrelay.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads prompts: one JSON list of whole numbers a line. */
final class PromptFile {
  private static final JsonFactory FACTORY = new JsonFactory();
  private static final int FIRST_CAPACITY = 256;

  private PromptFile() {}

  /**
   * Reads a file.
   *
   * @param file the file
   * @param bits 32 for token ids, 64 for hashes: the largest number is that many ones
   * @return the numbers of each line, unsigned
   * @throws InputException naming the file, the first broken line and what is wrong with it
   */
  static List<long[]> read(Path file, int bits) {
    List<String> lines;
    try {
      lines = Files.readAllLines(file);
    } catch (NoSuchFileException e) {
      throw new InputException("--tokens = " + file + ": there is no such file", e);
    } catch (CharacterCodingException e) {
      throw new InputException("--tokens = " + file + ": is not UTF-8 text", e);
    } catch (IOException e) {
      throw new InputException("--tokens = " + file + ": cannot be read: " + e.getMessage(), e);
    }
    List<long[]> prompts = new ArrayList<>();
    for (String line : lines) {
      String where = file + ":" + (prompts.size() + 1) + ": ";
      try {
        prompts.add(parse(where, line, bits));
      } catch (JsonProcessingException e) {
        throw new InputException(where + "is not JSON: " + e.getOriginalMessage(), e);
      } catch (IOException e) {
        throw new UncheckedIOException("a string cannot be read", e);
      }
    }
    return prompts;
  }

  private static long[] parse(String where, String line, int bits) throws IOException {
    BigInteger most = BigInteger.ONE.shiftLeft(bits).subtract(BigInteger.ONE);
    try (JsonParser json = FACTORY.createParser(line)) {
      if (json.nextToken() != JsonToken.START_ARRAY) {
        throw new InputException(where + "must be a JSON list of whole numbers");
      }
      long[] numbers = new long[FIRST_CAPACITY];
      int count = 0;
      while (json.nextToken() != JsonToken.END_ARRAY) {
        if (count == numbers.length) {
          numbers = Arrays.copyOf(numbers, 2 * count);
        }
        numbers[count++] = number(where, json, most);
      }
      if (json.nextToken() != null) {
        throw new InputException(where + "must be one JSON list and nothing else");
      }
      return Arrays.copyOf(numbers, count);
    }
  }

  private static long number(String where, JsonParser json, BigInteger most) throws IOException {
    if (json.currentToken() == JsonToken.VALUE_NUMBER_INT) {
      BigInteger value = json.getBigIntegerValue();
      if (value.signum() >= 0 && value.compareTo(most) <= 0) {
        return value.longValue();
      }
    }
    throw new InputException(
        where + "number " + json.getText() + ": must be a whole number in 0.." + most);
  }
}
