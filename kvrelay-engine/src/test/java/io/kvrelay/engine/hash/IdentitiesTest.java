package io.kvrelay.engine.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvrelay.api.CacheSemanticsId;
import io.kvrelay.api.DcId;
import io.kvrelay.api.Digest;
import io.kvrelay.api.EndpointId;
import io.kvrelay.api.IdentitySource;
import io.kvrelay.api.IndexerDomainId;
import io.kvrelay.api.Member;
import io.kvrelay.api.PoolId;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.api.QuerySemantics;
import io.kvrelay.api.RoutingScopeId;
import io.kvrelay.engine.testing.Json;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class IdentitiesTest {
  private static final Json VECTORS = Json.resource("/vectors/identity_vectors.json");
  private static final HexFormat HEX = HexFormat.of();

  @Test
  void materialAndDigestEqualEveryVector() {
    for (Json vector : VECTORS.get("digests")) {
      IdentityMaterial material = material(vector);
      String name = vector.get("name").text();
      assertThat(HEX.formatHex(material.toBytes()))
          .as(name)
          .isEqualTo(vector.get("material_hex").text())
          .hasSize(2 * vector.get("material_len").integer());
      assertThat(HEX.formatHex(material.blake3())).isEqualTo(vector.get("blake3_hex").text());
      assertThat(digest(vector)).hasToString(vector.get("digest_hex").text());
    }
  }

  @Test
  void digestsOfTheHashVectorsAgree() {
    for (Json vector : Json.resource("/vectors/hash_vectors.json").get("digests")) {
      Json inputs = vector.get("inputs");
      String actual =
          switch (vector.get("kind").text()) {
            case "cache_semantics_default" ->
                Identities.cacheSemantics(inputs.get("model_source").text(), semantics(inputs))
                    .digest()
                    .toString();
            case "cache_semantics_explicit" ->
                Identities.cacheSemantics(map(inputs.get("entries")), semantics(inputs))
                    .digest()
                    .toString();
            case "routing_scope_default" ->
                Identities.routingScope(endpoint(inputs)).digest().toString();
            case "routing_scope_explicit" ->
                Identities.routingScope(map(inputs.get("entries"))).digest().toString();
            default -> Identities.dcId(inputs.get("dc_name").text()).toString();
          };
      String expected = vector.has("expect_hex") ? "expect_hex" : "expect_hex16";
      assertThat(actual).isEqualTo(vector.get(expected).text());
    }
  }

  @Test
  void dcIdsEqualEveryVector() {
    for (Json vector : VECTORS.get("dc_ids")) {
      String name = vector.get("dc_name").text();
      assertThat(HEX.formatHex(Identities.dc(name).toBytes()))
          .isEqualTo(vector.get("material_hex").text());
      assertThat(Identities.dcId(name).value()).isEqualTo(vector.get("dc_id").u64());
      assertThat(Identities.dcId(name)).hasToString(vector.get("dc_id_hex").text());
    }
  }

  @Test
  void badDcNamesAreRefused() {
    for (Json name : VECTORS.get("dc_name_rejected")) {
      assertThatThrownBy(() -> Identities.dcId(name.text()))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("dcName = \"" + name.text() + "\"");
    }
  }

  @Test
  void residencyOwnerKeysEqualEveryVector() {
    for (Json vector : VECTORS.get("residency_owner_keys")) {
      Member member = new Member(vector.get("worker_id").u64(), vector.get("dp_rank").integer());
      assertThat(HEX.formatHex(Identities.residencyOwner(member).toBytes()))
          .isEqualTo(vector.get("material_hex").text());
      assertThat(Identities.residencyOwnerKey(member))
          .hasToString(vector.get("owner_key_hex").text());
    }
  }

  @Test
  void poolTextsEqualEveryVector() {
    for (Json vector : VECTORS.get("pool_id_text")) {
      PoolId pool =
          new PoolId(
              new IndexerDomainId(
                  (CacheSemanticsId) identity(named(vector.get("cache_semantics").text())),
                  (RoutingScopeId) identity(named(vector.get("routing_scope").text()))),
              Identities.dcId(vector.get("dc_name").text()));
      assertThat(pool).hasToString(vector.get("text").text());
    }
    Json literal = VECTORS.get("pool_id_text_literal").get(0);
    Digest ab = Digest.parse("ab".repeat(16));
    Digest one = Digest.parse("01".repeat(16));
    PoolId pool =
        new PoolId(
            new IndexerDomainId(
                new CacheSemanticsId(ab, IdentitySource.EXPLICIT),
                new RoutingScopeId(one, IdentitySource.EXPLICIT)),
            new DcId(1));
    assertThat(pool).hasToString(literal.get("text").text());
  }

  @Test
  void poolsAreOrderedLikeTheVector() {
    List<PoolId> ascending = new ArrayList<>();
    for (Json vector : VECTORS.get("pool_id_order").get("ascending")) {
      Json semantics = vector.get("cache_semantics");
      Json scope = vector.get("routing_scope");
      ascending.add(
          new PoolId(
              new IndexerDomainId(
                  new CacheSemanticsId(Digest.parse(semantics.get(0).text()), source(semantics)),
                  new RoutingScopeId(Digest.parse(scope.get(0).text()), source(scope))),
              new DcId(vector.get("dc_id").u64())));
    }
    List<PoolId> shuffled = new ArrayList<>(ascending);
    Collections.reverse(shuffled);
    Collections.sort(shuffled);
    assertThat(shuffled).isEqualTo(ascending).doesNotHaveDuplicates();
  }

  @Test
  void brokenExplicitMapsAreRefused() {
    for (Json vector : VECTORS.get("explicit_map_rejected")) {
      assertThatThrownBy(() -> decode(vector.get("json").text()))
          .as(vector.get("name").text())
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(
              switch (vector.get("error").text()) {
                case "empty" -> "entries = 0";
                case "empty_key" -> "key = \"\": must have 1..128";
                case "empty_value" -> "value of \"key\" = \"\": must have 1..1024";
                case "duplicate_key" -> "key = \"weights\": must not occur twice";
                case "key_too_long" -> "must have 1..128 UTF-8 bytes, has 1";
                case "value_too_long" -> "must have 1..1024 UTF-8 bytes, has 102";
                default -> "entries = 33: must be at most 32";
              });
    }
  }

  @Test
  void explicitMapsWithinTheLimitsAreAccepted() {
    for (Json vector : VECTORS.get("explicit_map_accepted")) {
      assertThat(decode(vector.get("json").text()).asMap()).isNotEmpty();
    }
    assertThat(decode("{\" k \":\" v \"}").asMap()).containsExactly(Map.entry(" k ", " v "));
  }

  @Test
  void explicitAndDefaultMaterialNeverMeet() {
    QuerySemantics semantics = new QuerySemantics(512, QueryHashFormat.DYNAMO_STANDARD_V1);
    QuerySemantics otherSize = new QuerySemantics(64, QueryHashFormat.DYNAMO_STANDARD_V1);
    QuerySemantics otherFormat = new QuerySemantics(512, QueryHashFormat.DYNAMO_EAGLE_V1);
    IdentityEntries entries = IdentityEntries.of(Map.of("model", "meta/llama"));
    List<Digest> digests =
        List.of(
            Identities.cacheSemantics("meta/llama", semantics).digest(),
            Identities.cacheSemantics("meta/llama", otherSize).digest(),
            Identities.cacheSemantics("meta/llama", otherFormat).digest(),
            Identities.cacheSemantics(entries, semantics).digest(),
            Identities.cacheSemantics(entries, otherSize).digest(),
            Identities.cacheSemantics(entries, otherFormat).digest());
    assertThat(digests).doesNotHaveDuplicates();
  }

  @Test
  void theOrderOfInsertionIsNoPartOfAnIdentity() {
    QuerySemantics semantics = new QuerySemantics(512, QueryHashFormat.DYNAMO_STANDARD_V1);
    List<String> keys =
        new ArrayList<>(List.of("b", "a", "ä", "zz", "\uFFFD", "\uD83D\uDE00", "ab"));
    Set<Digest> digests = new HashSet<>();
    for (int i = 0; i < 20; i++) {
      Collections.shuffle(keys, new Random(i));
      IdentityEntries.Builder entries = IdentityEntries.builder();
      keys.forEach(key -> entries.put(key, "value of " + key));
      digests.add(Identities.cacheSemantics(entries.build(), semantics).digest());
      digests.add(Identities.routingScope(entries.build()).digest());
    }
    assertThat(digests).hasSize(2);
  }

  @Test
  void explicitAndDefaultScopesNeverMeet() {
    EndpointId endpoint = new EndpointId("a", "b", "c");
    assertThat(
            List.of(
                Identities.routingScope(endpoint).digest(),
                Identities.routingScope(IdentityEntries.of(Map.of("a", "b"))).digest(),
                Identities.routingScope(
                        IdentityEntries.of(
                            Map.of("namespace", "a", "component", "b", "endpoint", "c")))
                    .digest()))
        .doesNotHaveDuplicates();
  }

  @Test
  void unpairedSurrogatesHaveNoIdentity() {
    assertThatThrownBy(() -> IdentityEntries.of(Map.of("k", "\udc00")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Identities.dcId("dc\ud800"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  /**
   * Puts entries one by one, as a decoder does; the test's own JSON reader would merge repeated
   * keys.
   */
  private static IdentityEntries decode(String json) {
    IdentityEntries.Builder builder = IdentityEntries.builder();
    String body = json.substring(1, json.length() - 1);
    for (String entry : body.isEmpty() ? new String[0] : body.split(",")) {
      Json pair = Json.parse("[" + entry.replace("\":\"", "\",\"") + "]");
      builder.put(pair.get(0).text(), pair.get(1).text());
    }
    return builder.build();
  }

  private static IdentityMaterial material(Json vector) {
    Json inputs = vector.get("inputs");
    boolean explicit = vector.get("source").text().equals("explicit");
    if (vector.get("kind").text().equals("cache_semantics")) {
      return explicit
          ? Identities.explicitSemantics(entries(inputs.get("entries")), semantics(inputs))
          : Identities.defaultSemantics(inputs.get("model_source_path").text(), semantics(inputs));
    }
    return explicit
        ? Identities.explicitScope(entries(inputs.get("entries")))
        : Identities.defaultScope(endpoint(inputs));
  }

  private static Object identity(Json vector) {
    Json inputs = vector.get("inputs");
    boolean explicit = vector.get("source").text().equals("explicit");
    if (vector.get("kind").text().equals("cache_semantics")) {
      return explicit
          ? Identities.cacheSemantics(entries(inputs.get("entries")), semantics(inputs))
          : Identities.cacheSemantics(inputs.get("model_source_path").text(), semantics(inputs));
    }
    return explicit
        ? Identities.routingScope(entries(inputs.get("entries")))
        : Identities.routingScope(endpoint(inputs));
  }

  private static Digest digest(Json vector) {
    Object identity = identity(vector);
    IdentitySource source =
        IdentitySource.valueOf(vector.get("source").text().toUpperCase(Locale.ROOT));
    if (identity instanceof CacheSemanticsId semantics) {
      assertThat(semantics.source()).isEqualTo(source);
      return semantics.digest();
    }
    assertThat(((RoutingScopeId) identity).source()).isEqualTo(source);
    return ((RoutingScopeId) identity).digest();
  }

  private static Json named(String name) {
    for (Json vector : VECTORS.get("digests")) {
      if (vector.get("name").text().equals(name)) {
        return vector;
      }
    }
    throw new AssertionError("no vector " + name);
  }

  private static IdentityEntries entries(Json pairs) {
    IdentityEntries.Builder builder = IdentityEntries.builder();
    pairs.forEach(pair -> builder.put(pair.get(0).text(), pair.get(1).text()));
    return builder.build();
  }

  private static IdentityEntries map(Json object) {
    IdentityEntries.Builder builder = IdentityEntries.builder();
    object.keys().forEach(key -> builder.put(key, object.get(key).text()));
    return builder.build();
  }

  private static EndpointId endpoint(Json inputs) {
    return new EndpointId(
        inputs.get("namespace").text(),
        inputs.get("component").text(),
        inputs.get("endpoint").text());
  }

  private static QuerySemantics semantics(Json inputs) {
    boolean newNames = inputs.has("kv_block_size");
    int format = inputs.get(newNames ? "hash_format_version" : "hash_format").integer();
    return new QuerySemantics(
        inputs.get(newNames ? "kv_block_size" : "block_size").integer(),
        format == 1 ? QueryHashFormat.DYNAMO_STANDARD_V1 : QueryHashFormat.DYNAMO_EAGLE_V1);
  }

  private static IdentitySource source(Json pair) {
    return IdentitySource.valueOf(pair.get(1).text().toUpperCase(Locale.ROOT));
  }
}
