package io.kvrelay.transport.grpc;

import io.grpc.Codec;
import java.lang.System.Logger.Level;
import org.jspecify.annotations.Nullable;

/** Finds out once whether the optional zstd library is there and its native part loads. */
final class ZstdSupport {
  private static final System.Logger LOG = System.getLogger(ZstdSupport.class.getName());
  private static final @Nullable Codec CODEC = load();

  private ZstdSupport() {}

  static @Nullable Codec codec() {
    return CODEC;
  }

  private static @Nullable Codec load() {
    try {
      return ZstdCodec.create();
    } catch (NoClassDefFoundError absent) {
      return null;
    } catch (UnsatisfiedLinkError | ExceptionInInitializerError broken) {
      LOG.log(Level.WARNING, "zstd is on the class path but does not load; going without", broken);
      return null;
    }
  }
}
