package io.kvrelay.transport.grpc;

import com.github.luben.zstd.RecyclingBufferPool;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import com.github.luben.zstd.util.Native;
import io.grpc.Codec;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** zstd as a gRPC codec. Touch it only through {@link ZstdSupport}: its library is optional. */
final class ZstdCodec implements Codec {
  /** Fast: an almost empty filter shrinks a hundredfold at any level, a full one at none. */
  private static final int LEVEL = 1;

  private ZstdCodec() {}

  static ZstdCodec create() {
    Native.load();
    return new ZstdCodec();
  }

  @Override
  public String getMessageEncoding() {
    return "zstd";
  }

  @Override
  public OutputStream compress(OutputStream out) throws IOException {
    return new ZstdOutputStreamNoFinalizer(out, RecyclingBufferPool.INSTANCE, LEVEL);
  }

  @Override
  public InputStream decompress(InputStream in) throws IOException {
    return new ZstdInputStreamNoFinalizer(in, RecyclingBufferPool.INSTANCE);
  }
}
