package io.kvrelay.transport.grpc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.TextFormat;
import io.kvrelay.transport.grpc.WireFault.Kind;
import io.kvrelay.transport.grpc.v1.DigestIdentity;
import io.kvrelay.transport.grpc.v1.IndexerDomainId;
import io.kvrelay.transport.grpc.v1.KvPoolId;
import io.kvrelay.transport.grpc.v1.ModelTarget;
import io.kvrelay.transport.grpc.v1.Relay;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Messages of the contract byte by byte. */
class EnvelopeVectorsTest {
  private static final Map<String, Kind> RULES =
      Map.of(
          "UnsupportedModelTarget", Kind.UNSUPPORTED_MODEL_TARGET,
          "IdentitySource", Kind.IDENTITY_SOURCE,
          "DigestLength", Kind.DIGEST_LENGTH);

  record Vector(
      String name, String message, ByteString bytes, String text, String rule, String unsup) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Vector> vectors() {
    try (InputStream in = EnvelopeVectorsTest.class.getResourceAsStream("/vectors/envelope.tsv")) {
      return new String(Objects.requireNonNull(in).readAllBytes(), UTF_8)
          .lines()
          .filter(line -> !line.startsWith("#"))
          .map(EnvelopeVectorsTest::parse);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Vector parse(String line) {
    String[] columns = line.split("\t", -1);
    String hex = columns[2].equals("-") ? "" : columns[2];
    String text = columns[3].equals("-") ? "" : columns[3];
    return new Vector(
        columns[0], columns[1], ByteString.fromHex(hex), text, columns[4], columns[5]);
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void bytesMeanWhatTheTextSaysAndBack(Vector vector) throws Exception {
    Descriptor type = Relay.getDescriptor().findMessageTypeByName(vector.message());
    DynamicMessage decoded = DynamicMessage.parseFrom(type, vector.bytes());
    if (decoded.getUnknownFields().asMap().isEmpty()) {
      assertThat(normal(decoded)).isEqualTo(expected(type, vector.text()));
    }
    assertThat(decoded.toByteString()).isEqualTo(vector.bytes());
  }

  /** The text of a message, with enum numbers that have no name as the vectors show them. */
  private static String normal(Message message) {
    return TextFormat.printer()
        .printToString(message)
        .replaceAll("UNKNOWN_ENUM_VALUE_IdentitySource_", "");
  }

  private static String expected(Descriptor type, String text) throws Exception {
    Matcher number = Pattern.compile("source: (-?[0-9]+)").matcher(text);
    DynamicMessage.Builder message = DynamicMessage.newBuilder(type);
    if (!number.find()) {
      TextFormat.merge(text, message);
      return normal(message.build());
    }
    // The text parser knows only numbers with a name.
    String line = number.group();
    TextFormat.merge(text.replace(line, ""), message);
    return normal(message.build()) + line + "\n";
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void faultyOnesBreakTheRuleTheyAreMeantTo(Vector vector) throws Exception {
    WireFault fault =
        switch (vector.message()) {
          case "ModelTarget" -> WireValidator.target(ModelTarget.parseFrom(vector.bytes()));
          case "DigestIdentity" ->
              WireValidator.poolId(
                  KvPoolId.newBuilder()
                      .setIdentityVersion(1)
                      .setIndexerDomain(
                          IndexerDomainId.newBuilder()
                              .setCacheSemantics(DigestIdentity.parseFrom(vector.bytes())))
                      .build());
          default -> null;
        };
    if (vector.rule().equals("-")) {
      assertThat(fault).isNull();
      return;
    }
    assertThat(fault).isNotNull();
    assertThat(fault.kind()).isEqualTo(RULES.get(vector.rule().replaceAll("\\(.*", "")));
    assertThat(fault.unsupported()).isEqualTo(Boolean.parseBoolean(vector.unsup()));
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void topLevelMessagesPassTheEnvelopeCheck(Vector vector) throws Exception {
    Descriptor type = Relay.getDescriptor().findMessageTypeByName(vector.message());
    var marker = type.findFieldByName("contract_marker");
    var version = type.findFieldByName("protocol_version");
    if (marker == null || version == null) {
      return;
    }
    Message message = DynamicMessage.parseFrom(type, vector.bytes());
    assertThat(
            WireValidator.envelope(
                (Integer) message.getField(marker), (Integer) message.getField(version)))
        .isNull();
  }
}
