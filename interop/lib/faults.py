"""Requests that a relay has to refuse, each with one thing wrong, and what comes back."""
import json
import os

import grpc

import wire

EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "errors_expected.jsonl")
WATCHES = ("WatchKvPoolCatalog", "SubscribeServingReadiness", "SubscribeKvPoolLoad")

# Labels of a subscriber, and some that are none.
LABELS = [
    ("no label", ""),
    ("a label of blanks", "   "),
    ("a label of 128 bytes", "x" * 128),
    ("a label of 129 bytes", "x" * 129),
    ("a label of 65 characters and 130 bytes", "é" * 65),
    ("a label with a tab", "one\ttwo"),
    ("a label with a line break", "one\ntwo"),
    ("a label beyond ASCII", "straße"),
    ("a label that begins with a blank", " one"),
    ("a label with a NUL", "one\0two"),
]


def requests(pool):
    """Name, method and request of every case. The pool is a descriptor from the same relay."""
    def make(method, **fields):
        named = {} if method == "GetRelayInfo" else {"subscriber_id": "faults"}
        return method, wire.REQUESTS[method](
            **{"contract_marker": wire.CONTRACT_MARKER, **named, **fields})

    yield "info: no marker", *make("GetRelayInfo", contract_marker=0)
    yield "info: another marker", *make("GetRelayInfo", contract_marker=wire.CONTRACT_MARKER - 1)
    for method in WATCHES:
        yield (f"{method}: another marker and no label",
               *make(method, contract_marker=2, subscriber_id=""))
        for name, label in LABELS:
            yield f"{method}: {name}", *make(method, subscriber_id=label)
    method = "SubscribeKvPool"
    known = pool.producer
    yield f"{method}: another marker", *make(method, contract_marker=2, expected_producer=known)
    yield f"{method}: no label", *make(method, subscriber_id="", expected_producer=known)
    yield f"{method}: no producer", *make(method)
    yield f"{method}: another marker and no producer", *make(method, contract_marker=2)
    yield f"{method}: nothing wrong", *make(method, expected_producer=known)
    for name, producer in producers(known):
        yield f"{method}: {name}", *make(method, expected_producer=producer)


def producers(known):
    """The known producer with one thing changed."""
    def changed(edit):
        copy = type(known)()
        copy.CopyFrom(known)
        edit(copy)
        return copy

    def field(path, value):
        *parents, last = path.split(".")

        def edit(message):
            for parent in parents:
                message = getattr(message, parent)
            setattr(message, last, value)
        return changed(edit)

    domain = "pool_id.indexer_domain."
    semantics = known.pool_id.indexer_domain.cache_semantics
    shape = known.ckf_format
    yield "no pool id", changed(lambda p: p.ClearField("pool_id"))
    yield "no indexer domain", changed(lambda p: p.pool_id.ClearField("indexer_domain"))
    yield "no filter format", changed(lambda p: p.ClearField("ckf_format"))
    yield "identity version 0", field("pool_id.identity_version", 0)
    yield "identity version 2", field("pool_id.identity_version", 2)
    yield "a digest of 15 bytes", field(domain + "cache_semantics.digest", bytes(15))
    yield "no digest", field(domain + "routing_scope.digest", b"")
    yield "a digest nobody has", field(domain + "cache_semantics.digest", b"nobody has this.")
    yield "identity source 0", field(domain + "cache_semantics.source", 0)
    yield "identity source 9", field(domain + "cache_semantics.source", 9)
    yield "the other identity source", field(domain + "cache_semantics.source",
                                             1 if semantics.source == 2 else 2)
    yield "a data center nobody has", field("pool_id.dc_id", known.pool_id.dc_id ^ 1)
    yield "another incarnation", field("producer_incarnation", known.producer_incarnation ^ 1)
    yield "layout generation 0", field("layout_generation", 0)
    yield "another layout generation", field("layout_generation", known.layout_generation + 1)
    yield "format version 0", field("ckf_format.format_version", 0)
    yield "format version 2", field("ckf_format.format_version", 2)
    yield "format version 65537", field("ckf_format.format_version", 65537)
    yield "another seed", field("ckf_format.seed", shape.seed ^ 1)
    for count in (0, 3, 1, 1 << 25):
        yield f"{count} buckets", field("ckf_format.bucket_count", count)
    yield "twice the buckets", field("ckf_format.bucket_count", 2 * shape.bucket_count)
    yield "fingerprints of 8 bits", field("ckf_format.fingerprint_bits", 8)
    yield "fingerprints of 272 bits", field("ckf_format.fingerprint_bits", 272)
    yield "8 slots", field("ckf_format.slots_per_bucket", 8)
    yield "0 slots", field("ckf_format.slots_per_bucket", 0)


def answer(client, method, request):
    """Status and reason of a refusal; OK as soon as something arrives."""
    try:
        call = client.call(method, request, timeout=10)
        if method != "GetRelayInfo":
            next(iter(call))
            call.cancel()
        return {"status": "OK", "reason": None}
    except StopIteration:
        return {"status": "OK, but nothing came", "reason": None}
    except grpc.RpcError as e:
        trailers = dict(e.trailing_metadata() or ())
        return {"status": e.code().name, "reason": trailers.get(wire.REASON_TRAILER)}


def ask(address):
    """Puts every request to a relay; returns the answers in order."""
    client = wire.Client(address)
    try:
        pool = client.first("WatchKvPoolCatalog").snapshot.pools[0]
        return [{"request": name, **answer(client, method, request)}
                for name, method, request in requests(pool)]
    finally:
        client.close()


def expected():
    with open(EXPECTED) as file:
        return [json.loads(line) for line in file]
