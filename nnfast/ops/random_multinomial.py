"""RANDOM_MULTINOMIAL: class numbers drawn with the probabilities of a softmax (ops_b.md 74, 2.7)."""

import secrets

import numpy as np

from ..model.types import OperationType
from .base import OpDef, Signature

_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10


def philox(seeds, blocks):
    """uint32[blocks, 4]: the first words of Philox4x32-10 with two 32-bit seeds (ops_b.md 2.7)."""
    key, high = ([np.uint64(word) for word in _halves(seed)] for seed in seeds)
    number = np.arange(blocks, dtype=np.uint64)
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


def uniform(seeds, count):
    """float64[count] in [0, 1), two words each, of which the first gives the upper 20 bits."""
    words = philox(seeds, -(-count // 2)).reshape(-1, 2)[:count].astype(np.uint64)
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
    drawn = uniform(seeds, shape[0] * shape[1]).reshape(shape)
    samples = [np.searchsorted(row, u * row[-1], side="right") for row, u in zip(sums, drawn, strict=True)]
    return [np.stack(samples).astype(np.int32)]


RANDOM_MULTINOMIAL = OpDef(
    OperationType.RANDOM_MULTINOMIAL,
    (Signature("logits:T sample_count:i32 seeds:I32 -> output:I32", ("1.2: F16", "1.2: F32")),),
    validate=validate, infer=infer, compute=compute,
)
