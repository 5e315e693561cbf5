/**
 * KV-cache events straight from inference engines: the ZeroMQ streams of vLLM, SGLang and
 * TensorRT-LLM, and what they mean to a relay. See {@code docs/engine-events.md}.
 */
@NullMarked
package io.kvrelay.events.zmq;

import org.jspecify.annotations.NullMarked;
