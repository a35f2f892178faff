"""TFLite's RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL and MULTINOMIAL: numbers of a Philox generator, which goes on.

The state of the generator, the number of the next block of four words, is an input and an output: 64 bits as two int32.
"""

import secrets
from math import prod

import numpy as np

from .random_multinomial import philox, uniform
from .tfl import INDEXES, dimensions, own

_LEAST = np.float32(1e-7)
_SKIPPED = 512
"""Blocks that LiteRT leaves out for each sample of MULTINOMIAL that a run may draw."""


def _wide(words):
    """Numbers of 64 bits from pairs of int32, the lower word first."""
    return [int(number) for number in np.ascontiguousarray(words, np.int32).view(np.uint64)]


def _seeds(inputs):
    seeds = _wide(inputs[3 if len(inputs) > 3 else 2])
    return seeds if any(seeds) else [secrets.randbits(64) for _ in range(2)]


def _moved(state, blocks):
    """The state `blocks` later."""
    return np.array([_wide(state)[0] + blocks & (1 << 64) - 1], np.uint64).view(np.int32)


def _fractions(words):
    """float32 in [0, 1) of the lower 23 bits."""
    return ((words & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)


def _check_words(node):
    for name, count in (("state", 2), ("seeds", 4)):
        if node[name].shape != (count,):
            node.fail(name, f"has shape {list(node[name].shape)}, must be [{count}]")


# -- RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL --------------------------------------------------------------------------
def infer(node):
    """The given shape, and the state."""
    _check_words(node)
    return [dimensions(node, "shape"), (2,)]


def _words(node, inputs):
    (shape, _), state = infer(node), inputs[1]
    blocks = -(-prod(shape) // 4)
    return philox(_seeds(inputs), blocks, _wide(state)[0]), shape, _moved(state, blocks)


def compute_uniform(node, inputs):
    """Numbers in [0, 1)."""
    words, shape, state = _words(node, inputs)
    return [_fractions(words).reshape(-1)[:prod(shape)].reshape(shape), state]


def compute_normal(node, inputs):
    """Two numbers of a normal distribution from two words, as Box and Muller have it."""
    words, shape, state = _words(node, inputs)
    radius, angle = _fractions(words).reshape(-1, 2).T
    radius = np.sqrt(np.float32(-2) * np.log(np.maximum(radius, _LEAST).astype(np.float64)).astype(np.float32))
    angle = (2 * np.pi * angle.astype(np.float64)).astype(np.float32).astype(np.float64)
    pairs = np.stack([np.sin(angle), np.cos(angle)], -1).astype(np.float32) * radius[:, None]
    return [pairs.reshape(-1)[:prod(shape)].reshape(shape), state]


TFL_RANDOM_UNIFORM, TFL_RANDOM_STANDARD_NORMAL = (
    own(name, {"shape:I state:I32 seeds:I32 -> output:F32 next:I32": {"I": INDEXES}}, compute, infer)
    for name, compute in (("TFL_RANDOM_UNIFORM", compute_uniform), ("TFL_RANDOM_STANDARD_NORMAL", compute_normal)))


# -- MULTINOMIAL -----------------------------------------------------------------------------------------------------
def infer_multinomial(node):
    """Samples for each row, and the state."""
    node.check_rank("logits", 2)
    _check_words(node)
    count, (rows, classes) = node.scalar("count"), node["logits"].shape
    if count < 0 or classes < 1:
        node.fail("count", f"is {count} of {classes} classes, must not be negative, of 1 class or more")
    return [(rows, count), (2,)]


def compute_multinomial(node, inputs):
    """Class numbers with the probabilities of a softmax; what is not finite is never drawn."""
    (shape, _), state = infer_multinomial(node), inputs[2]
    logits = inputs[0].astype(np.float64)
    finite = np.isfinite(logits)
    largest = np.max(logits, 1, keepdims=True, initial=np.finfo(np.float32).min, where=finite)
    sums = np.cumsum(np.exp(np.where(finite, logits - largest, -np.inf)), 1)
    draws = uniform(_seeds(inputs), prod(shape), 2 * _wide(state)[0]).reshape(shape) * sums[:, -1:]
    picks = [np.searchsorted(row, values, "right") for row, values in zip(sums, draws)]
    result = np.array(picks, node.outputs[0].dtype).reshape(shape)
    return [result, _moved(state, shape[0] * -(-shape[1] // 4) * 4 * _SKIPPED)]


TFL_MULTINOMIAL = own(
    "TFL_MULTINOMIAL",
    {"logits:F32 count:C state:I32 seeds:I32 -> output:U next:I32": {"C": ("I32", "i32"), "U": ("I32", "I64")}},
    compute_multinomial, infer_multinomial)


# -- STABLEHLO_RNG_BIT_GENERATOR -------------------------------------------------------------------------------------
_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = np.uint32(0x1BD11BDA)
THREEFRY = 2
"""Number of the algorithm; 0 and 1 are Philox."""


def threefry(key, blocks, first):
    """uint32[blocks, 2]: words of Threefry2x32-20 with a 64-bit key, from block `first` on."""
    number = np.arange(blocks, dtype=np.uint64) + np.uint64(first)
    a, b = number.astype(np.uint32), (number >> np.uint64(32)).astype(np.uint32)
    keys = [np.uint32(key & 0xFFFFFFFF), np.uint32(key >> 32)]
    keys.append(keys[0] ^ keys[1] ^ _PARITY)
    a, b = a + keys[0], b + keys[1]
    for step in range(5):
        for turn in _ROTATIONS[step % 2]:
            a = a + b
            b = (b << np.uint32(turn) | b >> np.uint32(32 - turn)) ^ a
        a, b = a + keys[(step + 1) % 3], b + keys[(step + 2) % 3] + np.uint32(step + 1)
    return np.stack([a, b], 1)


def infer_bits(node):
    """The state, and the given shape."""
    node.check_rank("state", 1)
    words, algorithm, dims = node["state"].shape[0], node.scalar("algorithm"), dimensions(node, "shape")
    if words not in ((2,) if algorithm == THREEFRY else (2, 3)) or not 0 <= algorithm <= THREEFRY:
        node.fail("state", f"has {words} words for algorithm {algorithm}; Threefry (2) takes 2, Philox (0, 1) 2 or 3")
    return [(words,), dims]


def compute_bits(node, inputs):
    """The key is the first word of the state, the number of the first block the second one."""
    state, target = inputs[0], node.outputs[1]
    shape = infer_bits(node)[1]
    is_threefry = node.scalar("algorithm") == THREEFRY
    count = prod(shape) * target.dtype.itemsize // 4
    blocks = -(-count // (2 if is_threefry else 4))
    key, first, last = (int(word) for word in (state[0], state[1], state[-1] if len(state) == 3 else state[0]))
    words = threefry(key, blocks, first) if is_threefry else philox((key, last), blocks, first)
    moved = state.copy()
    moved[1] = first + blocks & (1 << 64) - 1
    return [moved, words.reshape(-1)[:count].view(target.dtype).reshape(shape)]


TFL_STABLEHLO_RNG_BIT_GENERATOR = own(
    "TFL_STABLEHLO_RNG_BIT_GENERATOR",
    {"state:S shape:I algorithm:i32 -> next:S output:V": {"S": ("U64",), "I": ("I32",), "V": (
        "I32", "I64", "U32", "U64")}}, compute_bits, infer_bits)
