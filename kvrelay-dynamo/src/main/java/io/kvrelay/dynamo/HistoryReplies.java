package io.kvrelay.dynamo;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.events.HistoryReply;
import io.kvrelay.api.events.HistoryReply.ResetScope;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a worker's answer says. */
final class HistoryReplies {
  private final MessagePackReader in;
  private @Nullable List<KvEvent> events;
  private @Nullable Long last;
  private String message = "";
  private ResetScope scope = ResetScope.ALL;
  private @Nullable Long start;
  private @Nullable Long end;
  private @Nullable Long newest;

  private HistoryReplies(MessagePackReader in) {
    this.in = in;
  }

  /**
   * Reads the value of an answer.
   *
   * @throws MalformedException if it cannot be understood, or if the worker could not answer: in
   *     either case the request may be made again
   */
  static HistoryReply read(byte[] value) throws MalformedException {
    MessagePackReader in = new MessagePackReader(value);
    HistoryReply reply = new HistoryReplies(in).reply();
    in.checkEnd();
    return reply;
  }

  private HistoryReply reply() throws MalformedException {
    if (in.isText()) {
      return unknown(in.text("answer"));
    }
    if (in.map("answer") != 1) {
      throw new MalformedException("answer: must have one tag");
    }
    String tag = in.text("answer");
    switch (tag) {
      case "Error" -> throw new MalformedException("the worker answered: " + in.text("Error"));
      case "Events", "TreeDump", "TreeDumpFailed", "TooNew", "InvalidRange" -> fields();
      default -> {
        in.skip();
        return unknown(tag);
      }
    }
    return switch (tag) {
      case "Events" ->
          new HistoryReply.Events(there("events", events), there("last_event_id", last));
      case "TreeDump" ->
          new HistoryReply.TreeDump(there("events", events), there("last_event_id", last), scope);
      case "TreeDumpFailed" ->
          new HistoryReply.TreeDumpFailed(there("last_event_id", last), message);
      case "TooNew" -> tooNew();
      default -> new HistoryReply.InvalidRange(there("start_id", start), there("end_id", end));
    };
  }

  private HistoryReply tooNew() throws MalformedException {
    long available = there("newest_available", newest);
    return new HistoryReply.TooNew(
        there("requested_start", start), end == null ? available : end, available);
  }

  private static HistoryReply unknown(String tag) {
    return new HistoryReply.Failed("an answer of the unknown kind " + tag);
  }

  private void fields() throws MalformedException {
    for (int n = in.map("answer"); n > 0; n--) {
      String key = in.text("key");
      switch (key) {
        case "events" -> events = RouterEvents.read(in);
        case "last_event_id" -> last = in.u64(key);
        case "message" -> message = in.text(key);
        case "reset_scope" -> scope = scope();
        case "requested_start", "start_id" -> start = in.u64(key);
        case "requested_end", "end_id" -> end = in.nil() ? null : in.u64(key);
        case "newest_available" -> newest = in.u64(key);
        default -> in.skip();
      }
    }
  }

  private ResetScope scope() throws MalformedException {
    if (in.isText()) {
      return in.text("reset_scope").equals("all") ? ResetScope.ALL : ResetScope.PARTIAL;
    }
    in.skip();
    return ResetScope.PARTIAL;
  }

  private static <T> T there(String field, @Nullable T value) throws MalformedException {
    if (value == null) {
      throw new MalformedException(field + " is missing");
    }
    return value;
  }
}
