"""A pool's filter rebuilt from its stream, with every frame checked, and lookups in it."""
import struct
import threading
import time

import grpc
import xxhash

import wire

HASH_SEED = 1337
ALTERNATE_SEED = 0x9E3779B97F4A7C15
CHUNK_WORDS = 512 * 1024
HEADER = struct.Struct("<4s H H B B H Q Q Q Q I")  # spaces only separate
CHUNK, DELTA = 1, 2


class BadFrame(Exception):
    pass


def require(holds, fault):
    if not holds:
        raise BadFrame(fault)


def local_hashes(tokens, block_size):
    """Hashes of the complete blocks of a prompt, without salts."""
    whole = len(tokens) // block_size * block_size
    return [xxhash.xxh3_64_intdigest(struct.pack(f"<{block_size}I", *tokens[i:i + block_size]),
                                     HASH_SEED)
            for i in range(0, whole, block_size)]


def sequence_hashes(locals_):
    """Names of the prefixes: each block's hash chained to the one before."""
    chain = []
    for local in locals_:
        chain.append(local if not chain else
                     xxhash.xxh3_64_intdigest(struct.pack("<QQ", chain[-1], local), HASH_SEED))
    return chain


class Mirror:
    """One producer generation's filter. Thread safe."""

    def __init__(self, producer):
        self.producer = producer
        self.format = producer.ckf_format
        self.words = None
        self.sequence = None
        self.first_sequence = None
        self.deltas = 0
        self.images = 0
        self.images_by_sequence = {}
        self.fault = None
        self.ended = None
        self.changed = time.monotonic()
        self._assembling = None
        self._lock = threading.Lock()

    def follow(self, client):
        """Applies the pool's stream in the background, until it ends."""
        call = client.pool(self.producer)
        threading.Thread(target=self._run, args=(call,), daemon=True).start()
        return call

    def _run(self, call):
        try:
            for update in call:
                with self._lock:
                    self._apply(update)
            self.ended = "completed"
        except BadFrame as e:
            self.fault = str(e)
            call.cancel()
        except grpc.RpcError as e:
            self.ended = e.code().name

    def _apply(self, update):
        fault = wire.envelope_fault(update)
        require(fault is None, fault)
        require(update.producer == self.producer, "another producer")
        pb = wire.pb
        if update.kind == pb.FILTER_UPDATE_KIND_HEARTBEAT:
            require(not update.payload, "a heartbeat with a payload")
            require(self.words is not None, "a heartbeat before the snapshot")
            require(update.base_sequence == update.sequence == self.sequence,
                    f"a heartbeat at {update.sequence}, not {self.sequence}")
            return
        flags, epoch, body = self._open(update.payload)
        require(epoch == update.sequence, f"epoch {epoch} in the frame of {update.sequence}")
        if update.kind == pb.FILTER_UPDATE_KIND_SNAPSHOT_CHUNK:
            require(flags == CHUNK, "a chunk's envelope around something else")
            require(update.base_sequence == update.sequence, "a chunk with another base")
            self._chunk(epoch, body)
        elif update.kind == pb.FILTER_UPDATE_KIND_DELTA:
            require(flags == DELTA, "a delta's envelope around something else")
            self._delta(update, body)
        else:
            raise BadFrame(f"kind {update.kind}")
        self.changed = time.monotonic()

    def _open(self, payload):
        require(len(payload) >= HEADER.size, f"a frame of {len(payload)} bytes")
        (magic, version, flags, bits, slots, layout, seed, buckets, dc, epoch,
         checksum) = HEADER.unpack_from(payload)
        body = payload[HEADER.size:]
        shape = self.format
        require(magic == b"CBI1" and version == 1, f"{magic!r} version {version}")
        require(flags in (CHUNK, DELTA), f"flags {flags}")
        require(xxhash.xxh3_64_intdigest(body) & 0xFFFFFFFF == checksum, "checksum")
        require((layout, seed, buckets, bits, slots)
                == (shape.format_version, shape.seed, shape.bucket_count,
                    shape.fingerprint_bits, shape.slots_per_bucket), "another format")
        require(dc == self.producer.pool_id.dc_id, f"data center {dc}")
        return flags, epoch, body

    def _chunk(self, epoch, body):
        require(self.words is None, "a second snapshot")
        require(len(body) >= 16 and len(body) % 8 == 0, f"a chunk's body of {len(body)} bytes")
        index, count, offset = struct.unpack_from("<IIQ", body)
        if index == 0:
            self._assembling = (epoch, count, bytearray())
        require(self._assembling is not None, f"chunk {index} first")
        of_epoch, of_count, image = self._assembling
        require((of_epoch, of_count) == (epoch, count), "a chunk of another snapshot")
        require(offset * 8 == len(image) and index * CHUNK_WORDS == offset, f"chunk at {offset}")
        image += body[16:]
        if index + 1 == count:
            require(len(image) == 8 * self.format.bucket_count, "an incomplete snapshot")
            self.words, self.sequence, self.first_sequence = image, epoch, epoch
            self._assembling = None

    def _delta(self, update, body):
        require(self.words is not None, "a delta before the snapshot")
        base, count = struct.unpack_from("<QI", body)
        require(base == update.base_sequence == self.sequence,
                f"a delta on {base}, not {self.sequence}")
        require(update.sequence == base + 1, f"a delta to {update.sequence}")
        require(count > 0 and len(body) == 12 + 12 * count, f"{count} images in {len(body)} bytes")
        for i in range(count):
            bucket, = struct.unpack_from("<I", body, 12 + 12 * i)
            require(bucket < self.format.bucket_count, f"bucket {bucket}")
            self.words[8 * bucket:8 * bucket + 8] = body[16 + 12 * i:24 + 12 * i]
        self.sequence = update.sequence
        self.deltas += 1
        self.images += count
        self.images_by_sequence[update.sequence] = count

    # ---- what the filter says ----

    def holds(self, name):
        mixed = xxhash.xxh3_64_intdigest(name.to_bytes(8, "little"), self.format.seed)
        fingerprint = mixed & 0xFFFF or 1
        mask = self.format.bucket_count - 1
        one = mixed >> 16 & mask
        step = xxhash.xxh3_64_intdigest(fingerprint.to_bytes(2, "little"),
                                        self.format.seed ^ ALTERNATE_SEED) & mask
        other = one ^ (step or 1)
        return any(fingerprint in struct.unpack_from("<4H", self.words, 8 * bucket)
                   for bucket in (one, other))

    def presence(self, names):
        with self._lock:
            return [self.holds(name) for name in names]

    def linear_depth(self, names):
        """Leading blocks that the filter holds: one after the other until the first miss."""
        row = self.presence(names)
        return row.index(False) if False in row else len(row)

    def digest(self):
        with self._lock:
            return xxhash.xxh3_64_hexdigest(bytes(self.words))

    def quiet_for(self, seconds):
        return self.words is not None and time.monotonic() - self.changed >= seconds


def depth_is_allowed(row, depth, window=2):
    """Whether a view may answer a depth for a row of hits and misses: the number of leading hits
    where no hit follows a miss; elsewhere a boundary whose window below is free of misses."""
    leading = row.index(False) if False in row else len(row)
    if True not in row[leading:] or leading == 0:
        return depth == leading
    return (leading <= depth <= len(row) and (depth == len(row) or not row[depth])
            and all(row[max(0, depth - window):depth]))
