"""Operators on windows, diagonals and queues of boxes: what they compute, written out another way."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One
from nnfast.errors import InvalidArgument, UnsupportedOperator
from nnfast.tflite import load

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7


def scalar(value, dtype=np.float32):
    return Const(np.array(value, dtype))


def longs(*values):
    return np.array(values, np.int64)


# -- NON_MAX_SUPPRESSION ---------------------------------------------------------------------------------------------
BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [3, 3, 2, 2], [0, 0, 0, 0]], np.float32)
SCORES = np.array([0.5, 0.9, 0.1, 0.7, 0.6], np.float32)


def suppression(most=4, overlap=0.5, lowest=0.2, scores=SCORES):
    inputs = [BOXES, scores, scalar(most, np.int32), scalar(overlap), scalar(lowest)]
    return One("NON_MAX_SUPPRESSION_V4", inputs, [((most,), "int32"), ((), "int32")])


def test_suppression_leaves_out_what_overlaps_a_better_box():
    """A box without an area does not overlap itself, and LiteRT takes it again and again."""
    numbers, count = suppression().run()
    assert (numbers.tolist(), count.tolist()) == ([1, 3, 4, 4], [4])


def test_suppression_stops_at_its_limit():
    numbers, count = suppression(most=1).run()
    assert (numbers.tolist(), count.tolist()) == ([1], [1])


def test_suppression_of_nothing():
    numbers, count = suppression(lowest=2).run()
    assert (numbers.tolist(), count.tolist()) == ([0] * 4, [0])


def test_suppression_refuses_an_overlap_above_1():
    with pytest.raises((InvalidArgument, UnsupportedOperator), match="overlap"):
        suppression(overlap=1.5).run()


def test_soft_suppression_lowers_scores():
    inputs = [BOXES, SCORES, scalar(5, np.int32), scalar(1), scalar(0.2), scalar(0.5)]
    outputs = [((5,), "int32"), ((5,), "float32"), ((), "int32")]
    numbers, found, count = One("NON_MAX_SUPPRESSION_V5", inputs, outputs).run()
    assert (numbers.tolist(), count.tolist()) == ([1, 3, 4, 4, 0], [4])
    np.testing.assert_allclose(found, [0.9, 0.7, 0.6, 0.6, 0], 1e-6)


# -- diagonals, FAKE_QUANT -------------------------------------------------------------------------------------------
def test_diagonals():
    (made,) = One("MATRIX_DIAG", [X], [((2, 3, 4, 4), "float32")]).run()
    assert made.tolist() == (X[..., None] * np.eye(4)).tolist()
    (changed,) = One("MATRIX_SET_DIAG", [X, X[:, :, 0].copy()], [(X.shape, "float32")]).run()
    assert changed.tolist() == np.where(np.eye(3, 4) == 1, X[:, :, :1], X).tolist()


def test_fake_quant_takes_values_of_its_grid():
    fields = {"Min": -1.0, "Max": 2.0, "NumBits": 2, "NarrowRange": False}
    (result,) = One("FAKE_QUANT", [np.array([-5, -0.6, 0.4, 0.6, 9], np.float32)], [((5,), "float32")],
                    "FakeQuantOptions", fields).run()
    assert result.tolist() == [-1, -1, 0, 1, 2]


# -- CONV_3D ---------------------------------------------------------------------------------------------------------
RANDOM = np.random.default_rng(3)
IMAGE = RANDOM.standard_normal((2, 5, 4, 6, 3)).astype(np.float32)
STEPS = {"StrideD": 2, "StrideH": 1, "StrideW": 2, "DilationDFactor": 1, "DilationHFactor": 2, "DilationWFactor": 1}
STRIDES, DILATIONS = (2, 1, 2), (1, 2, 1)


def convolved(image, weights, heads, out):
    """Sums of products, one result at a time."""
    result = np.zeros((len(image), *out, weights.shape[4]), np.float64)
    for place in np.ndindex(*out):
        for tap in np.ndindex(*weights.shape[:3]):
            at = [p * s + t * d - h for p, s, t, d, h in zip(place, STRIDES, tap, DILATIONS, heads)]
            if all(0 <= a < n for a, n in zip(at, image.shape[1:4])):
                result[(slice(None), *place)] += image[(slice(None), *at)].astype(np.float64) @ weights[tap]
    return result


@pytest.mark.parametrize("padding, heads, out", [(0, (1, 1, 0), (3, 4, 3)), (1, (0, 0, 0), (2, 2, 2))])
def test_conv_3d(padding, heads, out):
    weights, bias = RANDOM.standard_normal((3, 2, 3, 3, 2)).astype(np.float32), np.array([1, -2], np.float32)
    one = One("CONV_3D", [IMAGE, Const(weights), Const(bias)], [((2, *out, 2), "float32")], "Conv3DOptions",
              STEPS | {"Padding": padding, "FusedActivationFunction": 1})
    expected = np.maximum(convolved(IMAGE, weights, heads, out) + bias, 0)
    np.testing.assert_allclose(one.run()[0], expected, 1e-5, 1e-5)


FORMS = [((1, 3, 3), (1, 2, 1), (1, 1, 1), 0), ((1, 3, 3), (2, 1, 1), (1, 1, 1), 0),
         ((3, 1, 1), (1, 1, 1), (2, 1, 1), 0), ((3, 2, 2), (1, 1, 1), (1, 1, 1), 1),
         ((2, 3, 3), (1, 2, 2), (3, 1, 2), 0), ((1, 1, 1), (1, 1, 1), (1, 1, 1), 0)]


@pytest.mark.parametrize(("filters", "strides", "dilations", "padding"), FORMS)
def test_conv_3d_runs_in_kernels_as_it_is_defined(filters, strides, dilations, padding):
    image = RANDOM.standard_normal((2, 6, 7, 8, 5)).astype(np.float32)
    weights = RANDOM.standard_normal((*filters, 5, 9)).astype(np.float32)
    steps = dict(zip((f"Stride{axis}" for axis in "DHW"), strides))
    steps |= dict(zip((f"Dilation{axis}Factor" for axis in "DHW"), dilations))
    spans = [(k - 1) * d + 1 for k, d in zip(filters, dilations)]
    out = [-(-n // s) if padding == 0 else (n - span) // s + 1 for n, s, span in zip((6, 7, 8), strides, spans)]

    def prepared(weights, **options):
        one = One("CONV_3D", [image, Const(weights)], [((2, *out, 9), "float32")], "Conv3DOptions",
                  steps | {"Padding": padding, "FusedActivationFunction": 3})
        return nnfast.Device(**options).prepare(one.model())

    ready, defined = prepared(weights), prepared(weights, without_passes=["native_kernels"])
    assert "conv2d_f32" in ready.explain().rows[0]["kernel"]
    np.testing.assert_allclose(ready.run([image])[0], defined.run([image])[0], 1e-5, 1e-5)
    weights[0, 0, 0, 0, 0] = np.inf
    ready, defined = prepared(weights), prepared(weights, without_passes=["native_kernels"])
    np.testing.assert_allclose(ready.run([image])[0], defined.run([image])[0], 1e-5, 1e-5)


def test_conv_3d_transpose_is_the_adjoint():
    weights = RANDOM.standard_normal((3, 2, 3, 3, 2)).astype(np.float32)
    x = RANDOM.standard_normal((2, 3, 4, 3, 2)).astype(np.float32)
    inputs = [Const(np.array(IMAGE.shape, np.int32)), Const(weights), x]
    (result,) = One("CONV_3D_TRANSPOSE", inputs, [(IMAGE.shape, "float32")], "Conv3DOptions",
                    STEPS | {"Padding": 0}).run()
    forward = convolved(IMAGE, weights, (1, 1, 0), (3, 4, 3))
    assert (result.astype(np.float64) * IMAGE).sum() == pytest.approx((forward * x).sum(), rel=1e-4)


# -- DILATE, REDUCE_WINDOW, STABLEHLO --------------------------------------------------------------------------------
def test_dilate():
    x = X[0]
    inputs = [x, Const(np.array([2, 3], np.int32)), scalar(-1)]
    (result,) = One("DILATE", inputs, [((5, 10), "float32")]).run()
    assert result[::2, ::3].tolist() == x.tolist() and (np.delete(result, [0, 2, 4], 0) == -1).all()


@pytest.mark.parametrize("function, fold", [(1, np.sum), (2, np.prod), (3, np.min), (4, np.max)])
def test_reduce_window(function, fold):
    x = RANDOM.standard_normal((6, 7)).astype(np.float32)
    start = {1: 0.5, 2: 2, 3: 9, 4: -9}[function]
    inputs = [x, scalar(start), *map(Const, (longs(2, 3), longs(2, 1), longs(2, 1)))]
    (result,) = One("REDUCE_WINDOW", inputs, [((2, 5), "float32")], "ReduceWindowOptions",
                    {"ReduceFunction": function}).run()
    expected = [[fold([start, *x[i * 2:i * 2 + 3:2, j:j + 3].reshape(-1)]) for j in range(5)] for i in range(2)]
    np.testing.assert_allclose(result, expected, 1e-5, 1e-6)


@pytest.mark.parametrize("low, high, interior", [((1, -2), (0, 0), (1, 1)), ((-1, 2), (0, 2), (0, 0)),
                                                 ((-9, 0), (9, 0), (0, 2)), ((0, 0), (0, 0), (0, 0))])
def test_stablehlo_pad(low, high, interior):
    x, wide = X[0], {}
    for (i, j), value in np.ndenumerate(x):
        wide[low[0] + i * (interior[0] + 1), low[1] + j * (interior[1] + 1)] = value
    shape = tuple((n - 1) * (i + 1) + 1 + a + z for n, a, z, i in zip(x.shape, low, high, interior))
    fields = {"EdgePaddingLow": longs(*low), "EdgePaddingHigh": longs(*high), "InteriorPadding": longs(*interior)}
    (result,) = One("STABLEHLO_PAD", [x, scalar(99)], [(shape, "float32")], "StablehloPadOptions", fields).run()
    assert result.tolist() == [[wide.get((i, j), 99) for j in range(shape[1])] for i in range(shape[0])]


def windows(body):
    """A file of STABLEHLO_REDUCE_WINDOW with one 0 in front of each axis, whose body is one operator."""
    fields = {"WindowDimensions": longs(2, 2), "WindowStrides": longs(1, 2), "Padding": longs(1, 0, 1, 0),
              "BodySubgraphIndex": 1}
    op = Op("STABLEHLO_REDUCE_WINDOW", ["x", "s"], ["y"], "StablehloReduceWindowOptions", fields)
    inner = [Tensor("a", ()), Tensor("b", ()), Tensor("c", ())], [Op(body, ["a", "b"], ["c"])], ["a", "b"], ["c"]
    tensors = [Tensor("x", (3, 4)), Tensor.of("s", np.array(0, np.float32)), Tensor("y", (3, 2))]
    return build(tensors, [op], ["x"], ["y"], others=[inner])


def test_stablehlo_reduce_window_takes_its_function_from_the_body():
    x = X[0]
    padded = np.pad(x, ((1, 0), (1, 0)))
    for body, fold in (("STABLEHLO_ADD", np.sum), ("STABLEHLO_MAXIMUM", np.max)):
        (result,) = nnfast.Device().prepare(load(windows(body))).run([x])
        assert result.tolist() == [[fold([0, *padded[i:i + 2, j:j + 2].reshape(-1)]) for j in (0, 2)]
                                   for i in range(3)]


def test_stablehlo_reduce_window_refuses_other_bodies():
    with pytest.raises(UnsupportedOperator, match="body"):
        load(windows("DIV"))


@pytest.mark.parametrize("name, function", [("ADD", np.add), ("MULTIPLY", np.multiply), ("MAXIMUM", np.maximum),
                                            ("MINIMUM", np.minimum)])
def test_stablehlo_elementwise(name, function):
    (result,) = One(f"STABLEHLO_{name}", [X, X[::-1].copy()], [(X.shape, "float32")]).run()
    assert result.tolist() == function(X, X[::-1]).tolist()


def test_suppression_with_a_number_that_is_missing():
    inputs = [BOXES, SCORES, scalar(4, np.int32), Const(np.zeros(0, np.float32)), scalar(0.2)]
    with pytest.raises(nnfast.Error, match=r"has no value, must have one"):
        One("NON_MAX_SUPPRESSION_V4", inputs, [((4,), "int32"), ((), "int32")]).run()


# -- ONE_HOT ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(("axis", "kernel"), [(-1, "gather"), (2, "gather"), (1, "numpy")])
def test_one_hot(axis, kernel, dtype):
    indices = np.array([[0, 4, 1], [3, 3, 2]], dtype)
    shape = [2, 3]
    shape.insert(2 if axis == -1 else axis, 5)
    one = One("ONE_HOT", [indices, scalar(5, np.int32), scalar(2.5), scalar(-1)], [(shape, "float32")],
              "OneHotOptions", {"Axis": axis})
    ready = nnfast.Device().prepare(one.model())
    assert ready.explain().rows[0]["kernel"] == kernel
    for wrong in (0, 5, -1):
        indices[1, 1] = wrong
        wanted = np.where(np.arange(5) == indices[..., None], np.float32(2.5), np.float32(-1))
        np.testing.assert_array_equal(ready.run([indices])[0], np.moveaxis(wanted, -1, axis))
