package io.kvrelay.api.deployment;

import io.kvrelay.api.EndpointId;
import java.util.concurrent.Flow;

/** Provider interface: where load reports come from. Thread safe. */
public interface LoadReportSource {
  /** Nobody reports anything. */
  LoadReportSource NONE =
      endpoint ->
          subscriber ->
              subscriber.onSubscribe(
                  new Flow.Subscription() {
                    @Override
                    public void request(long n) {}

                    @Override
                    public void cancel() {}
                  });

  /**
   * Streams the reports of one endpoint's ranks, in order per rank. A provider that cannot tell
   * whether it missed reports fails the stream: the relay then forgets what it knew and subscribes
   * again.
   *
   * @param servingEndpoint the endpoint
   * @return a publisher that does not replay; {@code subscribe} does not block
   */
  Flow.Publisher<LoadReport> reports(EndpointId servingEndpoint);
}
