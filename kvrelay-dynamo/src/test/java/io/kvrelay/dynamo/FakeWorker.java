package io.kvrelay.dynamo;

import io.kvrelay.api.EndpointId;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * A worker made by hand: its records in a store's folder, a publisher for each topic, and a query
 * endpoint whose answers a test writes byte by byte.
 */
final class FakeWorker implements AutoCloseable {
  static final EndpointId SERVING = EndpointId.parse("dynamo.backend.generate");

  final long id;
  final long publisher;
  private final Path root;
  private final ZContext context = new ZContext(1);
  private final ZMQ.Socket events;
  private final ZMQ.Socket load;
  private final int eventsPort;
  private final int loadPort;
  private final ServerSocket queries;
  private final BlockingQueue<Question> questions = new LinkedBlockingQueue<>();
  private final List<Path> files = new java.util.ArrayList<>();
  private long sequence;

  /** A question that arrived, not yet acknowledged. */
  static final class Question {
    final String path;
    final Map<String, Object> control;
    final byte[] body;
    private final Socket socket;
    private Socket answer;

    private Question(String path, Map<String, Object> control, byte[] body, Socket socket) {
      this.path = path;
      this.control = control;
      this.body = body;
      this.socket = socket;
    }

    String subject() throws MalformedException {
      return info().text("subject");
    }

    private JsonObject info() throws MalformedException {
      String text = (String) ((Map<?, ?>) control.get("connection_info")).get("info");
      return Json.parseObject(text.getBytes(StandardCharsets.UTF_8));
    }

    void acknowledge(String text) throws IOException {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      OutputStream out = socket.getOutputStream();
      out.write(java.nio.ByteBuffer.allocate(4).putInt(bytes.length).array());
      out.write(bytes);
      out.flush();
    }

    /** Dials back and says hello. */
    Question callBack() throws Exception {
      return callBack(subject());
    }

    Question dial() throws Exception {
      String[] address = info().text("address").split(":", 2);
      answer = new Socket(address[0], Integer.parseInt(address[1]));
      return this;
    }

    Question callBack(String subject) throws Exception {
      return dial().say("{\"subject\":\"" + subject + "\",\"stream_type\":\"response\"}", "");
    }

    Question say(String header, String body) throws IOException {
      return say(header, body.getBytes(StandardCharsets.UTF_8));
    }

    Question say(String header, byte[] body) throws IOException {
      answer
          .getOutputStream()
          .write(QueryMessages.twoPart(header.getBytes(StandardCharsets.UTF_8), body));
      return this;
    }

    Question raw(byte[] bytes) throws IOException {
      answer.getOutputStream().write(bytes);
      return this;
    }

    /** The whole of an answer with one value, in the request's own encoding. */
    void answer(String json) throws Exception {
      acknowledge("");
      callBack().say("{\"error\":null}", "");
      value("{\"data\":" + json + ",\"complete_final\":false}");
      value("{\"complete_final\":true}");
      say("\"sentinel\"", "");
    }

    Question value(String json) throws Exception {
      byte[] text = json.getBytes(StandardCharsets.UTF_8);
      return say(
          "",
          "msgpack".equals(control.get("payload_codec")) ? JsonToMessagePack.convert(text) : text);
    }

    /** Waits for the relay to close the answer's connection. */
    boolean isClosedByRelay() throws IOException {
      answer.setSoTimeout(10_000);
      try {
        return answer.getInputStream().read() < 0;
      } catch (java.net.SocketTimeoutException e) {
        return false;
      } catch (IOException reset) {
        return true;
      }
    }

    void hangUp() throws IOException {
      answer.close();
    }
  }

  FakeWorker(Path root, long id, long publisher) throws IOException {
    this.root = root;
    this.id = id;
    this.publisher = publisher;
    this.events = context.createSocket(SocketType.XPUB);
    this.load = context.createSocket(SocketType.XPUB);
    this.eventsPort = events.bindToRandomPort("tcp://127.0.0.1");
    this.loadPort = load.bindToRandomPort("tcp://127.0.0.1");
    this.queries = new ServerSocket();
    queries.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    Thread thread = new Thread(this::serve, "fake-worker");
    thread.setDaemon(true);
    thread.start();
  }

  private void serve() {
    while (!queries.isClosed()) {
      try {
        Socket socket = queries.accept();
        DataInputStream in = new DataInputStream(socket.getInputStream());
        String path = new String(in.readNBytes(in.readUnsignedShort()), StandardCharsets.UTF_8);
        in.readNBytes(in.readUnsignedShort());
        in.readInt();
        TwoPart payload = TwoPart.read(in, 1 << 20);
        questions.add(
            new Question(path, Json.parseObject(payload.header()).tree(), payload.body(), socket));
      } catch (IOException e) {
        // closed, or nobody we know
      } catch (MalformedException e) {
        throw new AssertionError(e);
      }
    }
  }

  Question nextQuestion() throws InterruptedException {
    Question question = questions.poll(20, TimeUnit.SECONDS);
    if (question == null) {
      throw new AssertionError("no question within 20 s");
    }
    return question;
  }

  RecoveryTarget target(RecoveryTarget.Codec codec) {
    return new RecoveryTarget("127.0.0.1", queries.getLocalPort(), "some/path", codec);
  }

  // ------------------------------------------------------------------------------------- records

  void register() throws IOException {
    card("");
    instance();
    channels();
    source();
  }

  void card(String runtime) throws IOException {
    card(16, runtime);
  }

  void card(int blockSize, String runtime) throws IOException {
    record(
        "mdc",
        "dynamo/backend/generate/" + Long.toHexString(id),
        "{\"type\":\"Model\",\"namespace\":\"dynamo\",\"component\":\"backend\",\"endpoint\":"
            + "\"generate\",\"instance_id\":"
            + Long.toUnsignedString(id)
            + ",\"card_json\":{\"display_name\":\"m\",\"kv_cache_block_size\":"
            + blockSize
            + ",\"model_type\":"
            + "\"Chat\",\"runtime_config\":{\"total_kv_blocks\":100"
            + runtime
            + "}}}");
  }

  void instance() throws IOException {
    record(
        "instances",
        "dynamo/backend/generate/" + Long.toHexString(id),
        "{\"type\":\"Endpoint\",\"namespace\":\"dynamo\",\"component\":\"backend\",\"endpoint\":"
            + "\"generate\",\"instance_id\":"
            + Long.toUnsignedString(id)
            + ",\"transport\":{\"tcp\":\"127.0.0.1:"
            + queries.getLocalPort()
            + "/x\"}}");
  }

  void channels() throws IOException {
    channel("kv-events", publisher, eventsPort);
    channel("kv_metrics", publisher + 1, loadPort);
  }

  void channel(String topic, long speaker, int port) throws IOException {
    record(
        "event_channels",
        scopePath() + "/topic/" + topic + "/" + Long.toHexString(speaker),
        "{\"type\":\"EventChannel\","
            + scope()
            + ",\"topic\":\""
            + topic
            + "\",\"instance_id\":"
            + speaker
            + ",\"transport\":{\"kind\":\"Zmq\",\"config\":{\"endpoint\":\"tcp://127.0.0.1:"
            + port
            + "\"}}}");
  }

  void source() throws IOException {
    source(publisher);
  }

  Path source(long speaker) throws IOException {
    return record(
        "event_sources",
        scopePath() + "/topic/kv-events/" + Long.toHexString(speaker),
        "{\"type\":\"EventSource\","
            + scope()
            + ",\"topic\":\"kv-events\",\"publisher_id\":"
            + speaker
            + ",\"metadata\":{\"kv_state_endpoint\":{\"namespace\":\"dynamo\",\"component\":"
            + "\"backend\",\"name\":\"generate\"},\"worker\":{\"worker_id\":"
            + Long.toUnsignedString(id)
            + ",\"dp_rank\":0},\"publisher_id\":"
            + speaker
            + ",\"recovery_target\":{\"transport\":{\"tcp\":\"127.0.0.1:"
            + queries.getLocalPort()
            + "/some/path\"},\"request_plane_codec\":\"msgpack\"}}}");
  }

  private static String scopePath() {
    return "namespace/dynamo/component/backend/endpoint/generate";
  }

  private static String scope() {
    return "\"scope\":{\"kind\":\"endpoint\",\"endpoint\":{\"namespace\":\"dynamo\",\"component\":"
        + "\"backend\",\"name\":\"generate\"}}";
  }

  /** Writes a record as workers do: aside first, then under its name. */
  Path record(String bucket, String key, String json) throws IOException {
    Path folder = root.resolve("v1").resolve(bucket);
    Files.createDirectories(folder);
    Path aside = Files.writeString(folder.resolve(".tmp_" + System.nanoTime()), json);
    Path file = folder.resolve(Segments.encodeFileName(key));
    Files.move(
        aside,
        file,
        java.nio.file.StandardCopyOption.ATOMIC_MOVE,
        java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    files.add(file);
    return file;
  }

  void unregister() {
    for (Path file : files) {
      try {
        Files.deleteIfExists(file);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  // -------------------------------------------------------------------------------------- events

  /** Sends frames as they are. */
  void publish(List<byte[]> frames) {
    send(events, frames);
  }

  private static void send(ZMQ.Socket socket, List<byte[]> frames) {
    for (int i = 0; i < frames.size(); i++) {
      socket.send(frames.get(i), i + 1 < frames.size() ? ZMQ.SNDMORE : 0);
    }
  }

  void publishEvents(long... ids) {
    publish(Published.frames("kv-events", publisher, sequence++, Published.batch(id, 0, ids)));
  }

  void skipSequence() {
    sequence++;
  }

  /** Waits until somebody listens to the load. */
  void awaitLoadSubscriber() {
    awaitSubscriber(load);
  }

  /** Waits until somebody listens to the events. */
  void awaitEventSubscriber() {
    awaitSubscriber(events);
  }

  private static void awaitSubscriber(ZMQ.Socket socket) {
    socket.setReceiveTimeOut(20_000);
    if (socket.recv() == null) {
      throw new AssertionError("nobody subscribed within 20 s");
    }
  }

  void publishLoad(byte[] payload, long number) {
    send(load, Published.frames("kv_metrics", publisher + 1, number, payload));
  }

  /** Ends without a word, as a crash does; records stay. */
  void vanish() throws IOException {
    queries.close();
    context.close();
  }

  static byte[] concat(byte[]... parts) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      out.writeBytes(part);
    }
    return out.toByteArray();
  }

  @Override
  public void close() throws IOException {
    unregister();
    vanish();
  }
}
