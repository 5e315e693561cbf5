"""Our relay beside the reference's engines: fed from their ZeroMQ ports, compared with their relay."""
import collections
import json
import os
import re
import signal
import struct
import threading
import time

import xxhash
import zmq

import wire
from mirror import ALTERNATE_SEED, Mirror, local_hashes, sequence_hashes
from ours import KVRELAY, match
from processes import free_ports, wait_until
from recording import write_lines
from reference import Deployment

# A minute shows the same as these seconds do: INTEROP_OUTAGE_SECONDS=60.
OUTAGE_SECONDS = float(os.environ.get("INTEROP_OUTAGE_SECONDS", "6"))
EXPECTED_BLOCKS = 50_000
QUIET_SECONDS = 1.5
# Longer than a lost message takes to be noticed and replayed, with one time-out on the way.
PATIENCE_SECONDS = 20


class DroppingProxy:
    """Passes one engine's live messages on, or loses them, as it is told."""

    def __init__(self, engine_port):
        self.port = free_ports(1)[0]
        self.dropping = False
        self.passed = 0
        self.dropped = 0
        self._closing = False
        self._engine_port = engine_port
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(10)

    def _run(self):
        context = zmq.Context()
        engine = context.socket(zmq.SUB)
        engine.connect(f"tcp://127.0.0.1:{self._engine_port}")
        engine.setsockopt(zmq.SUBSCRIBE, b"")
        out = context.socket(zmq.PUB)
        out.bind(f"tcp://127.0.0.1:{self.port}")
        self._ready.set()
        while not self._closing:
            if engine.poll(50):
                frames = engine.recv_multipart()
                if self.dropping:
                    self.dropped += 1
                else:
                    self.passed += 1
                    out.send_multipart(frames)
        context.destroy(linger=0)

    def close(self):
        self._closing = True
        self._thread.join(5)


class Relay:
    """`kvrelay relay` on the engines' ports."""

    def __init__(self, scene, name, live_ports, replay_ports):
        self.processes = scene.processes
        workers = [
            {"id": i + 1, "events": [{"engine": "vllm", "live": f"tcp://127.0.0.1:{live}",
                                      "replay": f"tcp://127.0.0.1:{replay}"}]}
            for i, (live, replay) in enumerate(zip(live_ports, replay_ports))]
        config = {
            "pools": {"expected-blocks": EXPECTED_BLOCKS},
            "endpoints": [{"endpoint": "interop.engines.generate", "model": "mock",
                           "block-size": 16, "workers": workers}]}
        path = os.path.join(scene.directory, name + ".json")
        with open(path, "w") as out:
            json.dump(config, out)
        self.http = free_ports(1)[0]
        self.process = self.processes.start(
            "kvrelay-" + name,
            [KVRELAY, "relay", "--dc-id", "ours", "--config", path,
             "--bind", "grpc://127.0.0.1:0", "--http", f"127.0.0.1:{self.http}"])
        self.address = wait_until("address from kvrelay relay", self._address, 120,
                                  [self.process])
        wait_until("pool of our relay", self._has_pool, 60, [self.process])

    def _address(self):
        with open(self.process.log_path) as log:
            found = re.search(r"serving grpc://(\S+:\d+)", log.read())
        return found and found.group(1)

    def _has_pool(self):
        client = wire.Client(self.address)
        try:
            return len(client.first("WatchKvPoolCatalog").snapshot.pools) == 1
        finally:
            client.close()

    def stop(self):
        return self.processes.stop(self.process, signal.SIGINT)


class Follower:
    """The one pool of a relay, mirrored."""

    def __init__(self, address):
        self.client = wire.Client(address)
        pool, = self.client.first("WatchKvPoolCatalog").snapshot.pools
        self.mirror = Mirror(pool.producer)
        self.mirror.follow(self.client)

    def fingerprints(self):
        """How often each fingerprint stands in one of its two buckets, whichever it is."""
        shape = self.mirror.format
        mask = shape.bucket_count - 1
        seed = shape.seed ^ ALTERNATE_SEED
        found = collections.Counter()
        for bucket in range(shape.bucket_count):
            for fingerprint in struct.unpack_from("<4H", self.mirror.words, 8 * bucket):
                if fingerprint:
                    step = xxhash.xxh3_64_intdigest(fingerprint.to_bytes(2, "little"), seed) & mask
                    found[fingerprint, min(bucket, bucket ^ (step or 1))] += 1
        return found

    def close(self):
        self.client.close()


def until_settled(what, theirs, ours, report, process):
    """Until both streams are quiet and alike, or quiet for so long that they will not be."""
    both = (theirs.mirror, ours.mirror)
    since = None

    def settled():
        nonlocal since
        if any(one.fault for one in both):
            return True
        if not all(one.quiet_for(QUIET_SECONDS) for one in both):
            return False
        since = since or time.monotonic()
        return (ours.fingerprints() == theirs.fingerprints()
                or time.monotonic() - since > PATIENCE_SECONDS)

    wait_until("quiet streams", settled, 60 + PATIENCE_SECONDS, [process])
    if since and time.monotonic() - since > 1:
        report.note(f"{what}: alike {time.monotonic() - since:.1f} s after the streams were quiet")


def compare(scene, what, reference, relay, prompts):
    """Waits until both are quiet and alike, then says what is not."""
    report = scene.report
    theirs, ours = Follower(reference.address), Follower(relay.address)
    try:
        both = (theirs.mirror, ours.mirror)
        until_settled(what, theirs, ours, report, relay.process)
        report.equal(f"{what}: no fault in either stream", [one.fault for one in both],
                     [None, None])
        expected, found = theirs.fingerprints(), ours.fingerprints()
        report.equal(f"{what}: occupied slots", found.total(), expected.total())
        report.check(f"{what}: the same {len(expected)} fingerprints in the same bucket pairs",
                     found == expected,
                     f"{len(found - expected)} too many, {len(expected - found)} missing")
        path = write_lines(os.path.join(scene.directory, "engine-prompts.jsonl"), prompts)
        rows = match([reference.address, relay.address], path)
        depths = [sorted(one["depth"] for one in row) for row in rows]
        unequal = [(i, pair) for i, pair in enumerate(depths) if len(set(pair)) != 1]
        report.check(f"{what}: equal depths for {len(prompts)} prompts",
                     not unequal and all(len(pair) == 2 for pair in depths), unequal[:5])
        report.check(f"{what}: some prompt is held deeply",
                     max((max(pair) for pair in depths), default=0) >= 5)
        ours_alone = [sequence_hashes(local_hashes(prompt, 16)) for prompt in prompts]
        report.equal(f"{what}: the filters answer alike for each of the prompts' blocks",
                     [ours.mirror.presence(names) for names in ours_alone],
                     [theirs.mirror.presence(names) for names in ours_alone])
    finally:
        theirs.close()
        ours.close()


def deployment(scene, name, workers, blocks=4096):
    scene.report.note(f"starting a reference deployment of {workers} workers, {blocks} blocks each")
    return Deployment(scene.processes, os.path.join(scene.directory, name), dc="theirs",
                      workers=workers, blocks=blocks, expected_blocks=EXPECTED_BLOCKS).start()


def late_start(scene, workers, blocks=4096, requests=25):
    """Some requests, then our relay, then some more."""
    evicting = ", eviction" if blocks < 1000 else ""
    what = f"{workers} workers{evicting}"
    reference = deployment(scene, f"engines-{workers}-{blocks}", workers, blocks)
    try:
        prompts = reference.drive(requests, seed=scene.seed)
        relay = Relay(scene, f"engines-{workers}-{blocks}", reference.event_ports,
                      reference.replay_ports)
        compare(scene, what + ", started late", reference, relay, prompts)
        prompts += reference.drive(requests, seed=scene.seed + 1)
        compare(scene, what, reference, relay, prompts)
        relay.stop()
    finally:
        reference.stop()


def outage(scene, workers):
    """A proxy loses all live events for a while; the replay sockets stay."""
    report = scene.report
    reference = deployment(scene, "engines-outage", workers)
    proxies = [DroppingProxy(port) for port in reference.event_ports]
    try:
        relay = Relay(scene, "engines-outage", [proxy.port for proxy in proxies],
                      reference.replay_ports)
        prompts = reference.drive(15, seed=scene.seed)
        compare(scene, "through a proxy", reference, relay, prompts)
        for proxy in proxies:
            proxy.dropping = True
        end = time.monotonic() + OUTAGE_SECONDS
        round_ = 0
        while time.monotonic() < end:
            round_ += 1
            prompts += reference.drive(5, seed=scene.seed + round_, pause=0.05)
        lost = sum(proxy.dropped for proxy in proxies)
        report.check(f"the proxy lost messages in {OUTAGE_SECONDS:.0f} s: {lost}", lost > 0)
        for proxy in proxies:
            proxy.dropping = False
        # A gap shows with the next live message of each worker: these requests go round.
        prompts += reference.drive(4 * workers, seed=scene.seed + 1000)
        compare(scene, "after the outage", reference, relay, prompts)
        relay.stop()
    finally:
        for proxy in proxies:
            proxy.close()
        reference.stop()


def our_relay_beside_their_engines(scene):
    """our relay beside their engines: ZeroMQ events, replay, eviction, an outage"""
    for workers in (1, 2, 4):
        late_start(scene, workers)
    late_start(scene, 2, blocks=256, requests=40)
    outage(scene, 2)
