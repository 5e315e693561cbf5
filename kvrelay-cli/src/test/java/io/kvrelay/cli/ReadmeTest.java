package io.kvrelay.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvrelay.api.KvEvent;
import io.kvrelay.api.Member;
import io.kvrelay.api.QueryHashFormat;
import io.kvrelay.engine.hash.BlockHasher;
import io.kvrelay.engine.hash.BlockSalt;
import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The README's Java is compiled and run as it stands there. */
class ReadmeTest {
  private static final Path README = Path.of("..", "README.md");
  private static final Pattern JAVA = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  /** The prompt that the worker has cached, and that the router is asked about. */
  private static final int[] TOKENS = new int[64];

  @TempDir private Path classes;

  @Test
  void theTenLinesRouteARequest() throws Exception {
    String lines = snippet();
    assertThat(lines.lines().filter(line -> !line.isBlank() && !line.startsWith("//")))
        .as("code lines")
        .hasSizeLessThanOrEqualTo(10);
    compile(
        """
        import io.kvrelay.api.*;
        import io.kvrelay.api.runtime.*;
        import io.kvrelay.api.transport.*;
        import io.kvrelay.engine.relay.*;
        import io.kvrelay.engine.routing.*;
        import io.kvrelay.engine.view.*;
        import java.net.URI;
        import java.util.function.BiFunction;

        public final class Readme implements BiFunction<KvEvent, int[], Object> {
          public Object apply(KvEvent event, int[] tokens) {
        """
            + lines
            + """
                // What the README leaves to the reader: wait until the event has arrived, and close.
                long giveUp = System.nanoTime() + 30_000_000_000L;
                while (decision.chosen().map(c -> c.candidate().reusableTokens()).orElse(0L) < tokens.length) {
                  if (System.nanoTime() > giveUp) {
                    throw new IllegalStateException(decision.explain());
                  }
                  Thread.onSpinWait();
                  decision = router.route(PrefixRequest.of("llama", tokens));
                }
                view.close();
                relay.close();
                runtime.close();
                return decision.explain();
              }
            }
            """);
    URL[] path = {classes.toUri().toURL()};
    try (URLClassLoader loader = new URLClassLoader(path, getClass().getClassLoader())) {
      Object readme = loader.loadClass("Readme").getConstructor().newInstance();
      @SuppressWarnings("unchecked") // it is what was compiled above
      BiFunction<KvEvent, int[], Object> run = (BiFunction<KvEvent, int[], Object>) readme;
      assertThat(run.apply(stored(), TOKENS)).asString().startsWith("PREFIX").contains("CHOSEN");
    }
  }

  private static String snippet() throws IOException {
    Matcher block = JAVA.matcher(Files.readString(README));
    assertThat(block.find()).as("a java block in " + README).isTrue();
    return block.group(1);
  }

  private static KvEvent stored() {
    BlockHasher hasher = new BlockHasher(16, QueryHashFormat.DYNAMO_STANDARD_V1);
    long[] locals = new long[4];
    hasher.localHashes(TOKENS, 0, TOKENS.length, BlockSalt.NONE, locals, 0);
    return KvEvent.stored(new Member(1, 0), 0, new long[] {11, 12, 13, 14}, locals).build();
  }

  private void compile(String source) {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter messages = new StringWriter();
    List<String> options =
        List.of("-d", classes.toString(), "-cp", System.getProperty("java.class.path"));
    boolean compiled =
        compiler.getTask(messages, null, null, options, null, List.of(new Source(source))).call();
    assertThat(compiled).as(messages + "\n" + source).isTrue();
  }

  private static final class Source extends SimpleJavaFileObject {
    private final String text;

    Source(String text) {
      super(URI.create("string:///Readme.java"), JavaFileObject.Kind.SOURCE);
      this.text = text;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }
  }
}
