package io.kvrelay.transport.grpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor.Marshaller;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** How messages become bytes and bytes become messages. */
final class WireMarshallers {
  private WireMarshallers() {}

  /**
   * Reads messages. The bytes are taken out of the transport once; byte fields share the array they
   * were read into.
   */
  static <T extends MessageLite> Marshaller<Received<T>> reading(Parser<T> parser) {
    return new Marshaller<>() {
      @Override
      public InputStream stream(Received<T> value) {
        T message = value.message();
        return new ByteArrayInputStream(message == null ? new byte[0] : message.toByteArray());
      }

      @Override
      public Received<T> parse(InputStream stream) {
        try {
          CodedInputStream in = UnsafeByteOperations.unsafeWrap(bytes(stream)).newCodedInput();
          in.enableAliasing(true);
          T message = parser.parseFrom(in);
          in.checkLastTagWas(0);
          return new Received<>(message, null);
        } catch (IOException e) {
          // Not this message, or bytes that do not decompress: the stream itself is in memory.
          return new Received<>(null, e);
        }
      }
    };
  }

  /** Straight into one array where the length is known, as it is unless a codec is at work. */
  private static byte[] bytes(InputStream stream) throws IOException {
    if (!(stream instanceof KnownLength)) {
      return stream.readAllBytes();
    }
    byte[] bytes = new byte[stream.available()];
    int read = stream.readNBytes(bytes, 0, bytes.length);
    return read == bytes.length ? bytes : Arrays.copyOf(bytes, read);
  }

  /** Writes pool messages. */
  static Marshaller<FilterMessage> filterMessages() {
    return new Marshaller<>() {
      @Override
      public InputStream stream(FilterMessage value) {
        return new FilterMessage.Bytes(value);
      }

      @Override
      public FilterMessage parse(InputStream stream) {
        throw new UnsupportedOperationException("a server does not read its own responses");
      }
    };
  }
}
