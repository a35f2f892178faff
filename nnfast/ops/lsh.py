"""LSH_PROJECTION: bits of locality sensitive hashes of a tensor (ops_a.md B)."""

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature

SPARSE_DEPRECATED, DENSE, SPARSE = 1, 2, 3

_KEYS = 0xc3a5c85c97cb3127, 0xb492b66fbe98f273, 0x9ae16a3b2f90404f
_K0, _K1, _K2 = (np.uint64(key) for key in _KEYS)
_START_X, _START_Y = np.uint64(81 * _KEYS[2] % 2**64), np.uint64((81 * _KEYS[1] + 113) % 2**64)


def validate(node):
    """Hash of rank 2 with at most 32 bits per value."""
    node.check_rank("hash", 2)
    shape = node["hash"].shape
    if shape is not None and shape[1] is not None and shape[1] > 32:
        node.fail("hash", f"dimension 1 is {shape[1]}, must be at most 32 bits")
    if node["input"].shape == ():
        node.fail("input", "rank is 0, must be at least 1")


def infer(node):
    """One value per hash for the sparse types, one per bit for the dense one."""
    validate(node)
    kind = node.check_in("type", (SPARSE_DEPRECATED, DENSE, SPARSE))
    count, bits = node["hash"].shape
    if kind != DENSE:
        if node.has("weight"):
            node.fail("weight", f"is given, must be omitted for type {kind}")
        return [(count,)]
    if not node.has("weight"):
        node.fail("weight", f"is omitted, must have a value for type {kind}")
    rows = node["input"].shape[0]
    if node["weight"].shape != (rows,):
        node.fail("weight", f"shape is {list(node['weight'].shape)}, must be [{rows}], one for each row of the input")
    return [(count * bits,)]


def compute(node, inputs):
    """A bit is the sign of the weighted sum of the fingerprints of (seed, row) over all rows."""
    hashes, source, weight, _ = inputs
    kind, rows = node.scalar("type"), len(source)
    seeds = hashes.astype("<f4")
    keys = np.empty((rows, 4 + source.nbytes // rows), np.uint8)
    keys[:, 4:] = np.ascontiguousarray(source).reshape(rows, -1).view(np.uint8)
    weights = np.float64(1) if weight is None else weight.astype(np.float64)
    scores = np.empty(seeds.shape)
    for place in np.ndindex(seeds.shape):
        keys[:, :4] = seeds[place].reshape(1).view(np.uint8)
        prints = fingerprint64(keys).view(np.int64).astype(np.float64)
        with np.errstate(all="ignore"):
            # A running sum adds in the order of the rows, which np.sum does not.
            scores[place] = np.cumsum(weights * prints)[-1]
    bits = scores > 0
    if kind == DENSE:
        return [bits.reshape(-1).astype(np.int32)]
    width = bits.shape[1]
    values = (bits.astype(np.int64) << np.arange(width - 1, -1, -1)).sum(axis=1)
    if kind == SPARSE:
        values += np.arange(len(values)) << width
    return [values.astype(np.int32)]


# -- Fingerprint64 -----------------------------------------------------------------------------------------------------
# One key per row. Arithmetic on uint64 arrays wraps, as the definition wants.
def fingerprint64(keys):
    """uint64[n]: the FarmHash "na" fingerprint of each row of uint8[n, length]."""
    length = keys.shape[1]
    if length > 64:
        return _longer(keys)
    if length > 32:
        return _up_to_64(keys)
    if length > 16:
        return _up_to_32(keys, _K1)[-1]
    return _up_to_16(keys)


def _fetch(keys, at, count=8):
    """Little-endian words of `count` bytes of every row; a negative `at` counts from the end."""
    at = at % keys.shape[1]
    return np.ascontiguousarray(keys[:, at:at + count]).view(f"<u{count}")[:, 0].astype(np.uint64)


def _rotate(v, count):
    return v >> np.uint64(count) | v << np.uint64(64 - count)


def _shift_mix(v):
    return v ^ v >> np.uint64(47)


def _mix(u, v, m):
    """The digest's H(u, v, m)."""
    a = _shift_mix((u ^ v) * m)
    return _shift_mix((v ^ a) * m) * m


def _multiplier(keys):
    return _K2 + np.uint64(2 * keys.shape[1])


def _up_to_16(keys):
    count, length = keys.shape
    if length == 0:
        return np.full(count, _K2)
    m, n = _multiplier(keys), np.uint64(length)
    if length >= 8:
        a, b = _fetch(keys, 0) + _K2, _fetch(keys, -8)
        return _mix(_rotate(b, 37) * m + a, (_rotate(a, 25) + b) * m, m)
    if length >= 4:
        return _mix(n + (_fetch(keys, 0, 4) << np.uint64(3)), _fetch(keys, -4, 4), m)
    first, middle, last = (keys[:, at].astype(np.uint64) for at in (0, length // 2, length - 1))
    mixed = (first + (middle << np.uint64(8))) * _K2 ^ (n + (last << np.uint64(2))) * _K0
    return _shift_mix(mixed) * _K2


def _up_to_32(keys, k):
    """(a, b, m, first word, result); lengths above 32 go on from these."""
    m = _multiplier(keys)
    a, b = _fetch(keys, 0) * k, _fetch(keys, 8)
    c, d = _fetch(keys, -8) * m, _fetch(keys, -16) * _K2
    first = _rotate(a + b, 43) + _rotate(c, 30) + d
    return a, first, m, _mix(first, a + _rotate(b + _K2, 18) + c, m)


def _up_to_64(keys):
    a, y, m, z = _up_to_32(keys, _K2)
    e, f = _fetch(keys, 16) * m, _fetch(keys, 24)
    g, h = (y + _fetch(keys, -32)) * m, (z + _fetch(keys, -24)) * m
    return _mix(_rotate(e + f, 43) + _rotate(g, 30) + h, e + _rotate(f + a, 18) + g, m)


def _weak(keys, at, a, b):
    """The digest's W(s, a, b)."""
    w, x, y, z = (_fetch(keys, at + step) for step in (0, 8, 16, 24))
    a = a + w
    b = _rotate(b + a + z, 21)
    c = a
    a = a + x + y
    return a + z, b + _rotate(a, 44) + c


def _longer(keys):
    count, length = keys.shape
    x = _START_X + _fetch(keys, 0)
    y = np.full(count, _START_Y)
    z = _shift_mix(y * _K2 + np.uint64(113)) * _K2
    v = w = (np.zeros(count, np.uint64),) * 2
    nine = np.uint64(9)

    def block(at, m, by, x, y, z, v, w):
        x = _rotate(x + y + v[0] + _fetch(keys, at + 8), 37) * m
        y = _rotate(y + v[1] + _fetch(keys, at + 48), 42) * m
        x = x ^ w[1] * by
        y = y + v[0] * by + _fetch(keys, at + 40)
        z = _rotate(z + w[0], 33) * m
        v = _weak(keys, at, v[1] * m, x + w[0])
        w = _weak(keys, at + 32, z + w[1], y + _fetch(keys, at + 16))
        return z, y, x, v, w

    for at in range(0, 64 * ((length - 1) // 64), 64):
        x, y, z, v, w = block(at, _K1, np.uint64(1), x, y, z, v, w)
    m = _K1 + ((z & np.uint64(255)) << np.uint64(1))
    first = w[0] + np.uint64((length - 1) & 63)
    v = (v[0] + first, v[1])
    w = (first + v[0], w[1])
    x, y, z, v, w = block(length - 64, m, nine, x, y, z, v, w)
    return _mix(_mix(v[0], w[0], m) + _shift_mix(y) * _K0 + z, _mix(v[1], w[1], m) + x, m)


LSH_PROJECTION = OpDef(
    OperationType.LSH_PROJECTION,
    (Signature("hash:H input:T weight?:H type:i32 -> output:I32", tuple(
        f"{since}: {hash_type} {name}" for since, hash_type in (("1.0", "F32"), ("1.2", "F16"))
        for name in ("F32", "F16", "I32", "Q8")
    )),),
    validate=validate, infer=infer, compute=compute,
)
