package io.kvrelay.testkit.engine;

/** The wire generations in which engines publish. */
public enum EngineWire {
  /** vLLM of spring 2025: batches of two elements, events as short arrays. */
  VLLM_SHORT_ARRAYS,
  /** vLLM up to June 2026: events as arrays with every field, trailing ones as nil. */
  VLLM_ARRAYS,
  /** vLLM since: events as maps that leave defaults out. */
  VLLM_MAPS,
  /** SGLang: arrays with signed hashes; a salt is a map in the eighth element. */
  SGLANG_ARRAYS,
  /** SGLang since autumn 2026: maps, a salt under {@code metadata}. */
  SGLANG_MAPS,
  /** TensorRT-LLM's stream: maps, multimodal keys in a field of their own. */
  TRTLLM_MAPS;

  /** Whether hashes are signed and begin, not end, with the digest's 8 bytes. */
  boolean isSglang() {
    return this == SGLANG_ARRAYS || this == SGLANG_MAPS;
  }

  boolean hasMaps() {
    return this == VLLM_MAPS || this == SGLANG_MAPS || this == TRTLLM_MAPS;
  }
}
