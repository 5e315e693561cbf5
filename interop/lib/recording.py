"""Made-up recordings of KV events, as `kvrelay replay` reads them, with the prompts behind them."""
import json
import random

from mirror import local_hashes

BLOCK_SIZE = 16


class Recording:
    """Workers that store, evict and clear blocks of prompts that share prefixes. Evictions take any
    block, so some prompts end with holes in the middle. The same seed gives the same recording."""

    def __init__(self, seed, events, workers=4):
        self.random = random.Random(seed)
        self.workers = [dict() for _ in range(workers)]  # (prompt, block) -> engine hash
        self.next_id = [0] * workers
        self.prompts = self._prompts()
        self.locals = [local_hashes(prompt, BLOCK_SIZE) for prompt in self.prompts]
        self.lines = []
        while len(self.lines) < events:
            self._step()

    def _prompts(self):
        prompts = []
        for _ in range(120):
            stem = []
            if prompts and self.random.random() < 0.6:
                chosen = self.random.choice(prompts)
                stem = chosen[:self.random.randrange(len(chosen))]
            more = self.random.randrange(5, 400)
            prompts.append(stem + [self.random.randrange(1 << 17) for _ in range(more)])
        return prompts

    def _step(self):
        worker = self.random.randrange(len(self.workers))
        held = self.workers[worker]
        what = self.random.random()
        if what < 0.65 or not held:
            self._store(worker, held)
        elif what < 0.995:
            self._evict(worker, held)
        else:
            held.clear()
            self._event(worker, "cleared")

    def _store(self, worker, held):
        prompt = self.random.randrange(len(self.prompts))
        names = self.locals[prompt]
        first = 0
        while first < len(names) and (prompt, first) in held:
            first += 1
        if first == len(names):
            return
        blocks = []
        for block in range(first, len(names)):
            held[prompt, block] = self.random.getrandbits(64)
            blocks.append({"block_hash": held[prompt, block], "tokens_hash": names[block]})
        stored = {"blocks": blocks}
        if first:
            stored["parent_hash"] = held[prompt, first - 1]
        self._event(worker, {"stored": stored})

    def _evict(self, worker, held):
        count = min(len(held), self.random.randrange(1, 6))
        gone = self.random.sample(sorted(held), count)
        self._event(worker, {"removed": {"block_hashes": [held.pop(key) for key in gone]}})

    def _event(self, worker, data):
        self.lines.append({
            "worker_id": worker + 1, "residency_domain": "worker",
            "event": {"event_id": self.next_id[worker], "data": data}})
        self.next_id[worker] += 1

    def write(self, path):
        write_lines(path, self.lines)


def write_lines(path, values):
    with open(path, "w") as file:
        for value in values:
            file.write(json.dumps(value) + "\n")
    return path
