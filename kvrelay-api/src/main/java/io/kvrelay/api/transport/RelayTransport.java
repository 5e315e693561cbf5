package io.kvrelay.api.transport;

import io.kvrelay.api.RelayPublicationSource;
import java.net.URI;
import java.util.concurrent.CompletionStage;

/**
 * Carries a {@link RelayPublicationSource} from where it is to where it is consumed. Both sides
 * speak the same interface, so transports can be exchanged and chained. Implementations are found
 * with {@link java.util.ServiceLoader} by URI scheme; see {@link RelayTransports}. Thread safe.
 */
public interface RelayTransport {
  /**
   * The URI scheme this transport serves.
   *
   * @return lower-case scheme without the colon
   */
  String scheme();

  /**
   * Serves a source. Returns once it can be connected to. The source stays the caller's: closing
   * the export ends its streams and nothing else.
   *
   * @param source what to serve
   * @param address where; the transport documents the form
   * @param options settings
   * @return the running export
   * @throws io.kvrelay.api.RelayException with {@code ADDRESS_UNAVAILABLE} if the address is taken
   *     or unusable, with {@code INVALID_CONFIGURATION} if a setting or the address is malformed
   */
  RelayExport export(RelayPublicationSource source, URI address, ExportOptions options);

  /**
   * Connects to an exported source. The stage completes when the relay's identity and its first
   * catalog have arrived, and fails with a {@link io.kvrelay.api.RelayException} if that cannot be
   * had. The connector opens one remote stream per subscription, keeps no mirror and never
   * subscribes again by itself. A new incarnation of the remote relay ends all streams of the
   * connected source as unavailable; connect again to follow it.
   *
   * @param address where
   * @param options settings
   * @return a stage with the mirrored source
   */
  CompletionStage<ConnectedSource> connect(URI address, ConnectOptions options);
}
