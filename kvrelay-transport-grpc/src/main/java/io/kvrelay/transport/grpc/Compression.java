package io.kvrelay.transport.grpc;

import io.grpc.Codec;
import io.grpc.CompressorRegistry;
import io.grpc.DecompressorRegistry;
import io.grpc.ServerCall;
import org.jspecify.annotations.Nullable;

/**
 * The codecs of a connection. Identity always works; zstd joins it when its library is on the class
 * path and it is not switched off. A codec is used only towards a peer that advertises it.
 */
final class Compression {
  private final CompressorRegistry compressors = CompressorRegistry.newEmptyInstance();
  private final DecompressorRegistry decompressors;
  private final @Nullable String offered;

  private Compression(@Nullable Codec codec) {
    compressors.register(Codec.Identity.NONE);
    DecompressorRegistry identityOnly =
        DecompressorRegistry.emptyInstance().with(Codec.Identity.NONE, false);
    if (codec == null) {
      decompressors = identityOnly;
      offered = null;
    } else {
      compressors.register(codec);
      decompressors = identityOnly.with(codec, true);
      offered = codec.getMessageEncoding();
    }
  }

  static Compression identity() {
    return new Compression(null);
  }

  static Compression detected() {
    return new Compression(ZstdSupport.codec());
  }

  CompressorRegistry compressors() {
    return compressors;
  }

  DecompressorRegistry decompressors() {
    return decompressors;
  }

  /** Whether zstd takes part. */
  boolean isZstd() {
    return offered != null;
  }

  /** Before headers: gRPC drops the offer unless the client advertises the codec. */
  void offerOn(ServerCall<?, ?> call) {
    if (offered != null) {
      call.setCompression(offered);
    }
  }
}
