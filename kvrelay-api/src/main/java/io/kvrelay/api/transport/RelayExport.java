package io.kvrelay.api.transport;

import java.net.URI;
import org.jspecify.annotations.Nullable;

/** A source that is being served. Thread safe. */
public interface RelayExport extends AutoCloseable {
  /**
   * The address to connect to, with whatever the transport chose (such as a port) filled in.
   *
   * @return the address
   */
  URI address();

  /**
   * Whether it is serving now.
   *
   * @return true from the export's creation until it is closed or has failed
   */
  boolean isServing();

  /**
   * What ended it, if that was not {@link #close()}.
   *
   * @return the failure, or null
   */
  @Nullable Throwable lastError();

  /** Ends every stream and frees the address. Idempotent; does not wait for slow peers. */
  @Override
  void close();
}
