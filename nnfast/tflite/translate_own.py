"""TFLite operators, or forms of them, that NNAPI lacks, as nnfast's own operations."""

import numpy as np

from ..model.types import OperandType, OperationType
from ..record import replace
from .graph import frozen
from .own import extends, new_size, scalar, translate
from .own import resize as resized
from .schema import BUILTINS, Builtin, TensorType
from .values import created

B = Builtin
_PLAIN = (
    "ABS ATAN2 BATCH_TO_SPACE_ND BITCAST BITWISE_XOR BROADCAST_ARGS BROADCAST_TO CAST CEIL COMPLEX_ABS COS"
    " DILATE DYNAMIC_UPDATE_SLICE ELU"
    " EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FILL FLOOR FLOOR_DIV FLOOR_MOD GATHER_ND GREATER GREATER_EQUAL HARD_SWISH"
    " HASHTABLE_LOOKUP"
    " IMAG LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC MATRIX_DIAG MATRIX_SET_DIAG MAXIMUM MINIMUM"
    " NEG NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 NOT_EQUAL PAD PADV2 POW"
    " RANGE RANK REAL RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 REVERSE_V2 RFFT2D RIGHT_SHIFT ROUND RSQRT SCATTER_ND"
    " SEGMENT_SUM SHAPE SIGN SIN SLICE SPACE_TO_BATCH_ND"
    " SPARSE_TO_DENSE SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE TANH TILE TOPK_V2"
    " TRANSPOSE UNIQUE UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_MIN UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_SUM WHERE"
    " ZEROS_LIKE"
).split()
"""Operators without relevant options, with the same tensors in our form."""

_OPTIONS = {
    "GELU": ("approximate",), "CONCATENATION": ("axis",), "PACK": ("axis",), "UNPACK": ("axis",),
    "ONE_HOT": ("axis",), "MIRROR_PAD": ("mode",), "GATHER": ("axis", "batch_dims"),
    "REVERSE_SEQUENCE": ("seq_dim", "batch_dim"), "CUMSUM": ("exclusive", "reverse"), "LEAKY_RELU": ("alpha",),
    "BATCH_MATMUL": ("adj_x", "adj_y"), "ADD": ("activation",), "SUB": ("activation",), "MUL": ("activation",),
    "DIV": ("activation",), "EMBEDDING_LOOKUP_SPARSE": ("combiner",),
    "FAKE_QUANT": ("low", "high", "bits", "narrow"), "REDUCE_WINDOW": ("function",),
    "STRIDED_SLICE": ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "offset"),
    **dict.fromkeys(("SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"),
                    ("keep_dims",)),
}
"""Operators whose options become scalars after their tensors."""


@extends(*(BUILTINS[name] for name in (*_PLAIN, *_OPTIONS)))
def plain(b, op):
    """The operator unchanged."""
    options = [getattr(op.options, name) for name in _OPTIONS.get(op.name, ())]
    if op.name == "CONCATENATION" and op.options.activation:
        b.refuse(op, f"fused activation is {op.options.activation}, must be 0 (none)")
    translate(b, op, f"TFL_{op.name}", [scalar(b, op, value) for value in options])


@extends(B.RESHAPE)
def reshape(b, op):
    """The shape comes from a tensor or an option."""
    tensors = [b.tensor(op, place) for place in (0, 1)]
    if tensors[1] is not None:
        translate(b, op, "TFL_RESHAPE", inputs=tensors)
    elif op.options.new_shape is None or not len(op.options.new_shape):
        b.refuse(op, "has no shape")
    else:
        translate(b, op, "TFL_RESHAPE", (b.ints(op.options.new_shape.tolist()),), inputs=tensors[:1])


@extends(B.SQUEEZE)
def squeeze(b, op):
    """The dimensions are an option."""
    axes = op.options.squeeze_dims
    given = axes is not None and len(axes)
    more = (b.ints(axes.tolist()) if given else b.omitted(OperandType.TENSOR_INT32, 1),)
    translate(b, op, "TFL_SQUEEZE", more)


@extends(B.SELECT, B.SELECT_V2)
def select(b, op):
    """SELECT, which may choose whole rows."""
    translate(b, op, f"TFL_{op.name}", (b.bool(op.name == "SELECT"),))


@extends(B.BUCKETIZE)
def bucketize(b, op):
    """The boundaries are an option."""
    values = op.options.boundaries
    if values is None or not len(values):
        b.refuse(op, "has no boundaries")
    translate(b, op, "TFL_BUCKETIZE", (b.reals(values),))


@extends(B.ARG_MAX, B.ARG_MIN)
def arg(b, op):
    """Places of any integer type."""
    if b.result(op).type not in (TensorType.INT32, TensorType.INT64):
        b.refuse(op, "output must be int32 or int64")
    translate(b, op, f"TFL_{op.name}")


@extends(B.DEQUANTIZE)
def dequantize(b, op):
    """DEQUANTIZE of a constant with zero points or scales that NNAPI does not accept, computed now."""
    b.check_counts(op, 1)
    x = b.tensor(op, 0)
    if not b.is_constant(x) or x.is_sparse or x.type not in (TensorType.INT8, TensorType.UINT8, TensorType.INT16) \
            or not x.scales or b.result(op).type != TensorType.FLOAT32:
        b.refuse(op, "takes what is neither a constant nor of a quantization of NNAPI")
    shape = [1] * len(x.dims)
    if len(x.scales) > 1:
        shape[x.channel_dim] = -1
    points, scales = np.array(x.zero_points).reshape(shape), np.array(x.scales, np.float32).reshape(shape)
    created(b, op, x.array.size)
    values = ((x.array - points).astype(np.float32) * scales).reshape(-1)
    b.tensors[op.outputs[0]] = replace(b.result(op), data=frozen(values.view(np.uint8)), dims=x.dims)


@extends(B.LSH_PROJECTION)
def lsh_projection(b, op):
    """Of bytes of any type; TFLite's sparse type is NNAPI's third."""
    b.check_counts(op, 2, 3)
    if op.options.type not in (1, 2):
        b.refuse(op, f"is of type {op.options.type}, must be 1 (sparse) or 2 (dense)")
    kind = b.i32(3 if op.options.type == 1 else 2)
    translate(b, op, "TFL_LSH_PROJECTION", (kind,), [b.tensor(op, place) for place in range(3)])


@extends(B.RESIZE_BILINEAR, B.RESIZE_NEAREST_NEIGHBOR)
def resize(b, op):
    """Resize to a computed size; RESIZE_NEAREST_NEIGHBOR of any type, as it only copies values."""
    if op.options.align_corners and op.options.half_pixel_centers:
        b.refuse(op, "has align_corners and half_pixel_centers, nnfast takes one of them")
    if op.code == B.RESIZE_NEAREST_NEIGHBOR:
        resized(b, op, "TFL_RESIZE_NEAREST_NEIGHBOR")
        return
    b.check_counts(op, 2)
    if b.is_constant(b.tensor(op, 1)):
        b.refuse(op, "has no form for this size and these options")
    x, (height, width) = b.tensor(op, 0), new_size(b, op)
    b.check_same_quant(op, x, b.result(op))
    flags = b.bool(False), b.bool(op.options.align_corners), b.bool(op.options.half_pixel_centers)
    b.emit(OperationType[op.name], (b.operand(op, x), width, height, *flags), (b.output(op),))


@extends(B.DENSIFY)
def densify(b, op):
    """Nothing to do: sparse constants are made dense when a graph is read."""
    b.check_counts(op, 1)
    x, y = b.tensor(op, 0), b.result(op)
    if not b.is_constant(x) or x.is_sparse or x.type != y.type:
        b.refuse(op, "takes what is not a sparse constant of the output's type")
    b.tensors[y.index] = replace(y, data=x.data, dims=x.dims, buffer=x.buffer)
