"""Models of one operation, of the standard or of nnfast's own, drawn from its signature: types that it takes, with any
shapes and values. Few are sound; the others reach the rules of operations that no seed has.
"""

from math import prod

import numpy as np

from ..errors import InvalidArgument
from ..model.builder import ModelBuilder
from ..model.types import (
    QUANT_RANGE,
    QUANTIZED_TYPES,
    SCALAR_TYPES,
    SYMMETRIC_TYPES,
    Definition,
    OperandType,
    OperationType,
    dtype_of,
)
from ..ops import registry
from ..ops.own import BY_NAME
from .flat import other_shape
from .signed import FLOATS, NUMBERS

OPERATIONS = (*(kind for kind in OperationType if hasattr(registry.lookup(kind), "signatures")), *BY_NAME.values())
SIZES, SMALL = (1, 1, 2, 2, 3, 4, 8), (0, 0, 1, 1, 1, 2, 2, 3, 4, -1)
LARGEST = 1 << 10
"""Elements of a tensor."""


def drawn(random):
    """A model of one operation; None where the builder refuses what was drawn."""
    op = registry.lookup(random.choice(OPERATIONS))
    signature = random.choice(op.signatures)
    try:
        return _model(op, signature, random)
    except InvalidArgument:
        return None


def _model(op, signature, random):
    b, left, inputs, outputs = ModelBuilder(), signature.start(), [], []
    shape = [random.choice(SIZES) for _ in range(random.choice((1, 2, 2, 3, 4, 4, 4, 5)))]

    def kinds(slots):
        nonlocal left
        more = random.randrange(3) if any(slot.variadic for slot in slots) else 0
        for slot in signature.expand(len(slots) + more, slots):
            kind = random.choice(sorted(signature.types(left, slot), key=_code))
            left = left if slot.variadic else signature.narrow(left, slot, kind)
            yield slot, kind

    for slot, kind in kinds(signature.inputs):
        if slot.optional and random.random() < 0.4:
            inputs.append(b.omitted(kind, *_quantization(kind, random)))
        else:
            inputs.append(_input(b, kind, shape, random, is_first=not inputs))
    for _, kind in kinds(signature.outputs):
        outputs.append(b.output(kind, (), *_quantization(kind, random)))
    return b.operation(op.type, inputs, outputs).build()


def _code(kind):
    return kind.code if isinstance(kind, Definition) else kind


def _quantization(kind, random):
    """(scale, zero point)."""
    if kind not in QUANTIZED_TYPES:
        return 0.0, 0
    low, high = (0, 0) if kind in SYMMETRIC_TYPES else QUANT_RANGE[kind]
    return random.choice((0.5, 0.25, 1 / 128, 1.0)), random.choice((0, low, high, min(high, 3)))


def _input(b, kind, shape, random, is_first):
    """A tensor of about this shape, an input of the model or (but for the first) a constant; or a scalar."""
    if not (kind.is_tensor if isinstance(kind, Definition) else kind not in SCALAR_TYPES):
        return b.scalar(_values(dtype_of(kind), (), random)[()], kind)
    shape = list(shape)
    match random.randrange(6):
        case 0:
            shape = other_shape(shape, random)
        case 1:
            shape = [random.choice((shape[-1], len(shape), 2, 4))]
        case 2:
            random.shuffle(shape)
    if prod(shape) > LARGEST:
        shape = [2, 2]
    scales = None
    if kind == OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL and shape:
        dim = random.randrange(len(shape))
        scales = dim, (0.5,) * shape[dim]
    facts = (*_quantization(kind, random), scales)
    if is_first or random.random() < 0.5 or not prod(shape) or not shape:
        return b.input(kind, shape, *facts)
    return b.constant(_values(dtype_of(kind), shape, random), kind, *facts)


def _values(dtype, shape, random):
    """Small numbers, one of them odd at times."""
    rng, is_float = np.random.default_rng(random.getrandbits(32)), dtype.kind in "fc"
    values = np.asarray(rng.standard_normal(shape) if is_float else rng.choice(SMALL, shape))
    if random.random() < 0.15:
        odd = random.choice(FLOATS) if is_float else np.array(random.choice(NUMBERS) & (1 << 64) - 1, np.uint64)
        values.reshape(-1)[random.randrange(values.size)] = odd if is_float else odd.view(np.int64)
    with np.errstate(all="ignore"):
        return values.astype(dtype)
