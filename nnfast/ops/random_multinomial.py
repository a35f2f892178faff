"""RANDOM_MULTINOMIAL: class numbers drawn with the probabilities of a softmax [NN 15.74, 15.7]."""

import secrets

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature

_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10

PART = 1 << 14
"""Samples drawn between two checks of an execution's limits; an even number."""


def philox(seeds, blocks, first=0):
    """uint32[blocks, 4]: words of Philox4x32-10 with two 32-bit seeds, from block `first` on [NN 15.7]."""
    key, high = ([np.uint64(word) for word in _halves(seed)] for seed in seeds)
    number = np.arange(blocks, dtype=np.uint64) + np.uint64(first)
    c0, c1 = number & _LOW, number >> _WORD
    c2, c3 = (np.full(blocks, word) for word in high)
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = p1 >> _WORD ^ c1 ^ key[0], p1 & _LOW, p0 >> _WORD ^ c3 ^ key[1], p0 & _LOW
        key = [k + np.uint64(step) & _LOW for k, step in zip(key, _KEY_STEPS, strict=True)]
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def _halves(seed):
    """Low and high word of a seed, sign-extended to 64 bits."""
    return seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF


def uniform(seeds, count, first=0):
    """float64[count] in [0, 1) from number `first` (even) on: two words each, of which the first gives the upper 20
    bits."""
    words = philox(seeds, -(-count // 2), first // 2).reshape(-1, 2)[:count].astype(np.uint64)
    return ((words[:, 0] & np.uint64(0xFFFFF)) << _WORD | words[:, 1]) / 2.0**52


def validate(node):
    """Logits of rank 2, seeds of rank 1."""
    node.check_rank("logits", 2)
    node.check_rank("seeds", 1)


def infer(node):
    """Samples for each batch."""
    validate(node)
    if node["seeds"].shape != (2,):
        node.fail("seeds", f"shape is {list(node['seeds'].shape)}, must be [2]")
    count = node.scalar("sample_count")
    if count < 1:
        node.fail("sample_count", f"is {count}, must be at least 1")
    return [(node["logits"].shape[0], count)]


def compute(node, inputs):
    """Inverse of the running sums of exp(logit - maximum); classes without a finite logit are never drawn."""
    logits = inputs[0].astype(np.float64)
    finite = np.isfinite(logits)
    if not finite.any(axis=1).all():
        node.fail_run("logits", f"row {int(finite.any(axis=1).argmin())} has no finite value, must have one")
    logits = np.where(finite, logits, -np.inf)
    sums = np.cumsum(np.exp(logits - logits.max(axis=1, keepdims=True)), axis=1)
    seeds = inputs[2].tolist()
    if seeds == [0, 0]:
        seeds = [secrets.randbits(32) for _ in range(2)]
    (shape,) = infer(node)
    result, count = np.empty(shape[0] * shape[1], np.int32), shape[1]
    for first in range(0, result.size, PART):
        node.go_on()
        last = min(first + PART, result.size)
        drawn = uniform(seeds, last - first, first)
        for row in range(first // count, -(-last // count)):
            start, stop = max(first, row * count), min(last, (row + 1) * count)
            limits = sums[row]
            result[start:stop] = np.searchsorted(limits, drawn[start - first:stop - first] * limits[-1], side="right")
    return [result.reshape(shape)]


RANDOM_MULTINOMIAL = OpDef(
    OperationType.RANDOM_MULTINOMIAL,
    (Signature("logits:T sample_count:i32 seeds:I32 -> output:I32", ("1.2: F16", "1.2: F32")),),
    validate=validate, infer=infer, compute=compute,
)
