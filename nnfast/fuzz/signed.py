"""Cache files that are wrong behind a right signature: what their reader must survive all the same."""

import os
import random
from contextlib import contextmanager

import msgspec
import numpy as np

from .. import ModelBuilder
from ..driver import cache, key, stored_model
from ..driver.cache_files import CacheFiles, version_string
from ..model.types import ChannelQuant

TOKEN = bytes(32)
F32, I32, U8, S8 = "TENSOR_FLOAT32", "TENSOR_INT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"
NUMBERS = (0, 1, -1, 2, 3, 5, 7, 127, 128, 255, 256, 1 << 15, 1 << 16, (1 << 31) - 1, 1 << 31, -(1 << 31), 1 << 32,
           (1 << 63) - 1, -(1 << 63), (1 << 64) - 1)
FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-45, 1e38, 1e300, float("inf"), float("-inf"), float("nan"))


def _conv(name, kind, filter_shape, size, weights=None, scalars=(1, 1, 1, 0), depthwise=False):
    """A model of one (depthwise) convolution; weights: None for those of the type of the image, else per channel."""
    rng, b = np.random.default_rng(len(name)), ModelBuilder(name)
    units = filter_shape[3] if depthwise else filter_shape[0]
    quant = {} if kind == F32 else {"scale": 0.5, "zero_point": 3}
    x = b.input(kind, size, **quant)
    if kind == F32:
        w = b.constant(rng.standard_normal(filter_shape).astype(np.float32))
        bias = b.constant(rng.standard_normal(units).astype(np.float32))
    elif weights is None:
        codes = rng.integers(0, 255, filter_shape).astype(np.uint8 if kind == U8 else np.int8)
        w = b.constant(codes, kind, scale=0.25, zero_point=3)
        bias = b.constant(rng.integers(-99, 99, units).astype(np.int32), I32, scale=0.125)
    else:
        w = b.constant(rng.integers(-127, 127, filter_shape).astype(np.int8), "TENSOR_QUANT8_SYMM_PER_CHANNEL",
                       channel_quant=ChannelQuant(3 if depthwise else 0, (0.25,) * units))
        bias = b.constant(rng.integers(-99, 99, units).astype(np.int32), I32)
    y = b.output(kind, (*size[:3], units), **({} if kind == F32 else {"scale": 8.0, "zero_point": 3}))
    last = [b.scalar(v) for v in (*scalars[:3], *((units // size[3],) if depthwise else ()), scalars[3])]
    b.operation("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [x, w, bias, *last], [y])
    return b.build()


def _floats(b, *shape):
    return b.constant(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


def _recurrent():
    """RNN, then a sequence of LSTM cells."""
    b, units, size = ModelBuilder("recurrent"), 20, 70
    x, h, sequence = b.input(F32, (2, size)), b.input(F32, (2, units)), b.input(F32, (5, 1, size))
    after, y, z = b.output(F32, (2, units)), b.output(F32, (2, units)), b.output(F32, (5, 1, units))
    b.operation("RNN", [x, _floats(b, units, size), _floats(b, units, units), _floats(b, units), h, b.scalar(1)],
                [after, y])
    none, state = b.omitted(F32), b.input(F32, (1, units))
    b.operation("UNIDIRECTIONAL_SEQUENCE_LSTM", [
        sequence, *(_floats(b, units, size) for _ in range(4)), *(_floats(b, units, units) for _ in range(4)),
        none, none, none, *(_floats(b, units) for _ in range(4)), none, none, state, state, b.scalar(4),
        b.scalar(np.float32(0)), b.scalar(np.float32(0)), b.scalar(True), none, none, none, none], [z])
    return b.build()


def _transposed():
    b = ModelBuilder("transposed")
    x, y = b.input(F32, (1, 4, 4, 17)), b.output(F32, (1, 9, 9, 9))
    scalars = [b.scalar(v) for v in (0, 0, 0, 0, 2, 2, 0)]
    b.operation("TRANSPOSE_CONV_2D", [x, _floats(b, 9, 3, 3, 17), _floats(b, 9), *scalars, b.scalar(False)], [y])
    return b.build()


def _grouped():
    b = ModelBuilder("grouped")
    x, y = b.input(F32, (1, 6, 6, 34)), b.output(F32, (1, 6, 6, 10))
    scalars = [b.scalar(v) for v in (1, 1, 1, 2, 0)]
    b.operation("GROUPED_CONV_2D", [x, _floats(b, 10, 3, 3, 17), _floats(b, 10), *scalars, b.scalar(False)], [y])
    return b.build()


def models():
    """Small models whose plans pack weights, in all the ways that there are, and have tables and constants beside."""
    made = [
        _conv("tiles", F32, (40, 2, 2, 33), (1, 6, 6, 33)), _conv("line", F32, (9, 3, 3, 3), (1, 16, 16, 3)),
        _conv("winograd", F32, (17, 3, 3, 16), (1, 16, 16, 16)), _conv("q8", U8, (20, 1, 1, 70), (1, 5, 5, 70)),
        _conv("lines", S8, (33, 3, 3, 40), (1, 14, 14, 40), "channels"),
        _conv("depth", F32, (1, 3, 3, 40), (1, 9, 9, 40), depthwise=True),
        _conv("depth_u8", U8, (1, 3, 3, 70), (1, 9, 9, 70), depthwise=True),
        _conv("depth_s8", S8, (1, 5, 5, 20), (1, 9, 9, 10), "channels", depthwise=True),
    ]
    made += [_recurrent(), _transposed(), _grouped()]
    b = ModelBuilder("tables")
    x = b.input(F32, (4, 6))
    rows, turned, y = b.operand(F32, (3, 6)), b.operand(F32, (6, 3)), b.output(F32, (6, 5))
    b.operation("GATHER", [x, b.scalar(0), b.constant(np.int32([3, 0, 2]), I32)], [rows])
    b.operation("TRANSPOSE", [rows, b.constant(np.int32([1, 0]), I32)], [turned])
    b.operation("FULLY_CONNECTED", [turned, b.constant(np.ones((5, 3), np.float32)),
                                    b.constant(np.ones(5, np.float32)), b.scalar(1)], [y])
    made.append(b.build())
    b = ModelBuilder("parts")
    x = b.input(F32, (1, 4, 4, 8))
    padded, first, y = b.operand(F32, (1, 6, 6, 8)), b.operand(F32, (1, 4, 4, 8)), b.output(F32, (1, 2, 2, 8))
    b.operation("PAD", [x, b.constant(np.int32([[0, 0], [1, 1], [1, 1], [0, 0]]), I32)], [padded])
    b.operation("SLICE", [padded, b.constant(np.int32([0, 1, 1, 0]), I32), b.constant(np.int32([1, 4, 4, 8]), I32)],
                [first])
    b.operation("MAX_POOL_2D", [first, *(b.scalar(v) for v in (0, 0, 0, 0, 2, 2, 2, 2, 0))], [y])
    made.append(b.build())
    return made


@contextmanager
def planned_meanwhile(is_wanted):
    """Plan models while their data file is read, as large ones are, if there are processors; else afterwards."""
    before, cache.WORTH_A_THREAD = cache.WORTH_A_THREAD, 0 if is_wanted else 1 << 62
    try:
        yield
    finally:
        cache.WORTH_A_THREAD = before


class Mutator:
    """Stores a model with a device, and hands out changed files for it whose signature is right."""

    def __init__(self, device, model):
        self.device, self.model = device, model
        prepared = device.prepare(model)
        stamp = stored_model.stamp_of(version_string(), device, TOKEN)
        head, self.data, _ = stored_model.pack(prepared, stamp, key.digest())
        self.head = head[len(stored_model.MODEL_MAGIC) + 32:]
        self.inputs = [np.ones(i.shape, i.dtype) for i in prepared.inputs]

    def load(self, seed, head_changes=1, data_changes=0):
        """Load files with so many changes; the prepared model, or the error of nnfast."""
        rng = random.Random(seed)
        data, file = self.data.copy(), msgspec.msgpack.decode(self.head)
        content = file[1]
        small = np.frombuffer(content[6], np.uint8).copy()
        for _ in range(data_changes):
            if rng.randrange(data.nbytes - 64 + small.nbytes) < small.nbytes:
                damage(small, rng, 0)
            else:
                damage(data, rng, 64)
        content[6], content[8] = small.tobytes(), key.digest().of(data)
        for _ in range(head_changes):
            change(content, rng)
        files = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("model", "data")]
        try:
            os.write(files[0], stored_model.sign(msgspec.msgpack.encode(file), key.digest()))
            os.write(files[1], data)
            with planned_meanwhile(seed % 2):
                return self.device.prepare_from_cache(CacheFiles(*((fd,) for fd in files)), TOKEN)
        finally:
            for fd in files:
                os.close(fd)


def damage(data, rng, start):
    """Overwrite a few bytes from `start` on, or a word with an extreme number."""
    place = rng.randrange(start, len(data)) if len(data) > start else 0
    if rng.random() < 0.5:
        data[place] = rng.randrange(256)
    else:
        word = np.frombuffer((rng.choice(NUMBERS) & 0xFFFFFFFF).to_bytes(4, "little"), np.uint8)
        place -= place % 4
        data[place:place + 4] = word[:len(data) - place]


def change(content, rng):
    """Change one value somewhere in nested lists."""
    parent = content
    while True:
        place = rng.randrange(len(parent))
        child = parent[place]
        if isinstance(child, list) and child and rng.random() < 0.93:
            parent = child
            continue
        break
    kind = rng.random()
    if kind < 0.12:
        parent.insert(place, child)
    elif kind < 0.24:
        del parent[place]
    elif isinstance(child, bool):
        parent[place] = not child
    elif isinstance(child, int):
        parent[place] = rng.choice([child + 1, child - 1, child * 2, -child, rng.choice(NUMBERS)])
        if not -(1 << 63) <= parent[place] < 1 << 64:
            parent[place] = 0
    elif isinstance(child, float):
        parent[place] = rng.choice((child * 2, -child, rng.choice(FLOATS)))
    elif isinstance(child, list):
        parent[place] = rng.choice((None, [], child + child, child[::-1]))
    else:
        parent[place] = rng.choice((None, 0, "", "x", b"", b"x", [], rng.choice(NUMBERS), rng.choice(FLOATS)))
