package io.kvrelay.events.zmq;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Which inference engine a source belongs to. All of them share one wire format in its generations;
 * the kind decides only where the format leaves a meaning open.
 */
public enum EngineKind {
  /** vLLM. */
  VLLM,
  /** SGLang: the batch's rank field does not identify a rank of plain data parallelism. */
  SGLANG,
  /** TensorRT-LLM: adapter id 0 stands for the base model. */
  TRTLLM;

  /**
   * The kind with a configured name.
   *
   * @param name {@code vllm}, {@code sglang} or {@code trtllm}
   * @return the kind, or null if there is none
   */
  public static @Nullable EngineKind ofName(String name) {
    for (EngineKind kind : values()) {
      if (kind.configName().equals(name)) {
        return kind;
      }
    }
    return null;
  }

  /**
   * The name in a configuration.
   *
   * @return the name
   */
  public String configName() {
    return name().toLowerCase(Locale.ROOT);
  }
}
