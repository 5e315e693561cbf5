"""The parts of the run. Each is a function of a Scene; its first line of documentation is its title."""
import json
import os
import random

import descriptors
import faults
import wire
from engines import our_relay_beside_their_engines
from living import one_deployment_two_relays
from mirror import Mirror, depth_is_allowed, local_hashes, sequence_hashes
from ours import Replay, Watch, match
from processes import wait_until
from recording import Recording, write_lines

QUIET_SECONDS = 1.5


def follow_all(address):
    """Mirrors of every pool that a relay shows now, by data center."""
    client = wire.Client(address)
    pools = client.first("WatchKvPoolCatalog").snapshot.pools
    mirrors = {}
    for pool in pools:
        mirror = Mirror(pool.producer)
        mirror.block_size = pool.query_semantics.kv_block_size
        mirror.follow(client)
        mirrors[pool.producer.pool_id.dc_id] = mirror
    return client, mirrors


def until_quiet(mirrors, seconds, processes=()):
    def quiet():
        faulty = [one.fault for one in mirrors if one.fault]
        return faulty or all(one.quiet_for(QUIET_SECONDS) for one in mirrors)
    wait_until("quiet stream", quiet, seconds, processes)


def variations(prompts, seed):
    """Prompts as they were, cut off, continued with something new, and ones that nobody sent."""
    random_ = random.Random(seed)
    fresh = [[random_.randrange(3, 4000) for _ in range(n)] for n in (0, 1, 15, 16, 17, 400)]
    cut = [prompt[:random_.randrange(len(prompt) + 1)] for prompt in prompts[::3]]
    longer = [prompt + [random_.randrange(3, 4000) for _ in range(90)] for prompt in prompts[::4]]
    return prompts + cut + longer + fresh


def our_client_on_their_server(scene):
    """our client on their server: kvrelay watch and kvrelay match"""
    report, reference = scene.report, scene.reference()
    client, mirrors = follow_all(reference.address)
    wait_until("snapshot", lambda: all(m.words is not None for m in mirrors.values()), 30)
    watch = Watch(scene.processes, scene.directory, reference.address)
    watch.wait_for("snapshot_chunk")
    report.note("60 requests while kvrelay watch and our Python client follow")
    prompts = reference.drive(60, seed=scene.seed)
    until_quiet(mirrors.values(), 30)
    check_mirrors(report, mirrors)
    check_watch(report, watch, mirrors)

    asked = variations(prompts, scene.seed)
    tokens = write_lines(os.path.join(scene.directory, "prompts.jsonl"), asked)
    answers = match([reference.address], tokens)
    compare_depths(report, "kvrelay match", mirrors, asked, answers)
    deepest = max((one["depth"] or 0 for row in answers for one in row), default=0)
    report.check("some prompt is held deeply", deepest >= 10, deepest)
    report.check(
        "readiness and load stand with every depth",
        all(one["readiness"] == "READY" and one["load"]["total_blocks"] == expected_capacity(scene)
            for row in answers for one in row), answers[0])

    names = [local_hashes(prompt, 16) for prompt in asked]
    hashes = write_lines(os.path.join(scene.directory, "hashes.jsonl"), names)
    by_hashes = match([reference.address], hashes, "--hashes")
    report.equal("kvrelay match --hashes answers the same depths",
                 [[one["depth"] for one in row] for row in by_hashes],
                 [[one["depth"] for one in row] for row in answers])
    client.close()


def expected_capacity(scene):
    """What the reference itself says the pool's capacity is."""
    client = wire.Client(scene.reference().address)
    try:
        return client.first("SubscribeKvPoolLoad").pools[0].total_kv_blocks
    finally:
        client.close()


def check_mirrors(report, mirrors):
    for dc, mirror in mirrors.items():
        report.check(f"our Python client followed dc {dc}: {mirror.deltas} deltas",
                     mirror.fault is None and mirror.deltas > 0,
                     mirror.fault or mirror.ended or "no delta")


def check_watch(report, watch, mirrors):
    def sequences():
        return {line["dc_id"]: line["sequence"] for line in watch.lines() if "sequence" in line}
    reached = {dc: mirror.sequence for dc, mirror in mirrors.items()}
    try:
        wait_until("last delta from kvrelay watch", lambda: sequences() == reached, 10)
    except Exception:
        pass  # compared below
    report.equal("kvrelay watch stands at the same sequences", sequences(), reached)
    deltas = watch.of("delta")
    images = {line["sequence"]: line["images"] for line in deltas}
    theirs = {sequence: count for mirror in mirrors.values()
              for sequence, count in mirror.images_by_sequence.items() if sequence in images}
    report.equal("and saw the same images in every delta", images, theirs)
    report.equal("without losing a stream", watch.of("ended"), [])
    kinds = {line["type"] for line in watch.lines()}
    report.check("info, catalog, readiness and load arrived",
                 {"info", "catalog", "readiness", "load"} <= kinds, kinds)
    code = watch.stop()
    report.check("Ctrl-C ends kvrelay watch", code in (0, 130), f"exit code {code}")


def compare_depths(report, what, mirrors, prompts, answers):
    """Depths of a view next to a scan of the filter that our Python client rebuilt."""
    wrong, holes = [], 0
    for prompt, matches in zip(prompts, answers):
        got = {one["dc_id"]: one["depth"] for one in matches}
        for dc, mirror in mirrors.items():
            row = mirror.presence(sequence_hashes(local_hashes(prompt, mirror.block_size)))
            leading = row.index(False) if False in row else len(row)
            holes += True in row[leading:]
            depth = got.get(dc)
            if depth is None or not depth_is_allowed(row, depth):
                wrong.append((dc, len(prompt), leading, depth))
    report.check(f"{what}: {len(answers)} prompts, the depths of a linear scan"
                 f" ({holes} rows with holes)",
                 len(answers) == len(prompts) and not wrong, wrong[:10])


def their_view_on_our_server(scene):
    """their view on our server: kvrelay replay --bind"""
    report = scene.report
    recording = Recording(scene.seed, events=1500)
    events = os.path.join(scene.directory, "recording.jsonl")
    recording.write(events)
    tokens = write_lines(os.path.join(scene.directory, "recorded-prompts.jsonl"),
                         recording.prompts)
    replay = Replay(scene.processes, scene.directory, "replay", events, 300, 600,
                    "--expected-blocks", "20000")
    rust = scene.start_rust_view(replay.address, tokens)
    client, mirrors = follow_all(replay.address)
    until_quiet(mirrors.values(), 60, [replay.process])
    check_mirrors(report, mirrors)
    digests = [mirror.digest() for mirror in mirrors.values()]
    answers = match([replay.address], tokens)
    compare_depths(report, "kvrelay match on our own server", mirrors, recording.prompts, answers)
    if rust is not None:
        compare_with_rust(scene, rust, mirrors, answers)
    printed = replay.stop()
    report.equal("events that replay applied", printed["events"], len(recording.lines))
    report.equal("our Python client's filter has replay's words",
                 digests, [printed["words_xxh3"]])
    offline = json.loads(scene.kvrelay("replay", events, "--json", "--expected-blocks", "20000"))
    report.equal("a replay without a server ends with the same words",
                 offline["words_xxh3"], printed["words_xxh3"])
    client.close()


def compare_with_rust(scene, rust, mirrors, answers):
    """The reference's own view: where it stands, and its depths, holes included."""
    report = scene.report
    lines = rust.finish(60)
    pools = [line for line in lines if "sequence" in line]
    report.equal("the reference's view stands at the same sequences",
                 {line["dc_id"]: line["sequence"] for line in pools},
                 {dc: mirror.sequence for dc, mirror in mirrors.items()})
    report.check("and followed deltas", all(line["deltas"] > 0 for line in pools), pools)
    report.equal("its filter has the same words",
                 {line["dc_id"]: line["words_xxh3"] for line in pools},
                 {dc: mirror.digest() for dc, mirror in mirrors.items()})
    theirs = [line["depths"] for line in lines if "depths" in line]
    ours = [{str(one["dc_id"]): one["depth"] for one in row} for row in answers]
    report.equal("the reference's view answers the depths of kvrelay match", theirs, ours)


def the_same_answers_to_faults(scene):
    """faulty requests: the same answers from both"""
    report, expected = scene.report, faults.expected()
    for name, address in (("their", scene.reference().address), ("our", scene.server().address)):
        got = faults.ask(address)
        different = [f"{one['request']}: {one['status']} {one['reason']}, not"
                     f" {other['status']} {other['reason']}"
                     for one, other in zip(got, expected) if one != other]
        report.check(f"{name} server answers all {len(expected)} requests as recorded",
                     len(got) == len(expected) and not different, different[:10])


def reading_our_server(scene):
    """what our server says of itself"""
    report, pb = scene.report, wire.pb
    client = wire.Client(scene.server().address)
    info = client.info()
    catalog = client.first("WatchKvPoolCatalog")
    readiness = client.first("SubscribeServingReadiness")
    load = wait_until("load window with the pool", lambda: window_with_pools(client), 10)
    for name, message in (("info", info), ("catalog", catalog), ("readiness", readiness),
                          ("load", load)):
        report.equal(f"the envelope of {name}", wire.envelope_fault(message), None)
        report.check(f"{name} has info's identity", message.relay == info.relay, message.relay)
    pools = catalog.snapshot.pools
    if not report.equal("the catalog shows one pool", len(pools), 1):
        return
    pool = pools[0]
    end = pool.serving_endpoint
    report.equal("its endpoint", (end.namespace, end.component, end.endpoint),
                 ("replay", "worker", "generate"))
    report.equal("its semantics",
                 (pool.query_semantics.kv_block_size, pool.query_semantics.hash_format),
                 (16, pb.KV_QUERY_HASH_FORMAT_DYNAMO_STANDARD_V1))
    report.equal("its role", list(pool.pool_roles), [pb.WORKER_ROLE_LEGACY])
    report.equal("its model", [(one.canonical_model_id, one.target.base.base_model)
                               for one in pool.registrations], [("replay", "replay")])
    report.equal("its producer's incarnation", pool.producer.producer_incarnation,
                 info.relay.relay_incarnation)
    entries = readiness.entries
    report.equal("readiness", [(one.namespace, one.canonical_model_id, one.state,
                                [member.pool_id == pool.producer.pool_id
                                 for member in one.members]) for one in entries],
                 [("replay", "replay", pb.SERVING_READINESS_STATE_READY, [True])])
    report.equal("load is unknown, not zero",
                 [(one.producer == pool.producer, one.total_kv_blocks) for one in load.pools],
                 [(True, 0)])
    client.close()


def window_with_pools(client):
    window = client.first("SubscribeKvPoolLoad")
    return window if window.pools else None


def the_same_schema(scene):
    """the schema that both servers show by reflection"""
    report = scene.report
    outlines = []
    for address in (scene.reference().address, scene.server().address):
        client = wire.Client(address)
        files = client.file_descriptors()
        client.close()
        outlines.append(descriptors.outline(
            next(one for one in files if one.package == wire.PACKAGE)))
    theirs, ours = outlines
    report.equal(f"all {len(theirs)} declarations of theirs stand in ours",
                 descriptors.differences(theirs, ours), [])
    added = descriptors.additions(theirs, ours)
    messages = [name for name in added if name.split()[0] in ("rpc", "message", "enum")]
    report.note(f"ours adds {len(added)} declarations: {', '.join(messages) or 'none'}")


PARTS = {
    "match": our_client_on_their_server,
    "replay": their_view_on_our_server,
    "errors": the_same_answers_to_faults,
    "reads": reading_our_server,
    "schema": the_same_schema,
    "dynamo": one_deployment_two_relays,
    "engines": our_relay_beside_their_engines,
}
