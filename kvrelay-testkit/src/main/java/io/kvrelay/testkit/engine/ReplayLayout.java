package io.kvrelay.testkit.engine;

/** How an engine lays out the frames of a replay. */
public enum ReplayLayout {
  /** Delimiter, sequence, payload. vLLM before 0.26, SGLang. */
  WITHOUT_TOPIC,
  /** Delimiter, topic, sequence, payload. vLLM from 0.26 on, TensorRT-LLM. */
  WITH_TOPIC
}
