"""Operators with inputs and what they must give, by numpy: each runs through nnfast, and may be run through a peer."""

import numpy as np

from helpers.tflite.running import Const, One

RNG = np.random.default_rng(11)
F = "float32"


def f(*shape):
    """Reproducible normal values."""
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values):
    """Constant int32."""
    return Const(np.array(values, np.int32))


def value(x):
    """Constant int32 of rank 0."""
    return Const(np.array(x, np.int32))


def codes(dtype, *shape):
    """8-bit codes."""
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def whole(*shape):
    """int32 values around 0."""
    return RNG.integers(-9, 10, shape).astype(np.int32)


CASES = {}
"""Name -> (One, expected arrays)."""


def case(name, kind, inputs, expected, options=None, fields=None, **more):
    """Note a case; outputs have the shapes and types of what is expected."""
    expected = [np.ascontiguousarray(e).reshape(np.shape(e)) for e in expected]
    inputs = [np.ascontiguousarray(v).reshape(v.shape) if isinstance(v, np.ndarray) else v for v in inputs]
    outputs = [(e.shape, e.dtype) for e in expected]
    CASES[name] = One(kind, inputs, outputs, options, fields, **more), expected


Q = {"*": (0.5, 3)}
X = f(2, 3, 4)

# -- one tensor ----------------------------------------------------------------------------------------------------
for kind, function in {
    "ABS": np.abs, "EXP": np.exp, "FLOOR": np.floor, "CEIL": np.ceil, "NEG": np.negative, "SIN": np.sin,
    "SQUARE": np.square,
}.items():
    case(kind.lower(), kind, [X], [function(X)])
case("ceil_halves", "CEIL", [np.array([-1.5, -0.5, 0.0, 0.5, 2.0, 2.1, 1e30], np.float32)],
     [np.array([-1, 0, 0, 1, 2, 3, 1e30], np.float32)])
P = np.abs(X) + np.float32(0.1)
case("log", "LOG", [P], [np.log(P)])
case("sqrt", "SQRT", [P], [np.sqrt(P)])
case("rsqrt", "RSQRT", [P], [1 / np.sqrt(P)])
W = whole(2, 3)
case("abs_int", "ABS", [W], [np.abs(W)])
case("logical_not", "LOGICAL_NOT", [W > 0], [W <= 0])
case("elu", "ELU", [X], [np.where(X < 0, np.expm1(X), X)])
case("leaky_relu", "LEAKY_RELU", [X], [np.where(X < 0, X * np.float32(0.2), X)], "LeakyReluOptions", {"Alpha": 0.2})
case("leaky_relu_negative", "LEAKY_RELU", [X], [np.where(X < 0, X * np.float32(-0.2), X)], "LeakyReluOptions",
     {"Alpha": -0.2})
for dtype in ("uint8", "int8"):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    A = np.arange(low, high + 1).astype(dtype)
    real = (A.astype(np.float64) - 3) * 0.5
    slope = np.where(real < 0, real * 0.25, real)
    # Every quarter of a code is a tie or not, by the fixed-point rounding: half away from zero.
    coded = np.clip(np.sign(slope) * np.floor(np.abs(slope) / 0.5 + 0.5) + 3, low, high).astype(dtype)
    case(f"leaky_relu_{dtype}", "LEAKY_RELU", [A], [coded], "LeakyReluOptions", {"Alpha": 0.25}, quants=Q)
    flat = np.where(real < 0, 3, A).astype(dtype)
    case(f"leaky_relu_flat_{dtype}", "LEAKY_RELU", [A], [flat], "LeakyReluOptions", {"Alpha": 0.0}, quants=Q)
E3 = np.exp(X.astype(np.float64))
case("log_softmax", "LOG_SOFTMAX", [X], [np.log(E3 / E3.sum(-1, keepdims=True)).astype(np.float32)])
case("l2_normalization", "L2_NORMALIZATION", [X], [X / np.sqrt((X * X).sum(-1, keepdims=True))], "L2NormOptions")
IMAGE = f(1, 4, 4, 3)
SQUARES = np.stack([(IMAGE[..., max(k - 1, 0):k + 2] ** 2).sum(-1) for k in range(3)], -1)
case("local_response", "LOCAL_RESPONSE_NORMALIZATION", [IMAGE], [IMAGE * (1.5 + 0.25 * SQUARES) ** np.float32(-0.5)],
     "LocalResponseNormalizationOptions", {"Radius": 1, "Bias": 1.5, "Alpha": 0.25, "Beta": 0.5})
POOLED = np.sqrt((IMAGE**2).reshape(1, 2, 2, 2, 2, 3).mean((2, 4)))
case("l2_pool", "L2_POOL_2D", [IMAGE], [POOLED], "Pool2DOptions",
     {"Padding": 1, "StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2})
T3 = (X * 20).astype(np.float32)
case("cast_to_int", "CAST", [T3], [np.trunc(T3).astype(np.int32)], "CastOptions")
case("cast_to_float", "CAST", [W], [W.astype(np.float32)], "CastOptions")
case("cast_from_bool", "CAST", [W > 0], [(W > 0).astype(np.float32)], "CastOptions")
case("cast_from_bool_to_int", "CAST", [W > 0], [(W > 0).astype(np.int32)], "CastOptions")
case("cast_to_bool", "CAST", [W], [W != 0], "CastOptions")

# -- two tensors ---------------------------------------------------------------------------------------------------
Y = f(3, 1)
case("div", "DIV", [X, Y], [X / Y], "DivOptions", {"FusedActivationFunction": 0})
case("div_relu", "DIV", [X, Y], [np.maximum(X / Y, 0)], "DivOptions", {"FusedActivationFunction": 1})
N = np.array([[-2, 3, -4], [5, -6, 7]], np.int32)
case("floor_div", "FLOOR_DIV", [W, N], [W // N])
case("pow", "POW", [P, Y], [P**Y])
case("maximum", "MAXIMUM", [X, Y], [np.maximum(X, Y)])
case("minimum_int", "MINIMUM", [W, N], [np.minimum(W, N)])
C = [codes("uint8", 2, 5), codes("uint8", 2, 5)]
case("maximum_uint8", "MAXIMUM", C, [np.maximum(*C)], quants=Q)
D = [codes("int8", 2, 5), codes("int8", 5)]
case("minimum_int8", "MINIMUM", D, [np.minimum(*D)], quants=Q)
for kind, function in {
    "EQUAL": np.equal, "NOT_EQUAL": np.not_equal, "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less, "LESS_EQUAL": np.less_equal,
}.items():
    V = [whole(4, 6), whole(6)]
    case(kind.lower(), kind, V, [function(*V)])
    U = [codes("uint8", 4, 6) // 32, codes("uint8", 6) // 32]
    case(f"{kind.lower()}_uint8", kind, U, [function(*U)], quants=Q)
B1, B2 = whole(2, 6) > 0, whole(6) > 0
case("logical_and", "LOGICAL_AND", [B1, B2], [B1 & B2])
case("logical_or", "LOGICAL_OR", [B1, B2], [B1 | B2])
case("squared_difference", "SQUARED_DIFFERENCE", [X, Y], [(X - Y) ** 2])
case("add_n", "ADD_N", [X, X * 2, Const(P)], [X + X * 2 + P])
M1, M2 = f(2, 3, 4), f(2, 4, 5)
case("batch_matmul", "BATCH_MATMUL", [M1, M2], [M1 @ M2], "BatchMatMulOptions")
case("batch_matmul_adj", "BATCH_MATMUL", [M1.swapaxes(1, 2), M2.swapaxes(1, 2)], [M1 @ M2],
     "BatchMatMulOptions", {"AdjX": True, "AdjY": True})

# -- choices, shapes -----------------------------------------------------------------------------------------------
S = whole(2, 3, 4) > 0
case("select", "SELECT", [S, X, X * 2], [np.where(S, X, X * 2)])
COLUMN = whole(3, 1) > 0
case("select_v2", "SELECT_V2", [COLUMN, X, Const(np.array(7, F))], [np.where(COLUMN, X, np.float32(7))])
case("select_v2_grow", "SELECT_V2", [S, X[0, 0], Y], [np.where(S, X[0, 0], Y)])
case("select_v2_uint8", "SELECT_V2", [B1[:, :5], C[0], C[1][:1]], [np.where(B1[:, :5], C[0], C[1][:1])], quants=Q)
case("tile", "TILE", [W, ints(2, 3)], [np.tile(W, (2, 3))])
case("broadcast_to", "BROADCAST_TO", [Y, ints(2, 3, 4)], [np.broadcast_to(Y, (2, 3, 4))])
case("fill", "FILL", [ints(2, 3), Const(np.array(2.5, np.float32))], [np.full((2, 3), 2.5, np.float32)])
case("fill_computed", "FILL", [np.array([2, 3], np.int32), value(7)], [np.full((2, 3), 7, np.int32)])
case("shape", "SHAPE", [X], [np.array([2, 3, 4], np.int32)], "ShapeOptions", {"OutType": 2})
case("rank", "RANK", [X], [np.array([3], np.int32)])

# -- parts ---------------------------------------------------------------------------------------------------------
case("slice", "SLICE", [X, ints(0, 1, 1), ints(2, -1, 2)], [X[:, 1:, 1:3]])
case("slice_int8", "SLICE", [D[0], ints(1, 0), ints(1, 4)], [D[0][1:, :4]], quants=Q)
MASKS = {"BeginMask": 1, "EndMask": 2, "ShrinkAxisMask": 4}
case("strided_slice", "STRIDED_SLICE", [X, ints(9, 2, -1), ints(1, 0, 9), ints(1, -1, 1)], [X[:1, 2::-1, -1]],
     "StridedSliceOptions", MASKS)
case("strided_slice_row", "STRIDED_SLICE", [X[0, 0], ints(3), ints(4), ints(1)], [X[0, 0, 3]],
     "StridedSliceOptions", {"ShrinkAxisMask": 1})
case("split", "SPLIT", [value(-1), X], np.split(X, 2, -1), "SplitOptions", {"NumSplits": 2})
case("split_v", "SPLIT_V", [X, ints(1, -1), value(1)], [X[:, :1], X[:, 1:]], "SplitVOptions", {"NumSplits": 2})
case("pack", "PACK", [X, Const(P)], [np.stack([X, P], 3)], "PackOptions", {"ValuesCount": 2, "Axis": -1})
case("pack_values", "PACK", [np.array(3, np.int32), np.array(4, np.int32)], [np.array([3, 4], np.int32)],
     "PackOptions", {"ValuesCount": 2, "Axis": 0})
case("unpack", "UNPACK", [X], list(X.swapaxes(0, 1)), "UnpackOptions", {"Num": 3, "Axis": 1})
case("unpack_values", "UNPACK", [W[0]], list(W[0]), "UnpackOptions", {"Num": 3, "Axis": 0})
case("expand_dims", "EXPAND_DIMS", [X, value(-2)], [X[:, :, None]])
case("reverse", "REVERSE_V2", [X, ints(-1)], [X[:, :, ::-1]])
case("gather", "GATHER", [X, ints(2, 0, 2)], [X[:, [2, 0, 2]]], "GatherOptions", {"Axis": 1})
case("gather_one", "GATHER", [X, np.array(1, np.int32)], [X[..., 1]], "GatherOptions", {"Axis": -1})
case("gather_uint8", "GATHER", [C[0], np.array([[4], [0]], np.int32)], [C[0][:, [[4], [0]]]], "GatherOptions",
     {"Axis": 1}, quants=Q)
HASHED = f(3, 2)
case("embedding", "EMBEDDING_LOOKUP", [np.array([2, 0, 1], np.int32), Const(HASHED)], [HASHED[[2, 0, 1]]])
case("hashtable", "HASHTABLE_LOOKUP", [np.array([7, 4, 1], np.int32), ints(1, 3, 7), Const(HASHED)],
     [np.stack([HASHED[2], [0, 0], HASHED[0]]).astype(F), np.array([1, 0, 1], np.uint8)])
ROWS = np.arange(1, 7, dtype=np.uint8).reshape(3, 2)
case("hashtable_uint8", "HASHTABLE_LOOKUP", [np.array([7, 4, 1], np.int32), ints(1, 3, 7), Const(ROWS)],
     [np.array([[5, 6], [0, 0], [1, 2]], np.uint8), np.array([1, 0, 1], np.uint8)],
     quants={"i2": (0.5, 3), "o0": (0.5, 3)})
TIES = np.array([[3, 5, 5, 1, 5], [2, 2, 9, 9, 0]], np.int32)
case("topk_ties", "TOPK_V2", [TIES, value(3)], [np.array([[5, 5, 5], [9, 9, 2]], np.int32),
     np.array([[1, 2, 4], [2, 3, 0]], np.int32)])
case("topk", "TOPK_V2", [X, value(2)], [-np.sort(-X, -1)[..., :2], np.argsort(-X, -1)[..., :2].astype(np.int32)])

# -- reductions ----------------------------------------------------------------------------------------------------
for kind, function in {"SUM": np.sum, "REDUCE_PROD": np.prod, "REDUCE_MAX": np.max, "REDUCE_MIN": np.min}.items():
    case(kind.lower(), kind, [X, ints(0, -1)], [function(X, (0, 2))], "ReducerOptions", {"KeepDims": False})
    case(f"{kind.lower()}_keep", kind, [X, ints(1)], [function(X, 1, keepdims=True)], "ReducerOptions",
         {"KeepDims": True})
case("reduce_max_int8", "REDUCE_MAX", [D[0], ints(1)], [D[0].max(1)], "ReducerOptions", quants=Q)
case("reduce_any", "REDUCE_ANY", [S, ints(1, 2)], [S.any((1, 2))], "ReducerOptions")
case("reduce_all", "REDUCE_ALL", [S, ints(1)], [S.all(1)], "ReducerOptions")
case("arg_max", "ARG_MAX", [X, value(1)], [X.argmax(1).astype(np.int32)], "ArgMaxOptions", {"OutputType": 2})
case("arg_min_ties", "ARG_MIN", [TIES, value(-1)], [np.array([3, 4], np.int32)], "ArgMinOptions", {"OutputType": 2})

# -- images --------------------------------------------------------------------------------------------------------
DEEP = f(1, 2, 3, 8)
SHALLOW = DEEP.reshape(1, 2, 3, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(1, 4, 6, 2)
case("depth_to_space", "DEPTH_TO_SPACE", [DEEP], [SHALLOW], "DepthToSpaceOptions", {"BlockSize": 2})
case("space_to_depth", "SPACE_TO_DEPTH", [SHALLOW], [DEEP], "SpaceToDepthOptions", {"BlockSize": 2})
PAIRS = Const(np.array([[0, 1], [1, 1]], np.int32))
FRAMED = np.pad(IMAGE[:, :3], ((0, 0), (0, 1), (1, 1), (0, 0)))
BATCHES = FRAMED.reshape(1, 2, 2, 2, 3, 3).transpose(2, 4, 0, 1, 3, 5).reshape(6, 2, 2, 3)
case("space_to_batch", "SPACE_TO_BATCH_ND", [IMAGE[:, :3], ints(2, 3), PAIRS], [BATCHES])
case("batch_to_space_crops", "BATCH_TO_SPACE_ND", [BATCHES, ints(2, 3), PAIRS], [IMAGE[:, :3]])
case("batch_to_space", "BATCH_TO_SPACE_ND", [BATCHES, ints(2, 3), Const(np.zeros((2, 2), np.int32))], [FRAMED])
PADS = Const(np.array([[1, 0], [0, 1], [2, 1]], np.int32))
PADDED = ((1, 0), (0, 1), (2, 1))
case("pad_v2", "PADV2", [X, PADS, Const(np.array(1.5, F))], [np.pad(X, PADDED, constant_values=1.5)])
case("pad_v2_int8", "PADV2", [D[0], Const(np.array([[1, 0], [0, 2]], np.int32)), Const(np.array(-7, np.int8))],
     [np.pad(D[0], ((1, 0), (0, 2)), constant_values=-7)], quants=Q)
case("mirror_reflect", "MIRROR_PAD", [X, PADS], [np.pad(X, PADDED, "reflect")], "MirrorPadOptions", {"Mode": 0})
case("mirror_symmetric", "MIRROR_PAD", [X, PADS], [np.pad(X, PADDED, "symmetric")], "MirrorPadOptions", {"Mode": 1})
case("resize_nearest", "RESIZE_NEAREST_NEIGHBOR", [IMAGE, ints(8, 2)], [IMAGE.repeat(2, 1)[:, :, ::2]],
     "ResizeNearestNeighborOptions")
