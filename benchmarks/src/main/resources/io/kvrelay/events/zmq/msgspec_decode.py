"""Decodes payloads with msgspec into typed events, as a subscriber in Python does, and nothing more."""
import json
import struct
import sys
import time
from typing import Any, Optional, Union

import msgspec


def types(array_like):
    class Event(msgspec.Struct, array_like=array_like, tag=True):
        pass

    class BlockStored(Event):
        block_hashes: list[Union[int, bytes]]
        parent_block_hash: Optional[Union[int, bytes]]
        token_ids: list[int]
        block_size: int
        lora_id: Optional[int]
        medium: Optional[str] = None
        lora_name: Optional[str] = None
        extra_keys: Any = None

    class BlockRemoved(Event):
        block_hashes: list[Union[int, bytes]]
        medium: Optional[str] = None

    class AllBlocksCleared(Event):
        pass

    class Batch(msgspec.Struct, array_like=True):
        ts: float
        events: list[Union[BlockStored, BlockRemoved, AllBlocksCleared]]
        data_parallel_rank: Optional[int] = None

    return Batch


def main():
    data = open(sys.argv[1], "rb").read()
    payloads, at = [], 0
    while at < len(data):
        length, = struct.unpack_from(">I", data, at)
        payloads.append(data[at + 4:at + 4 + length])
        at += 4 + length
    first_event = msgspec.msgpack.decode(payloads[0])[1][0]
    decoder = msgspec.msgpack.Decoder(types(isinstance(first_event, list)))
    best, events, blocks = None, 0, 0
    for _ in range(int(sys.argv[2])):
        events = blocks = 0
        begin = time.perf_counter()
        for payload in payloads:
            for event in decoder.decode(payload).events:
                events += 1
                blocks += len(getattr(event, "block_hashes", ()))
        seconds = time.perf_counter() - begin
        best = seconds if best is None else min(best, seconds)
    print(json.dumps({"events_per_s": round(events / best), "blocks_per_s": round(blocks / best)}))


main()
