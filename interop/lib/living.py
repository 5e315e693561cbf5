"""Part `dynamo`: our relay beside the reference's, on one living deployment."""
import os
import random
import signal
import struct
import threading
import time

import wire
from mirror import Mirror, local_hashes, sequence_hashes
from ours import Relay, match
from processes import Failure, wait_until
from recording import write_lines
from reference import BLOCK_SIZE, MODEL, VOCABULARY, Deployment

SECONDS_TO_AGREE = 10
# A worker that was killed is in the store until its records are 10 to 13.4 seconds old.
SECONDS_TO_EXPIRE = 30
OTHER_MODEL, OTHER_NAMESPACE = "other", "elsewhere"


class Engine:
    """A process with one mock worker."""

    def __init__(self, deployment, name, model=MODEL, endpoint=None):
        arguments = [
            "--model-path", os.path.join(deployment.directory, "model"), "--model-name", model,
            "--engine-type", "vllm", "--block-size", BLOCK_SIZE,
            "--num-gpu-blocks-override", deployment.blocks, "--speedup-ratio", 100,
            "--num-workers", 1]
        if endpoint:
            arguments += ["--endpoint", endpoint]
        self.process = deployment.module(name, "dynamo.mocker", *arguments)


class Living(Deployment):
    """A deployment whose workers come and go: each is a process of its own."""

    def start(self):
        store = self.prepare()
        self.store = store
        self.engines = [Engine(self, f"engine-{i}") for i in range(self.workers)]
        alive = [one.process for one in self.engines] + self.start_relay_and_frontend()
        wait_until("model at the reference's frontend", self.lists_model, 90, alive)
        client = wire.Client(self.address)
        wait_until("both workers at the reference relay",
                   lambda: expected_ranks(client) == self.workers, 60, alive)
        client.close()
        return self

    def talk(self, requests, seed, model=MODEL):
        """Conversations that share prefixes; returns the prompts' token ids."""
        random_ = random.Random(seed)
        turns = [[random_.randrange(VOCABULARY) for _ in range(random_.randrange(20, 200))]
                 for _ in range(4)]
        prompts = []
        for _ in range(requests):
            more = [random_.randrange(VOCABULARY) for _ in range(random_.randrange(4, 150))]
            turns.append(random_.choice(turns) + more)
            prompts.append(self.complete(turns[-1], model))
        return prompts

    def answers(self, model=MODEL):
        try:
            self.complete([1], model)
            return True
        except OSError:
            return False


def expected_ranks(client):
    try:
        return sum(one.kv_expected_ranks for one in client.first("SubscribeKvPoolLoad", 5).pools)
    except wire.grpc.RpcError:
        return -1


class View:
    """All that one relay says at one moment, without what names the relay and its lives."""

    def __init__(self, address):
        client = wire.Client(address)
        try:
            catalog = client.first("WatchKvPoolCatalog")
            self.catalog = sorted(self._pool(one) for one in catalog.snapshot.pools)
            self.readiness = sorted(
                str(one) for one in client.first("SubscribeServingReadiness").entries)
            self.load = sorted(self._load(one) for one in client.first("SubscribeKvPoolLoad").pools)
            self.filters = {one.producer.pool_id.SerializeToString(): self._filter(client, one)
                            for one in catalog.snapshot.pools}
        finally:
            client.close()

    @staticmethod
    def _pool(pool):
        plain = wire.pb.KvPoolDescriptor()
        plain.CopyFrom(pool)
        plain.producer.producer_incarnation = 0
        plain.producer.layout_generation = 0
        return str(plain)

    @staticmethod
    def _load(pool):
        return (pool.producer.pool_id.SerializeToString(), pool.kv_used_blocks,
                pool.total_kv_blocks, pool.kv_observed_ranks, pool.kv_expected_ranks)

    @staticmethod
    def _filter(client, pool):
        mirror = Mirror(pool.producer)
        mirror.block_size = pool.query_semantics.kv_block_size
        call = mirror.follow(client)
        try:
            wait_until("snapshot", lambda: mirror.words is not None or mirror.fault
                       or mirror.ended, 10)
        finally:
            call.cancel()
        if mirror.fault or mirror.words is None:
            raise Failure(f"no snapshot: {mirror.fault or mirror.ended}")
        return mirror

    def occupied(self):
        return {pool: sum(1 for slot in struct.unpack(f"<{len(one.words) // 2}H", one.words) if slot)
                for pool, one in self.filters.items()}

    def depths(self, prompts):
        return {pool: [one.linear_depth(sequence_hashes(local_hashes(prompt, one.block_size)))
                       for prompt in prompts] for pool, one in self.filters.items()}

    def differences(self, other, prompts):
        """What the two do not agree on, for people."""
        found = []
        for name in ("catalog", "readiness", "load"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                found.append(f"{name}: ours {mine} is not theirs {theirs}")
        if self.occupied() != other.occupied():
            found.append(f"occupied slots: {list(self.occupied().values())} is not"
                         f" {list(other.occupied().values())}")
        mine, theirs = self.depths(prompts), other.depths(prompts)
        if mine != theirs:
            odd = [(i, a, b) for pool in set(mine) & set(theirs)
                   for i, (a, b) in enumerate(zip(mine[pool], theirs[pool])) if a != b]
            found.append(f"depths (prompt, ours, theirs): {odd[:10]}")
        return found


class Pair:
    """The two relays, asked until they agree."""

    def __init__(self, report, deployment, relay):
        self.report = report
        self.deployment = deployment
        self.relay = relay
        self.prompts = []

    def views(self):
        return View(self.relay.address), View(self.deployment.address)

    def agree(self, when):
        begin = time.monotonic()
        while True:
            try:
                ours, theirs = self.views()
                different = ours.differences(theirs, self.prompts)
            except (Failure, wire.grpc.RpcError) as e:
                different = [f"{type(e).__name__}: {e}"]
            took = time.monotonic() - begin
            if not different or took > SECONDS_TO_AGREE:
                break
            time.sleep(0.2)
        slots = sum(ours.occupied().values()) if not different else 0
        return self.report.check(
            f"{when}: both agree after {took:.1f} s ({slots} slots,"
            f" {len(self.prompts)} prompts)", not different, "; ".join(different))


def one_deployment_two_relays(scene):
    """our relay beside the reference's, on one living deployment"""
    report = scene.report
    report.note("starting a deployment of two workers that can be ended alone")
    deployment = Living(scene.processes, os.path.join(scene.directory, "living"), dc="both")
    deployment.start()
    relay = Relay(scene.processes, "relay", deployment)
    pair = Pair(report, deployment, relay)
    pair.agree("before any traffic")
    pair.prompts += deployment.talk(40, scene.seed)
    if not pair.agree("after 40 prompts"):
        return
    report.check("some prompt is held deeply",
                 max(max(row) for row in pair.views()[0].depths(pair.prompts).values()) >= 10)
    readers_of_ours(scene, pair)
    kill_one(pair)
    add_one(pair, scene.seed + 10)
    another_namespace(pair, scene.seed + 20)
    restart_ours(pair, scene.seed + 30)
    lose_events(pair, scene.seed + 40)
    end_in_order(report, pair.relay)


def readers_of_ours(scene, pair):
    """Both views, theirs and ours, read our relay."""
    report = scene.report
    tokens = write_lines(os.path.join(scene.directory, "living-prompts.jsonl"), pair.prompts)
    addresses = [pair.relay.address, pair.deployment.address]
    ours, theirs = (match([address], tokens) for address in addresses)
    report.equal("kvrelay match answers the same depths from either relay",
                 [[one["depth"] for one in row] for row in ours],
                 [[one["depth"] for one in row] for row in theirs])
    rust = scene.start_rust_view(pair.relay.address, tokens)
    if rust is not None:
        lines = rust.finish(60)
        report.equal("the reference's own view answers them from ours",
                     [list(line["depths"].values()) for line in lines if "depths" in line],
                     [[one["depth"] for one in row] for row in ours])


def kill_one(pair):
    deployment = pair.deployment
    victim = deployment.engines.pop()
    deployment.processes.stop(victim.process, signal.SIGKILL)
    pair.agree("a worker was killed and nobody knows yet")
    client = wire.Client(deployment.address)
    wait_until("end of the killed worker at the reference relay",
               lambda: expected_ranks(client) == len(deployment.engines), SECONDS_TO_EXPIRE)
    client.close()
    pair.agree("the killed worker is gone")


def add_one(pair, seed):
    deployment = pair.deployment
    deployment.engines.append(Engine(deployment, "engine-added"))
    client = wire.Client(deployment.address)
    wait_until("added worker at the reference relay",
               lambda: expected_ranks(client) == len(deployment.engines), 60,
               [deployment.engines[-1].process])
    client.close()
    pair.agree("a worker was added")
    pair.prompts += deployment.talk(25, seed)
    pair.agree("after 25 more prompts")


def another_namespace(pair, seed):
    deployment = pair.deployment
    deployment.engines.append(Engine(
        deployment, "engine-elsewhere", OTHER_MODEL, f"dyn://{OTHER_NAMESPACE}.backend.generate"))
    wait_until("answer of the other model", lambda: deployment.answers(OTHER_MODEL), 60,
               [deployment.engines[-1].process])
    # Usage is told only when it changes: what came before a relay listened, it cannot know.
    wait_until("two pools at both", lambda: all(len(one.catalog) == 2 for one in pair.views()),
               SECONDS_TO_AGREE)
    pair.prompts += deployment.talk(15, seed, OTHER_MODEL)
    pair.agree("a second model appeared in another namespace")
    pair.report.equal("two pools", len(pair.views()[0].catalog), 2)


def restart_ours(pair, seed):
    pair.relay.kill()
    pair.prompts += pair.deployment.talk(10, seed)
    pair.relay = Relay(pair.relay.processes, "relay-again", pair.deployment)
    # What workers used before nobody repeats for a newcomer: the reference knows more until each
    # has said something again.
    pair.prompts += pair.deployment.talk(10, seed + 1)
    pair.deployment.talk(3, seed + 2, OTHER_MODEL)
    pair.agree("our relay was killed and started again")


def lose_events(pair, seed):
    """Publishers vanish from discovery and come back: what they said meanwhile is lost."""
    deployment = pair.deployment
    folder = os.path.join(deployment.store, "v1", "event_channels")
    channels = {}
    for name in os.listdir(folder):
        if "kv%2Devents" in name:
            with open(os.path.join(folder, name), "rb") as file:
                channels[name] = file.read()
            os.unlink(os.path.join(folder, name))
    time.sleep(2)  # both relays have looked since
    lost = deployment.talk(10, seed)
    heard = [max(max(row) for row in view.depths(lost).values()) for view in pair.views()]
    pair.report.equal("nobody hears of 10 prompts while no publisher is in discovery",
                      heard, [0, 0])
    keep = KeepAlive(folder, channels)
    try:
        wait_until("live events at both relays",
                   lambda: hears(pair, seed), SECONDS_TO_AGREE * 3)
        pair.prompts += lost
        pair.agree("the events of those prompts were lost, and are recovered")
    finally:
        keep.stop()


def hears(pair, seed):
    """Some new prompts on every worker, until both relays know them."""
    hears.round = getattr(hears, "round", 0) + 1
    prompts = pair.deployment.talk(4, seed + 100 * hears.round)
    prompts += pair.deployment.talk(2, seed + 100 * hears.round, OTHER_MODEL)
    time.sleep(0.5)
    depths = [view.depths(prompts[:4]) for view in pair.views()]
    whole = [len(prompt) // BLOCK_SIZE for prompt in prompts[:4]]
    known = all(any(row == whole for row in of.values()) for of in depths)
    if known:
        pair.prompts += prompts
    return known


class KeepAlive:
    """Puts records back, and touches them as their owners no longer do."""

    def __init__(self, folder, contents):
        self.ending = threading.Event()
        for name, content in contents.items():
            aside = os.path.join(folder, ".tmp_interop")
            with open(aside, "wb") as file:
                file.write(content)
            os.rename(aside, os.path.join(folder, name))
        self.thread = threading.Thread(target=self._run, args=(folder, list(contents)), daemon=True)
        self.thread.start()

    def _run(self, folder, names):
        while not self.ending.wait(1):
            for name in names:
                try:
                    os.utime(os.path.join(folder, name))
                except FileNotFoundError:
                    pass

    def stop(self):
        self.ending.set()
        self.thread.join()


def end_in_order(report, relay):
    health = relay.health()
    report.equal("our relay calls itself healthy, without problems",
                 (health["healthy"], health["problems"]), (True, []))
    code = relay.stop()
    report.check("SIGTERM ends our relay", code in (0, 143), f"exit code {code}")
