"""The criteria of CTS for random graphs [NN 16.10], and its float32 results of single quantized operations."""

from dataclasses import dataclass, replace

import numpy as np

from ..errors import Error
from ..model.types import DTYPES, QUANT_RANGE, QUANTIZED_TYPES, OperandType, OperationType
from .reference import evaluate

T = OperandType


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a type of output may differ by: mean, mean square, and each value by atol + rtol * |expected|."""

    bias: float
    mse: float
    atol: float
    rtol: float = 0.0


def _criteria(f32, f16, quant):
    return {"f32": Criterion(*f32, f32[-1]), "f16": Criterion(*f16, f16[-1]), "i32": Criterion(np.inf, np.inf, 1.0),
            "quant": Criterion(*quant)}


CRITERIA = {
    "strict": _criteria((1e-7, 1e-10, 1e-6), (1e-4, 1e-8, 1e-3), (0.1, 0.1, 1.0)),
    "medium": _criteria((1e-6, 1e-8, 1e-5), (1e-3, 1e-5, 1e-2), (1.2, 1.2, 2.0)),
    "relaxed": _criteria((3e-5, 1e-6, 1e-3), (5e-3, 1e-3, 1.0), (1.5, 1.5, 10.0)),
    "conv": _criteria((4e-4, 1e-5, 2e-2), (5e-2, 1e-2, 1.0), (1.5, 1.5, 10.0)),
    "small": _criteria((4e-4, 1e-5, 1e-2), (5e-2, 1e-2, 1.0), (2.0, 2.0, 12.0)),
    "large": _criteria((1e-2, 1e-4, 1e-1), (1e-1, 5e-2, 1.0), (2.0, 2.0, 12.0)),
}
"""Name -> criteria by kind of type; the last two are for graphs of that size, the others for single operations."""

_OF_OPERATIONS = {
    "strict": """ARGMAX ARGMIN BATCH_TO_SPACE_ND CHANNEL_SHUFFLE DEPTH_TO_SPACE EMBEDDING_LOOKUP EQUAL EXPAND_DIMS FILL
        GATHER GREATER GREATER_EQUAL HASHTABLE_LOOKUP LESS LESS_EQUAL LOGICAL_AND LOGICAL_NOT LOGICAL_OR MIRROR_PAD
        NOT_EQUAL PACK PAD PAD_V2 RANK RESHAPE REVERSE SELECT SLICE SPACE_TO_BATCH_ND SPACE_TO_DEPTH SQUEEZE
        STRIDED_SLICE TILE TOPK_V2 TRANSPOSE""".split(),
    "medium": """ABS ADD CAST CONCATENATION DEQUANTIZE ELU FLOOR HARD_SWISH MAXIMUM MINIMUM MUL NEG PRELU QUANTIZE RELU
        RELU1 RELU6 SPLIT SUB""".split(),
    "conv": "BATCH_MATMUL CONV_2D DEPTHWISE_CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D".split(),
}
_CRITERIA_OF = {name: criteria for criteria, names in _OF_OPERATIONS.items() for name in names}


def criteria_of(case, size):
    """The criteria of a case: those of its size, or of its only operation."""
    if size in CRITERIA:
        return CRITERIA[size]
    return CRITERIA[_CRITERIA_OF.get(OperationType(case.model.main.operations[0].type).name, "relaxed")]


LEAST_JUDGED = 10
"""Elements from which on mean and mean square count."""

LARGEST_JUDGED = {"f32": 1e3, "f16": 1e2}
"""Floats that are expected to be larger, or no numbers, are not compared."""

KINDS = {T.TENSOR_FLOAT32: "f32", T.TENSOR_FLOAT16: "f16", T.TENSOR_INT32: "i32", T.INT32: "i32"}


def breach(type_, wanted, found, criteria):
    """What breaks the criteria in an output of an operand type, or ""."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"is {found.dtype} {list(found.shape)}, must be {wanted.dtype} {list(wanted.shape)}"
    if type_ == T.TENSOR_BOOL8:
        wrong, most = int(np.count_nonzero(wanted != found)), -(-wanted.size // 10)
        return "" if wrong <= most else f"{wrong} of {wanted.size} booleans are wrong, {most} may be"
    kind = KINDS.get(type_, "quant")
    rule, expected = criteria[kind], np.asarray(wanted, np.float64).reshape(-1)
    kept = np.ones(expected.size, bool)
    if kind in LARGEST_JUDGED:
        kept = np.abs(expected) <= LARGEST_JUDGED[kind]
    expected, actual = expected[kept], np.asarray(found, np.float64).reshape(-1)[kept]
    if not expected.size:
        return ""
    errors = actual - expected
    bad = ~(np.abs(errors) <= rule.atol + rule.rtol * np.abs(expected))
    if bad.any():
        place = int(np.argmax(bad))
        return (f"a value is {actual[place]:.9g}, must be {expected[place]:.9g}; {int(bad.sum())} of {bad.size} are "
                "wrong")
    if expected.size >= LEAST_JUDGED:
        scaled = errors / np.maximum(1.0, np.abs(expected)) if kind in LARGEST_JUDGED else errors
        bias, mse = abs(float(scaled.mean())), float((scaled**2).mean())
        if bias > rule.bias or mse > rule.mse:
            return (f"mean difference {bias:.3g} and mean square {mse:.3g}, must be at most {rule.bias:g} and "
                    f"{rule.mse:g}")
    return ""


# -- float32 -----------------------------------------------------------------------------------------------------------
AS_THEY_ARE = frozenset((
    OperationType.QUANTIZE, OperationType.DEQUANTIZE, OperationType.CAST, OperationType.HASHTABLE_LOOKUP,
    OperationType.LSH_PROJECTION))
"""Operations whose codes, or whose bytes, are their meaning."""

UNCOVERED = frozenset((
    OperationType.AXIS_ALIGNED_BBOX_TRANSFORM, OperationType.BOX_WITH_NMS_LIMIT, OperationType.GENERATE_PROPOSALS))
"""Quantized operations that CTS draws none of: what they pick out changes as a whole with a last place."""

_FLOAT_OF = {T.TENSOR_FLOAT16: T.TENSOR_FLOAT32, T.FLOAT16: T.FLOAT32, T.TENSOR_QUANT8_SYMM_PER_CHANNEL:
             T.TENSOR_FLOAT32} | dict.fromkeys(QUANTIZED_TYPES, T.TENSOR_FLOAT32)


def in_float32(case):
    """The outputs of a single operation on codes or halves as its float32 form has them, rounded to the types that they
    have; None where CTS has no such results.
    """
    main = case.model.main
    (operation,) = main.operations
    if operation.type in AS_THEY_ARE | UNCOVERED:
        return None
    known, operands = dict(zip(main.inputs, case.inputs)), list(main.operands)
    for place, operand in enumerate(operands):
        scale, zero_point = operand.scale, operand.zero_point
        wanted = _FLOAT_OF.get(operand.type, T.TENSOR_FLOAT32 if operand.type == T.TENSOR_INT32 and scale else None)
        if operand.type == T.INT32 and _is_pad_value(operation, place, main):
            wanted, source = T.FLOAT32, main.operands[operation.inputs[0]]
            scale, zero_point = source.scale, source.zero_point
        if wanted is None:
            continue
        value = operand.data if operand.is_constant else known.get(place)
        operand = replace(operand, type=wanted, scale=0.0, zero_point=0, channel_quant=None)
        if value is not None:
            value = _real(value, scale, zero_point, main.operands[place].channel_quant)
            if operand.is_constant:
                operand = replace(operand, data=value)
            else:
                known[place] = value
        operands[place] = operand
    if all(new.type == old.type for new, old in zip(operands, main.operands)):
        return None
    try:
        values = evaluate(case.model.with_main(operands=tuple(operands)), [known[place] for place in main.inputs])
    except Error:
        return None  # there is no such form
    return [_stored(values[place], main.operands[place], own) for place, own in zip(main.outputs, case.expected)]


def _is_pad_value(operation, place, main):
    return operation.type == OperationType.PAD_V2 and place == operation.inputs[2] and \
        main.operands[operation.inputs[0]].type in QUANTIZED_TYPES


def _real(value, scale, zero_point, channels):
    value = np.asarray(value, np.float64)
    if channels is not None:
        shape = [-1 if axis == channels.dim else 1 for axis in range(value.ndim)]
        value = value * np.array(channels.scales).reshape(shape)
    elif scale:
        value = (value - zero_point) * scale
    return np.asarray(value, np.float32)


def _stored(real, operand, own):
    """A float32 result in the type of an output: codes are rounded half away from zero. own: what stands for NaN, of
    which no code is right.
    """
    if operand.type not in QUANTIZED_TYPES:
        with np.errstate(over="ignore"):
            return np.asarray(real, DTYPES[operand.type])
    with np.errstate(over="ignore"):
        steps = np.nan_to_num(np.asarray(real, np.float64)) / operand.scale
    low, high = QUANT_RANGE[operand.type]
    codes = np.sign(steps) * np.floor(np.abs(steps) + 0.5) + operand.zero_point
    return np.where(np.isnan(real), own, np.clip(codes, low, high)).astype(DTYPES[operand.type])
