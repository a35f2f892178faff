"""Operators as several others of TFLite's, for forms that neither the standard nor nnfast has: groups of channels,
other quantizations, tensors of more dimensions than an operation takes.
"""

from math import prod
from types import SimpleNamespace

import numpy as np

from ..record import replace
from .forms import is_hybrid
from .graph import MOST_RANK, frozen
from .schema import DTYPES, Builtin, TensorType, operator_name

B = Builtin
PARTED = {}
"""Builtin code -> function(Parts) that does an operator by others."""
PROBABILITIES = (1 / 256,), (0,)
"""Scales and zero points of SOFTMAX of uint8."""
BARE, ONE = SimpleNamespace(scales=(), zero_points=()), SimpleNamespace(scales=(1.0,), zero_points=(0,))
"""Quantizations: none, and that of real values that are the codes."""
CODES = TensorType.INT8, TensorType.UINT8, TensorType.INT16
TANH = 4
"""The fused activation."""
MOST_GROUPS = 1024
_INT32_MAX = (1 << 31) - 1


def parted(*codes):
    """Register a function that does operators by others."""
    def register(function):
        for code in codes:
            PARTED[code] = function
        return function
    return register


class Parts:
    """The operators that replace one: they use its tensors, and new ones appended to the file's."""

    def __init__(self, b, op):
        self.b, self.op = b, op
        if not op.inputs or not op.outputs or -1 in op.outputs:
            b.refuse(op, "has no inputs or outputs, or omits one")

    def refuse(self, reason):
        self.b.refuse(self.op, reason)

    def tensor(self, place):
        """A required input."""
        t = self.optional(place)
        if t is None:
            self.refuse(f"omits input {place}, which is required")
        return t

    def optional(self, place):
        return self.b.tensor(self.op, place)

    def dims(self, t):
        """Dimensions as the file has them: () for a single value; None where they are not all known."""
        dims = t.dims if t.dims == () else self.b.dims(self.op, t)
        if t.data is None and 0 in dims:
            return self.b.follower.shape(self.b.operand(self.op, t))
        return None if dims == () != t.dims else dims

    def sizes(self, t):
        """As dims, with -1 for sizes that are not known; None for an unknown rank."""
        known = self.dims(t)
        return known if known is not None else tuple(d or -1 for d in self.b.dims(self.op, t)) or None

    def new(self, like, dims, **changes):
        """A new tensor of the type of another one. dims: None or 0 for unknown."""
        t = replace(like, index=len(self.b.tensors), dims=dims, is_variable=False, **{"data": None} | changes)
        self.b.tensors.append(t)
        return t

    def ints(self, values):
        """A constant of int32."""
        most = max(np.ravel(np.array(values, object)))
        if most > _INT32_MAX:
            self.refuse(f"needs a dimension of {most} as other operators, which must be at most {_INT32_MAX}")
        array = np.array(values, np.int32)
        return self.new(self.b.result(self.op), array.shape, type=TensorType.INT32, scales=(),
                        zero_points=(), sparsity=None, data=frozen(array.reshape(-1).view(np.uint8)))

    def reals(self, like, values, shape):
        """A constant of float32."""
        array = np.array(values, np.float32).reshape(shape)
        return self.new(like, array.shape, data=frozen(array.reshape(-1).view(np.uint8)))

    def empty(self, out, dims):
        """Let a result be without elements."""
        self.b.tensors[out.index] = replace(out, dims=tuple(dims))

    def run(self, code, inputs, outputs, **options):
        """One operator on tensors; None: omitted."""
        places = [tuple(-1 if t is None else t.index for t in side) for side in (inputs, outputs)]
        part = replace(self.op, code=code, name=operator_name(code), inputs=places[0], outputs=places[1],
                       options=SimpleNamespace(**options), custom="")
        self.b.graphs.operator(self.b, part)

    def same(self, inputs, outputs):
        """The operator itself on other tensors."""
        self.run(self.op.code, inputs, outputs, **vars(self.op.options))

    def recoded(self, t, like):
        """The codes of a tensor in the quantization of another one, or of none."""
        if t.data is not None and not t.is_sparse:
            return self.new(t, t.dims, data=t.data, scales=like.scales, zero_points=like.zero_points)
        codes = self.new(t, self.b.dims(self.op, t) or t.dims, scales=like.scales, zero_points=like.zero_points)
        self.run(B.BITCAST, [t], [codes])
        return codes

    def reshaped(self, t, dims):
        """The tensor reshaped; -1 for one size that is not known."""
        if dims.count(-1) > 1:
            self.refuse(f"needs a reshape to {list(dims)}, which must have one unknown size at most")
        result = self.new(t, tuple(max(d, 0) for d in dims))
        self.run(B.RESHAPE, [t, self.ints(dims)], [result], new_shape=None)
        return result


# -- ranks -----------------------------------------------------------------------------------------------------------
@parted(B.SOFTMAX, B.LOG_SOFTMAX, B.L2_NORMALIZATION, B.LOGISTIC, B.TANH, B.RELU, B.RELU6, B.RELU_N1_TO_1,
        B.HARD_SWISH)
def rows(p):
    """Operators on the last dimension or on single elements, as operators on a matrix."""
    x, out = p.tensor(0), p.b.result(p.op)
    if p.op.code == B.SOFTMAX and out.type == x.type == TensorType.UINT8 and \
            (out.scales, out.zero_points) != (*PROBABILITIES,):
        _fixed_softmax(p, x, out)
        return
    dims = x.dims and p.b.dims(p.op, x)
    known = p.dims(x)
    if known and 0 in known and len(dims) > MOST_RANK:
        p.empty(out, known)
        return
    if not dims or len(dims) <= MOST_RANK or not dims[-1]:
        p.refuse("has no form for these tensors")
    matrix, result = p.new(x, (0, dims[-1])), p.new(out, (0, dims[-1]))
    p.run(B.RESHAPE, [x, p.ints([-1, dims[-1]])], [matrix], new_shape=None)
    p.same([matrix], [result])
    shape = p.ints([d or -1 for d in dims])
    if dims.count(0) > 1:
        shape = p.new(shape, (len(dims),))
        p.run(B.SHAPE, [x], [shape])
    p.run(B.RESHAPE, [result, shape], [out], new_shape=None)


def _fixed_softmax(p, x, out):
    """LiteRT's codes of uint8 are steps of 1 / 256, whatever quantization the file declares."""
    if p.b.arithmetic != "litert":
        p.refuse("has an output of another quantization than NNAPI's")
    scales, points = PROBABILITIES
    codes = p.new(out, p.b.dims(p.op, x) or None, scales=scales, zero_points=points)
    p.same([x], [codes])
    p.run(B.BITCAST, [codes], [out])


@parted(B.AVERAGE_POOL_2D, B.MAX_POOL_2D)
def pools(p):
    """Pools of integers without quantization, or into another one, as of codes, which they keep."""
    x, out = p.tensor(0), p.b.result(p.op)
    is_plain = not x.scales and not out.scales
    is_recoded = p.b.arithmetic == "litert" and len(x.scales) == len(out.scales) == 1 and \
        (x.scales, x.zero_points) != (out.scales, out.zero_points)
    if x.type not in CODES or x.type != out.type or \
            not is_recoded and (not is_plain or p.op.options.activation):
        p.refuse("has no form for these tensors")
    if is_recoded:
        p.same([p.recoded(x, out)], [out])
        return
    result = p.new(out, out.dims, scales=ONE.scales, zero_points=ONE.zero_points)
    p.same([p.recoded(x, ONE)], [result])
    p.run(B.BITCAST, [result], [out])


def merged(first, second):
    """Two shapes that broadcast, with adjacent dimensions merged where possible; -1 for sizes that are not known, which
    are those of the other shape where that is not 1.
    """
    rank = max(len(first), len(second))
    kinds, sides = [], ([], [])
    for x, y in zip((1,) * (rank - len(first)) + tuple(first), (1,) * (rank - len(second)) + tuple(second)):
        if x == y == 1:
            continue
        x, y = (size if size >= 0 or other == 1 else other for size, other in ((x, y), (y, x)))
        kind = 1 if x == 1 else 2 if y == 1 else 0
        if kinds and kinds[-1] == kind:
            for side, size in zip(sides, (x, y)):
                side[-1] = -1 if -1 in (side[-1], size) else side[-1] * size
        else:
            kinds.append(kind)
            sides[0].append(x)
            sides[1].append(y)
    return tuple(tuple(side) or (1,) for side in sides)


def broadcast_shape(p, *shapes):
    """The shape that shapes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except (ValueError, RuntimeError):  # of more dimensions than numpy has
        p.refuse(f"has shapes {' and '.join(str(list(shape)) for shape in shapes[:2])}, which do not go together")


@parted(B.ADD, B.SUB, B.MUL, B.ADD_N)
def elementwise(p):
    """Arithmetic on tensors of reduced rank."""
    tensors, out = [p.tensor(place) for place in range(len(p.op.inputs))], p.b.result(p.op)
    shapes = [p.sizes(t) for t in tensors]
    if None in shapes or max(map(len, shapes)) <= MOST_RANK or len(tensors) > 2 and len(set(shapes)) > 1:
        p.refuse("has no form for these tensors")
    whole = _whole(p, *shapes)
    if 0 in whole:
        p.empty(out, whole)
        return
    small = merged(*shapes) if len(shapes) == 2 else [(-1 if -1 in shape else prod(shape),) for shape in shapes]
    if len(small[0]) > MOST_RANK:
        p.same([_widened(p, t, dims, whole) for t, dims in zip(tensors, shapes)], [out])
        return
    result = p.new(out, tuple(max(d, 0) for d in _whole(p, *small)))
    p.same([p.reshaped(t, dims) for t, dims in zip(tensors, small)], [result])
    shape = p.ints(whole)
    if whole.count(-1) > 1:
        like = next((t for t, dims in zip(tensors, shapes) if dims == whole), None)
        if like is None:
            p.refuse(f"has a result of shape {list(whole)}, which must have one unknown size at most")
        shape = p.new(shape, (len(whole),))
        p.run(B.SHAPE, [like], [shape])
    p.run(B.RESHAPE, [result, shape], [out], new_shape=None)


def _whole(p, *shapes):
    """The shape that shapes broadcast to; -1: not known, but that of the others where it is known not to be 1."""
    known = broadcast_shape(p, *(tuple(1 if d == -1 else d for d in shape) for shape in shapes))
    columns = zip(*((1,) * (len(known) - len(shape)) + tuple(shape) for shape in shapes))
    return tuple(-1 if size == 1 and -1 in column else size for size, column in zip(known, columns))


def _widened(p, t, dims, whole):
    """The tensor repeated to a whole shape."""
    if dims == whole:
        return t
    if -1 in whole:
        p.refuse(f"repeats a tensor to {list(whole)}, which must be known")
    wide = p.new(t, whole)
    p.run(B.BROADCAST_TO, [t, p.ints(whole)], [wide])
    return wide


@parted(B.BATCH_MATMUL)
def batches(p):
    """Matrix products with equal batch dimensions, merged into one; those of int8 codes into int32 as of bare integers,
    whose zero points LiteRT leaves out.
    """
    x, y, out = p.tensor(0), p.tensor(1), p.b.result(p.op)
    if out.type == TensorType.INT32 and x.type == y.type == TensorType.INT8 and x.scales and y.scales and \
            p.b.arithmetic == "litert":
        p.same([p.recoded(t, BARE) for t in (x, y)], [out])
        return
    shapes = [p.dims(t) for t in (x, y)]
    if None in shapes or min(map(len, shapes)) < 2 or len(y.scales) > 1 or TensorType.INT8 != x.type != y.type:
        p.refuse("has no form for these tensors")
    try:
        batch = np.broadcast_shapes(*(dims[:-2] for dims in shapes))
    except (ValueError, RuntimeError):  # of more dimensions than numpy has
        p.refuse(f"has batches {list(shapes[0][:-2])} and {list(shapes[1][:-2])}, which do not go together")
    if len(batch) == 1 and shapes[0][:-2] == shapes[1][:-2]:
        p.refuse("has no form for these tensors")
    options = p.op.options
    sides = shapes[0][-1 if options.adj_x else -2], shapes[1][-2 if options.adj_y else -1]
    if 0 in (*batch, *sides):
        p.empty(out, (*batch, *sides))
        return
    matrices = []
    for t, dims in zip((x, y), shapes):
        if dims[:-2] != batch and prod(dims[:-2]) != prod(batch):
            wide = p.new(t, (*batch, *dims[-2:]))
            p.run(B.BROADCAST_TO, [t, p.ints(wide.dims)], [wide])
            t = wide
        matrices.append(p.reshaped(t, (prod(batch), *dims[-2:])))
    result = p.new(out, (prod(batch), *sides))
    p.same(matrices, [result])
    p.run(B.RESHAPE, [result, p.ints((*batch, *sides))], [out], new_shape=None)


@parted(B.PRELU)
def without_scales(p):
    """PRELU of codes without quantization: LiteRT multiplies by scales of 0."""
    (x, slopes), out = (p.tensor(place) for place in range(2)), p.b.result(p.op)
    kinds = {t.type for t in (x, slopes, out)}
    if p.b.arithmetic != "litert" or len(kinds) > 1 or x.type not in CODES or x.scales or slopes.scales or out.scales:
        p.refuse("has no form for these tensors")
    shapes = [p.dims(t) for t in (x, slopes)]
    if None not in shapes and broadcast_shape(p, *shapes) != shapes[0]:
        p.refuse(f"has slopes of shape {list(shapes[1])}, which must broadcast to {list(shapes[0])}")
    p.run(B.ZEROS_LIKE, [x], [out])


@parted(B.FULLY_CONNECTED)
def dense(p):
    """Of float tensors with int8 weights and a fused TANH; of several open dimensions that are kept."""
    (x, w), out, options = (p.tensor(place) for place in range(2)), p.b.result(p.op), p.op.options
    dims = p.b.dims(p.op, x)
    if options.keep_num_dims and dims.count(0) > 1 and w.dims:
        rows = p.new(out, (0, w.dims[0]))
        p.run(p.op.code, [x, w, p.optional(2)], [rows], **vars(options) | {"keep_num_dims": False})
        p.run(B.RESHAPE, [rows, _with_last(p, x, len(dims), w.dims[0])], [out], new_shape=None)
        return
    if p.b.arithmetic != "litert" or options.activation != TANH or not is_hybrid(x, w, out):
        p.refuse("has no form for these tensors")
    sums = p.new(out, out.dims)
    p.run(p.op.code, [x, w, p.optional(2)], [sums], **vars(options) | {"activation": 0})
    p.run(B.TANH, [sums], [out])


def _with_last(p, x, rank, size):
    """The shape that a tensor has in a run, with another last dimension."""
    last = p.ints([size])
    whole, first, shape = (p.new(last, (length,)) for length in (rank, rank - 1, rank))
    p.run(B.SHAPE, [x], [whole])
    p.run(B.SLICE, [whole, p.ints([0]), p.ints([rank - 1])], [first])
    p.run(B.CONCATENATION, [first, last], [shape], axis=0, activation=0)
    return shape


@parted(B.DEPTHWISE_CONV_2D, B.TRANSPOSE_CONV)
def unshifted(p):
    """Of int8 weights with zero points, which LiteRT's kernels of these operators do not look at."""
    tensors, w = [p.optional(place) for place in range(len(p.op.inputs))], p.tensor(1)
    if p.b.arithmetic != "litert" or w.type != p.b.result(p.op).type or w.type != TensorType.INT8 or \
            not any(w.zero_points):
        p.refuse("has no form for these tensors")
    points = (0,) * len(w.zero_points)
    tensors[1] = p.recoded(w, SimpleNamespace(scales=w.scales, zero_points=points)) if w.data is None else \
        p.new(w, w.dims, data=w.data, zero_points=points)
    p.same(tensors, [p.b.result(p.op)])


# -- groups ----------------------------------------------------------------------------------------------------------
@parted(B.CONV_2D)
def groups(p):
    """A dilated grouped convolution: one convolution per group."""
    x, w, bias, out = p.tensor(0), p.tensor(1), p.optional(2), p.b.result(p.op)
    shapes = x.dims and p.b.dims(p.op, x), w.dims
    if any(not dims or len(dims) != 4 for dims in shapes) or not shapes[0][3] or \
            bias is not None and bias.dims != w.dims[:1] or shapes[0][3] % max(1, shapes[1][3]) or \
            any(t is not None and t.data is None and (len(t.scales) > 1 or not all(t.dims)) for t in (w, bias)):
        p.refuse("has no form for these tensors")
    count, units = shapes[0][3] // shapes[1][3], shapes[1][0]
    if not 1 < count <= MOST_GROUPS or units % count:
        p.refuse(f"has {count} groups for {units} outputs, must have 2 to {MOST_GROUPS}")
    each = units // count
    sources = [p.new(x, (*shapes[0][:3], shapes[1][3])) for _ in range(count)]
    p.run(B.SPLIT, [p.ints(3), x], sources, num_splits=count)
    results = []
    for tensors in zip(sources, *(_units(p, t, count, each) for t in (w, bias) if t is not None)):
        results.append(p.new(out, (*out.dims[:3], each) if out.dims else None))
        p.same(tensors, results[-1:])
    p.run(B.CONCATENATION, results, [out], axis=3, activation=0)


def _units(p, t, count, each):
    """Slices of a tensor along its first dimension, those of a constant with its scales."""
    if t.data is None:
        parts = [p.new(t, (each, *t.dims[1:])) for _ in range(count)]
        p.run(B.SPLIT, [p.ints(0), t], parts, num_splits=count)
        return parts
    parts = []
    for start in range(0, count * each, each):
        data = frozen(np.ascontiguousarray(t.array[start:start + each]).reshape(-1).view(np.uint8))
        scales = slice(start, start + each) if len(t.scales) > 1 else slice(None)
        parts.append(p.new(t, (each, *t.dims[1:]), data=data, scales=t.scales[scales],
                           zero_points=t.zero_points[scales]))
    return parts


# -- quantizations ---------------------------------------------------------------------------------------------------
@parted(B.DEQUANTIZE)
def dequantize(p):
    """DEQUANTIZE with scales and zero points for channels, as the arithmetic of its formula."""
    x, out = p.tensor(0), p.b.result(p.op)
    if len(x.scales) < 2:
        rows(p)
        return
    if x.type not in CODES or out.type != TensorType.FLOAT32:
        p.refuse("has no form for these tensors")
    points, scales = (p.reals(out, values, _along(p, x, x.channel_dim)) for values in (x.zero_points, x.scales))
    real, centred = (p.new(out, x.dims) for _ in range(2))
    p.run(B.CAST, [x], [real])
    p.run(B.SUB, [real, points], [centred], activation=0)
    p.run(B.MUL, [centred, scales], [out], activation=0)


def _along(p, x, axis):
    """Shape in which values along a dimension broadcast with a tensor."""
    rank = len(p.dims(x) or x.shape)
    if not 0 <= axis < rank:
        p.refuse(f"has scales along dimension {axis}, must be in [0, {rank})")
    return -1, *(1,) * (rank - 1 - axis)


@parted(B.QUANTIZE)
def quantize(p):
    """QUANTIZE of floats with scales and zero points for channels, as the arithmetic of its formula."""
    x, out = p.tensor(0), p.b.result(p.op)
    if len(out.scales) < 2:
        rows(p)
        return
    if x.type != TensorType.FLOAT32 or out.type not in CODES or min(out.scales) <= 0:
        p.refuse("has no form for these tensors")
    shape, limits = _along(p, x, out.channel_dim), np.iinfo(DTYPES[out.type])
    steps, whole = (p.new(x, x.dims, **changes) for changes in ({}, {"type": TensorType.INT16, **vars(ONE)}))
    p.run(B.DIV, [x, p.reals(x, out.scales, shape)], [steps], activation=0)
    p.run(B.QUANTIZE, [steps], [whole])
    numbers, moved, low, high = (p.new(x, x.dims, type=TensorType.INT32) for _ in range(4))
    p.run(B.CAST, [p.recoded(whole, BARE)], [numbers])
    p.run(B.ADD, [numbers, p.ints(np.reshape(out.zero_points, shape))], [moved], activation=0)
    p.run(B.MAXIMUM, [moved, p.ints([limits.min])], [low])
    p.run(B.MINIMUM, [low, p.ints([limits.max])], [high])
    codes = p.new(out, out.dims, scales=(), zero_points=())
    p.run(B.CAST, [high], [codes])
    p.run(B.BITCAST, [codes], [out])
