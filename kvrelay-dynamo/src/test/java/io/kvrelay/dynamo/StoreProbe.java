package io.kvrelay.dynamo;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Keeps what a store reports, and waits for it with a limit. */
final class StoreProbe implements RecordStore.Listener {
  private final BlockingQueue<Map<String, String>> records = new LinkedBlockingQueue<>();
  private final BlockingQueue<String> losses = new LinkedBlockingQueue<>();

  @Override
  public void onRecords(Map<RecordKey, byte[]> content) {
    Map<String, String> texts = new TreeMap<>();
    content.forEach(
        (key, value) -> texts.put(key.toString(), new String(value, StandardCharsets.UTF_8)));
    records.add(texts);
  }

  @Override
  public void onLost(String reason) {
    losses.add(reason);
  }

  void awaitContent(Map<String, String> wanted) throws InterruptedException {
    Map<String, String> latest = null;
    do {
      Map<String, String> next = records.poll(20, TimeUnit.SECONDS);
      if (next == null) {
        throw new AssertionError("expected " + wanted + ", last was " + latest);
      }
      latest = next;
    } while (!latest.equals(wanted));
  }

  String awaitLoss() throws InterruptedException {
    String reason = losses.poll(20, TimeUnit.SECONDS);
    if (reason == null) {
      throw new AssertionError("no loss within 20 s");
    }
    return reason;
  }

  boolean lostAnything() {
    return !losses.isEmpty();
  }
}
