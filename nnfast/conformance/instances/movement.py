"""Instances of the operations that move, pick or reduce values."""

from math import prod

import numpy as np

from .draft import T, divisors, makes


def with_ones(d, shape):
    """The shape with dimensions of 1 strewn in, of rank 4 at most."""
    shape = list(shape)
    while len(shape) < 4 and d.chance(0.6):
        shape.insert(d.int(0, len(shape)), 1)
    return tuple(shape)


def signed(d, axis, rank):
    """The axis, now and then counted from behind."""
    return axis - rank if d.chance(0.3) else axis


@makes("RESHAPE", odd=["input"])
def reshape(d):
    source = d.shape()
    left, target = prod(source), []
    for _ in range(d.int(0, 3)):
        target.append(d.choice(*divisors(left)))
        left //= target[-1]
    target.insert(d.int(0, len(target)), left)
    if d.chance(0.4):
        target[d.int(0, len(target) - 1)] = -1
    d.tensor("input", source)
    d.put("shape", np.int32(target))


@makes("SQUEEZE", odd=["input"])
def squeeze(d):
    shape = with_ones(d, d.shape(1, 3))
    d.tensor("input", shape)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    if ones and d.chance(0.7):
        d.put("axes", np.int32([signed(d, axis, len(shape)) for axis in ones if d.chance(0.6)] or ones[:1]))


@makes("EXPAND_DIMS", odd=["input"])
def expand_dims(d):
    shape = d.shape()
    d.tensor("input", shape)
    d.scalar("axis", signed(d, d.int(0, len(shape)), len(shape) + 1))


@makes("TRANSPOSE", odd=["input"])
def transpose(d):
    shape = d.shape()
    d.tensor("input", shape)
    if d.chance(0.8):
        d.put("perm", d.rng.permutation(len(shape)))


@makes("SLICE", odd=["input"])
def slice_(d):
    shape = d.shape()
    begin = [d.int(0, size - 1) for size in shape]
    size = [d.choice(-1, d.int(1, whole - start)) for whole, start in zip(shape, begin)]
    source = d.tensor("input", shape)
    d.put("begin", np.int32(begin))
    d.put("size", np.int32(size))
    d.result(0, source.scale, source.zero_point)


@makes("STRIDED_SLICE", odd=["input"])
def strided_slice(d):
    shape = d.shape()
    begin, end, strides, masks = [], [], [], [0, 0, 0]
    for axis, size in enumerate(shape):
        low = d.int(0, size - 1)
        high = d.int(low, size - 1)
        stride = d.int(1, 3)
        if d.chance(0.2):
            masks[2] |= 1 << axis
            begin.append(low), end.append(low + 1), strides.append(1)
            continue
        if d.chance(0.3):
            begin.append(high), end.append(low - 1 if low else -size - 1), strides.append(-stride)
        else:
            begin.append(signed(d, low, size)), end.append(high + 1), strides.append(stride)
        for mask in (0, 1):
            if d.chance(0.2):
                masks[mask] |= 1 << axis
    source = d.tensor("input", shape)
    for name, values in (("begin", begin), ("end", end), ("strides", strides)):
        d.put(name, np.int32(values))
    for name, mask in zip(("begin_mask", "end_mask", "shrink_axis_mask"), masks):
        d.scalar(name, mask)
    d.result(0, source.scale, source.zero_point)


@makes("PAD", "PAD_V2", "MIRROR_PAD", odd=["input"])
def pad(d):
    shape = d.shape()
    d.tensor("input", shape)
    mode = d.scalar("mode", d.int(0, 1))
    most = [size - 1 + mode if d.has("mode") else 4 for size in shape]
    d.put("paddings", np.int32([[d.int(0, min(m, 6)), d.int(0, min(m, 6))] for m in most]).reshape(-1, 2))
    if d.has("pad_value"):
        low = -128 if d.types["input"] == T.TENSOR_QUANT8_ASYMM_SIGNED else 0
        d.scalar("pad_value", d.int(low, low + 255) if d.types["pad_value"] == T.INT32 else d.real(-2, 2))


@makes("TILE", odd=["input"])
def tile(d):
    shape = d.shape()
    d.tensor("input", shape)
    d.put("multiples", np.int32([d.choice(1, 1, 2, 3) for _ in shape]))


@makes("GATHER", odd=["input"])
def gather(d):
    shape = d.shape()
    axis = d.int(0, len(shape) - 1)
    source = d.tensor("input", shape)
    d.scalar("axis", signed(d, axis, len(shape)))
    d.put("indices", d.rng.integers(0, shape[axis], d.shape(1, 2)), constant=d.chance(0.5))
    d.result(0, source.scale, source.zero_point)


@makes("EMBEDDING_LOOKUP", odd=["values"])
def embedding_lookup(d):
    shape = d.shape(2, 4)
    known = d.chance(0.5)
    d.put("lookups", d.rng.integers(0, shape[0], d.size()), constant=known)
    d.tensor("values", shape, constant=not known)


@makes("HASHTABLE_LOOKUP", odd=["values"])
def hashtable_lookup(d):
    shape = d.shape(2, 3)
    keys = np.sort(d.rng.choice(max(200, shape[0]), shape[0], replace=False))
    d.put("lookups", d.rng.choice([*keys, 777], d.size()))
    d.put("keys", keys)
    d.tensor("values", shape)


@makes("CONCATENATION", "PACK", odd=["input"])
def concatenation(d):
    shape = d.shape(1, 4 if d.op.name == "CONCATENATION" else 3)
    stacks = d.op.name == "PACK"
    axis = d.int(0, len(shape) - (0 if stacks else 1))
    d.scalar("axis", axis)
    common = d.quantization(d.types["input"])
    same = stacks or d.chance(0.5)
    for place in range(d.int(1, 5)):
        sizes = list(shape)
        if not stacks:
            sizes[axis] = d.size(9)
        d.tensor("input", tuple(sizes), common if same else None, constant=place > 0 and d.chance(0.3))
    if same:
        d.result(0, *common)


@makes("SPLIT", odd=["input"])
def split(d):
    shape = list(d.shape())
    axis, parts = d.int(0, len(shape) - 1), d.int(1, 4)
    shape[axis] = parts * min(shape[axis], 9)
    d.tensor("input", tuple(shape))
    d.scalar("axis", signed(d, axis, len(shape)))
    d.scalar("num_splits", parts)
    d.output_count = parts


@makes("TOPK_V2", odd=["input"])
def topk(d):
    shape = d.shape()
    d.tensor("input", shape)
    d.scalar("k", d.int(1, shape[-1]))


@makes("REVERSE", odd=["input"])
def reverse(d):
    shape = d.shape(1, 5)
    source = d.tensor("input", shape)
    d.put("axis", np.int32([d.int(0, len(shape) - 1)]))
    d.result(0, source.scale, source.zero_point)


@makes("CHANNEL_SHUFFLE", odd=["input"])
def channel_shuffle(d):
    shape = d.shape()
    axis = d.int(0, len(shape) - 1)
    d.tensor("input", shape)
    d.scalar("num_groups", d.choice(*divisors(shape[axis])))
    d.scalar("axis", signed(d, axis, len(shape)))


@makes("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", odd=["input"])
def depth_and_space(d):
    block = d.scalar("block_size", d.int(1, 4))
    n, h, w, c = d.int(1, 3), d.size(7), d.size(7), d.size(12)
    shape = (n, h, w, c * block * block) if d.op.name == "DEPTH_TO_SPACE" else (n, h * block, w * block, c)
    d.image("input", shape, d.layout())


@makes("BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", odd=["input"])
def batch_and_space(d):
    blocks = [d.int(1, 3), d.int(1, 3)]
    n, h, w, c = d.int(1, 3), d.size(7), d.size(7), d.size(12)
    nchw = d.layout()
    d.put("block_shape", np.int32(blocks))
    if d.op.name == "BATCH_TO_SPACE_ND":
        d.image("input", (n * blocks[0] * blocks[1], h, w, c), nchw)
        return
    paddings = []
    for size, block in zip((h, w), blocks):
        before = d.int(0, 3)
        after = -(size + before) % block
        paddings.append((before, after + block * d.int(0, 1)))
    d.image("input", (n, h, w, c), nchw)
    d.put("paddings", np.int32(paddings))


@makes("FILL")
def fill(d):
    d.put("dims", np.int32(d.shape()), constant=d.chance(0.5))
    d.scalar("value", d.int(-9, 9), constant=False)


@makes("ARGMAX", "ARGMIN", odd=["input"])
def arg(d):
    shape = d.shape(1, 5)
    d.tensor("input", shape)
    d.scalar("axis", signed(d, d.int(0, len(shape) - 1), len(shape)))


@makes("MEAN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_SUM", odd=["input"])
def reduce(d):
    shape = d.shape()
    rank = len(shape)
    # The terms of a long sum or product are made small or near one, as the tolerance is absolute.
    values = {"low": 0.7, "high": 1.3} if d.op.name == "REDUCE_PROD" else {}
    if d.op.name == "REDUCE_SUM":
        values = {"spread": prod(shape) ** -0.5}
    d.tensor("input", shape, **values)
    axes = [signed(d, axis, rank) for axis in range(rank) if d.chance(0.5)] or [d.int(0, rank - 1)]
    d.put("axes", np.int32(axes))
    d.scalar("keep_dims", d.int(0, 1))
