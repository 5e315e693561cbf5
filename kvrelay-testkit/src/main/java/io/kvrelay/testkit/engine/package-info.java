/**
 * An inference engine as its KV-cache event stream shows it, without sockets: a simulator that
 * writes every wire generation of vLLM, SGLang and TensorRT-LLM and answers replays, and a
 * controller of faults for what lies between it and its reader.
 */
@NullMarked
package io.kvrelay.testkit.engine;

import org.jspecify.annotations.NullMarked;
