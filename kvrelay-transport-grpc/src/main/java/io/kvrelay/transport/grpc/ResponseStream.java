package io.kvrelay.transport.grpc;

/** The sending side of an admitted stream, as its call sees it. */
interface ResponseStream {
  /** The transport can take a message. */
  void onReady();

  /** The call is over, however it ended. Comes exactly once, last. */
  void onDropped();

  /** The export shuts down: ends the stream without an error. */
  void finish();
}
