package io.kvrelay.cli.config;

import io.kvrelay.api.EndpointId;
import io.kvrelay.api.Member;
import io.kvrelay.api.QuerySemantics;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One rank's event source, as the file describes it. What is not set is the adapter's to decide.
 *
 * @param line where its description begins
 * @param field the field of its description
 * @param kvStateEndpoint the endpoint under which it is to be advertised
 * @param member whose events they are
 * @param semantics block size and hash format of the pool
 * @param engine the engine's name
 * @param live where live batches come from
 * @param replay where batches are repeated, or null
 * @param topic selects the stream, or null for any
 * @param bind whether engines connect here instead
 * @param adapterIds runtime names of adapters by id
 * @param cacheNamespace namespace of stores without a salt; the empty text for none
 * @param imageToken token id of an image's position
 * @param videoToken token id of a video's position
 * @param multimodal the rule for multimodal keys, or null
 * @param checkRank whether a batch of another rank is refused, or null
 * @param maxBlocks blocks remembered for each tier
 * @param historyEvents events kept to be repeated
 * @param heldBatches batches held back during a replay
 */
public record EventsEntry(
    int line,
    String field,
    EndpointId kvStateEndpoint,
    Member member,
    QuerySemantics semantics,
    String engine,
    String live,
    @Nullable String replay,
    @Nullable String topic,
    boolean bind,
    Map<Long, String> adapterIds,
    String cacheNamespace,
    OptionalLong imageToken,
    OptionalLong videoToken,
    @Nullable String multimodal,
    @Nullable Boolean checkRank,
    OptionalInt maxBlocks,
    OptionalInt historyEvents,
    OptionalInt heldBatches) {
  /** Copies the map. */
  public EventsEntry {
    adapterIds = Map.copyOf(adapterIds);
  }

  /** The same source, wherever its description stands. */
  public boolean describesTheSameAs(EventsEntry other) {
    return at(0, "").equals(other.at(0, ""));
  }

  private EventsEntry at(int otherLine, String otherField) {
    return new EventsEntry(
        otherLine,
        otherField,
        kvStateEndpoint,
        member,
        semantics,
        engine,
        live,
        replay,
        topic,
        bind,
        adapterIds,
        cacheNamespace,
        imageToken,
        videoToken,
        multimodal,
        checkRank,
        maxBlocks,
        historyEvents,
        heldBatches);
  }
}
