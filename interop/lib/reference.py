"""A reference deployment on loopback, without a GPU: mock engines, a frontend, its relay."""
import json
import os
import random
import shutil
import sys
import time
import urllib.error
import urllib.request

import wire
from processes import free_ports, wait_until

BLOCK_SIZE = 16
MODEL = "mock"
VOCABULARY = 4000
# Ids of the special tokens; word k has id k + 3.
SPECIAL = {"[bos]": 0, "[eos]": 1, "[unk]": 2}


def write_model(directory):
    """A model whose tokenizer maps the word "k" to token k + 3, so that prompts' ids are known."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    os.makedirs(directory, exist_ok=True)
    ids = dict(SPECIAL)
    ids.update((str(k), k + len(SPECIAL)) for k in range(VOCABULARY))
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[unk]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(os.path.join(directory, "tokenizer.json"))
    files = {
        "config.json": {
            "model_type": "llama", "architectures": ["LlamaForCausalLM"],
            "vocab_size": len(ids), "bos_token_id": 0, "eos_token_id": 1,
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
            "num_attention_heads": 2, "num_key_value_heads": 2,
            "max_position_embeddings": 16384, "rms_norm_eps": 1e-6, "torch_dtype": "float16"},
        "generation_config.json": {"bos_token_id": 0, "eos_token_id": 1},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 16384,
            "bos_token": "[bos]", "eos_token": "[eos]", "unk_token": "[unk]",
            "chat_template": "{% for message in messages %}{{ message.content }} {% endfor %}"},
    }
    for name, content in files.items():
        with open(os.path.join(directory, name), "w") as file:
            json.dump(content, file)


class Deployment:
    """One data center of the reference. Ports and files are its own."""

    def __init__(self, processes, directory, dc="reference", workers=2, blocks=4096,
                 expected_blocks=50_000, engine="vllm"):
        self.processes = processes
        self.directory = directory
        self.workers = workers
        self.engine = engine
        self.blocks = blocks
        self.expected_blocks = expected_blocks
        self.dc = dc
        self.started = []
        ports = free_ports(2 + 2 * workers)
        self.http_port, self.grpc_port = ports[:2]
        self.event_ports = ports[2:2 + workers]
        self.replay_ports = ports[2 + workers:]
        self.address = f"127.0.0.1:{self.grpc_port}"

    def prepare(self):
        """A fresh folder with a model and an empty store; returns the store."""
        shutil.rmtree(self.directory, ignore_errors=True)
        model = os.path.join(self.directory, "model")
        write_model(model)
        store = os.path.join(self.directory, "discovery")
        os.makedirs(store)
        self.env = {
            "DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": store,
            "DYN_REQUEST_PLANE": "tcp", "DYN_EVENT_PLANE": "zmq",
            "DYN_TCP_RPC_HOST": "127.0.0.1", "DYN_EVENT_PLANE_HOST": "127.0.0.1",
            "DYN_TCP_RESPONSE_STREAM_HOST": "127.0.0.1", "DYN_SYSTEM_HOST": "127.0.0.1",
            "DYN_SDK_DISABLE_ANSI_LOGGING": "1", "HF_HUB_OFFLINE": "1"}
        return store

    def start(self):
        self.prepare()
        engine = self.module(
            "engine", "dynamo.mocker", "--model-path", os.path.join(self.directory, "model"),
            "--model-name", MODEL,
            "--engine-type", self.engine, "--block-size", BLOCK_SIZE,
            "--num-gpu-blocks-override", self.blocks, "--speedup-ratio", 100,
            "--num-workers", self.workers,
            "--zmq-kv-events-ports", ",".join(map(str, self.event_ports)),
            "--zmq-replay-ports", ",".join(map(str, self.replay_ports)))
        alive = [engine] + self.start_relay_and_frontend()
        wait_until("model at the reference's frontend", self.lists_model, 90, alive)
        client = wire.Client(self.address)
        wait_until("pool of the reference relay", lambda: ready(client), 60, alive)
        # One request each, so that every worker is known to the frontend and warm.
        for _ in range(self.workers):
            wait_until("answer of the reference", self._answers, 30, alive)
        client.close()
        return self

    def start_relay_and_frontend(self):
        relay = self.module(
            "relay", "dynamo.kv_dc_relay", "--dc-id", self.dc, "--watch-all",
            "--expected-unique-blocks", self.expected_blocks, "--bind", self.address)
        frontend = self.module(
            "frontend", "dynamo.frontend", "--http-host", "127.0.0.1",
            "--http-port", self.http_port, "--router-mode", "round-robin")
        return [relay, frontend]

    def module(self, name, module, *arguments):
        command = [sys.executable, "-m", module, *map(str, arguments)]
        process = self.processes.start(f"{os.path.basename(self.directory)}-{name}", command,
                                       self.env)
        self.started.append(process)
        return process

    def stop(self):
        """Ends what belongs to this deployment alone."""
        for process in reversed(self.started):
            self.processes.stop(process, patience=3)
        self.started.clear()

    def lists_model(self):
        try:
            url = f"http://127.0.0.1:{self.http_port}/v1/models"
            with urllib.request.urlopen(url, timeout=2) as answer:
                return any(one["id"] == MODEL for one in json.load(answer)["data"])
        except (OSError, ValueError):
            return False

    def _answers(self):
        try:
            self.complete([1])
            return True
        except urllib.error.URLError:
            return False

    def complete(self, words, model=MODEL):
        """Runs one prompt; returns its token ids."""
        body = {"model": model, "prompt": " ".join(map(str, words)), "max_tokens": 2}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http_port}/v1/completions", json.dumps(body).encode(),
            {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
        return [word + len(SPECIAL) for word in words]

    def drive(self, requests, seed, pause=0.0):
        """Requests that share prefixes, as conversations do. Returns the prompts' token ids."""
        random_ = random.Random(seed)
        roots = [[random_.randrange(VOCABULARY) for _ in range(random_.randrange(20, 200))]
                 for _ in range(5)]
        turns, prompts = list(roots), []
        for _ in range(requests):
            more = [random_.randrange(VOCABULARY) for _ in range(random_.randrange(4, 150))]
            words = random_.choice(turns) + more
            turns.append(words)
            prompts.append(self.complete(words))
            time.sleep(pause)
        return prompts


def ready(client):
    """Whether a relay shows a pool and calls its model ready."""
    try:
        if not client.first("WatchKvPoolCatalog", 2).snapshot.pools:
            return False
        entries = client.first("SubscribeServingReadiness", 2).entries
        return any(one.state == wire.pb.SERVING_READINESS_STATE_READY for one in entries)
    except wire.grpc.RpcError:
        return False
