"""Tensors without elements: LiteRT runs most operators on them, and with its arithmetic they do so here.

What must come out is written here; where LiteRT is installed, its reference kernels must give the same.
"""

import numpy as np
import pytest

import nnfast
from helpers.litert_models import litert_outputs
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import Const, One

F = "float32"
POOL = {"Padding": 0, "StrideW": 1, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 2}
CONV = {"Padding": 0, "StrideW": 1, "StrideH": 1}
Q = {"*": (0.5, 3)}


def none(*shape, dtype=F):
    """An array of a shape that has a 0."""
    return np.zeros(shape, dtype)


def ints(*values):
    return Const(np.array(values, np.int32))


def floats(*shape):
    return Const(np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape))


X = floats(2, 3).array
LOWEST = np.finfo(np.float32).min
CASES = {
    "abs": One("ABS", [none(0, 3)], [((0, 3), F)]),
    "add_int8": One("ADD", [none(0, 3, dtype="int8"), np.ones((1, 3), np.int8)], [((0, 3), "int8")], "AddOptions",
                    quants=Q),
    "add_rank_5": One("ADD", [none(0, 1, 3, 1, 4, dtype="int8"), np.ones((1, 2, 1, 3, 1), np.int8)],
                      [((0, 2, 3, 3, 4), "int8")], "AddOptions", quants=Q),
    "conv": One("CONV_2D", [none(0, 4, 4, 3), floats(5, 2, 2, 3), floats(5)], [((0, 4, 4, 5), F)], "Conv2DOptions",
                CONV),
    "conv_hybrid": One("CONV_2D", [none(0, 4, 4, 3), Const(np.ones((5, 2, 2, 3), np.int8)), floats(5)],
                       [((0, 4, 4, 5), F)], "Conv2DOptions", CONV, quants={"i1": (0.5, 0)}),
    "depthwise": One("DEPTHWISE_CONV_2D", [none(0, 4, 4, 3), floats(1, 2, 2, 3), floats(3)], [((0, 4, 4, 3), F)],
                     "DepthwiseConv2DOptions", CONV | {"DepthMultiplier": 1}),
    "fully_connected": One("FULLY_CONNECTED", [none(0, 3), floats(2, 3), floats(2)], [((0, 2), F)],
                           "FullyConnectedOptions"),
    "pool": One("MAX_POOL_2D", [none(1, 0, 4, 3)], [((1, 0, 4, 3), F)], "Pool2DOptions", POOL),
    "pool_smaller_than_the_filter": One("AVERAGE_POOL_2D", [none(1, 0, 4, 3)], [((1, 0, 3, 3), F)], "Pool2DOptions",
                                        POOL | {"Padding": 1}),
    "pool_codes": One("MAX_POOL_2D", [none(1, 0, 4, 3, dtype="int8")], [((1, 0, 4, 3), "int8")], "Pool2DOptions", POOL,
                      quants={"i0": (0.5, 3), "o0": (0.25, 3)}),
    "softmax": One("SOFTMAX", [none(0, 4)], [((0, 4), F)], "SoftmaxOptions", {"Beta": 1.0}),
    "softmax_int16": One("SOFTMAX", [none(0, 4, dtype="int8")], [((0, 4), "int16")], "SoftmaxOptions", {"Beta": 1.0},
                         quants={"i0": (0.5, 3), "o0": (1 / 65536, -32768)}),
    "logistic_rank_5": One("LOGISTIC", [none(2, 1, 3, 2, 0, dtype="int8")], [((2, 1, 3, 2, 0), "int8")],
                           quants={"i0": (0.5, 3), "o0": (1 / 256, -128)}),
    "depth_to_space": One("DEPTH_TO_SPACE", [none(0, 2, 2, 4, dtype="int64")], [((0, 4, 4, 1), "int64")],
                          "DepthToSpaceOptions", {"BlockSize": 2}),
    "reshape": One("RESHAPE", [none(0, 3), ints(3, 0)], [((3, 0), F)], "ReshapeOptions", {"NewShape": [3, 0]}),
    "transpose": One("TRANSPOSE", [none(0, 3), ints(1, 0)], [((3, 0), F)], "TransposeOptions"),
    "gather": One("GATHER", [X, none(0, dtype="int32")], [((2, 0), F)], "GatherOptions", {"Axis": 1}),
    "matmul_batches": One("BATCH_MATMUL", [none(0, 3, 4, dtype="int8"), np.ones((4, 5), np.int8)],
                          [((0, 3, 5), "int8")], "BatchMatMulOptions", quants=Q),
}
"""Name -> an operator whose result has no elements."""
VALUES = {
    "concatenation": (One("CONCATENATION", [none(0, 3), X], [((2, 3), F)], "ConcatenationOptions", {"Axis": 0}), X),
    "concatenation_rank_5": (
        One("CONCATENATION", [none(0, 1, 3, 1, 2, dtype="uint8"), np.ones((2, 1, 3, 1, 2), np.uint8)],
            [((2, 1, 3, 1, 2), "uint8")], "ConcatenationOptions", {"Axis": 0},
            quants={"i0": (0.5, 3), "i1": (0.5, 3), "o0": (0.25, 3)}), np.zeros((2, 1, 3, 1, 2), np.uint8)),
    "pad": (One("PADV2", [none(2, 0), Const(np.array([[0, 0], [1, 2]], np.int32)), Const(np.array(7, np.float32))],
                [((2, 3), F)], "PadV2Options"), np.full((2, 3), 7, np.float32)),
    "sum": (One("SUM", [none(0, 3), ints(0)], [((3,), F)], "ReducerOptions"), np.zeros(3, np.float32)),
    "max": (One("REDUCE_MAX", [none(0, 3), ints(0)], [((3,), F)], "ReducerOptions"), np.full(3, LOWEST, np.float32)),
    "prod": (One("REDUCE_PROD", [none(0, 3), ints(0)], [((3,), F)], "ReducerOptions"), np.ones(3, np.float32)),
    "all": (One("REDUCE_ALL", [none(0, 3, dtype=bool), ints(0)], [((3,), bool)], "ReducerOptions"), np.ones(3, bool)),
    "mean_int8": (One("MEAN", [none(2, 0, dtype="int8"), ints(1)], [((2,), "int8")], "ReducerOptions", quants=Q),
                  np.zeros(2, np.int8)),
    "mean_int8_other": (One("MEAN", [none(2, 0, dtype="int8"), ints(1)], [((2,), "int8")], "ReducerOptions",
                            quants={"i0": (0.5, 3), "o0": (0.25, 7)}), np.zeros(2, np.int8)),
    "matmul": (One("BATCH_MATMUL", [none(3, 0), none(0, 5)], [((3, 5), F)], "BatchMatMulOptions"),
               np.zeros((3, 5), np.float32)),
    "shape": (One("SHAPE", [none(0, 3)], [((2,), "int32")], "ShapeOptions", {"OutType": 2}),
              np.array([0, 3], np.int32)),
    "rfft": (One("RFFT2D", [none(0, 4), ints(1, 8)], [((1, 5), "complex64")]), np.zeros((1, 5), np.complex64)),
}
"""Name -> (operator on a tensor without elements, what it gives)."""


def given(one):
    return [x for x in one.inputs if isinstance(x, np.ndarray)]


@pytest.mark.parametrize("name", CASES)
def test_results_without_elements(name, tmp_path):
    one = CASES[name]
    (found,) = one.run()
    assert (found.shape, found.dtype) == (one.outputs[0][0], np.dtype(one.outputs[0][1]))
    theirs = litert_outputs(tmp_path, one.file(), [given(one)])
    if theirs is not None:
        assert theirs[0][0].shape == found.shape


@pytest.mark.parametrize("name", VALUES)
def test_values_of_nothing(name, tmp_path):
    one, wanted = VALUES[name]
    (found,) = one.run()
    np.testing.assert_array_equal(found.view(wanted.dtype), wanted)
    theirs = litert_outputs(tmp_path, one.file(), [given(one)])
    if theirs is not None:
        np.testing.assert_array_equal(theirs[0][0], wanted)


REFUSED = {
    "conv_of_no_pixels": One("CONV_2D", [none(1, 0, 4, 3), floats(5, 2, 2, 3), floats(5)], [((1, 0, 4, 5), F)],
                             "Conv2DOptions", CONV),
    "hybrid_conv_of_no_channels": One("CONV_2D", [none(1, 4, 4, 0), Const(np.ones((5, 2, 2, 3), np.int8)), floats(5)],
                                      [((1, 4, 4, 5), F)], "Conv2DOptions", CONV, quants={"i1": (0.5, 0)}),
    "arg_max": One("ARG_MAX", [none(2, 0), Const(np.array(1, np.int32))], [((2,), "int32")], "ArgMaxOptions",
                   {"OutputType": 2}),
    "resize": One("RESIZE_BILINEAR", [none(1, 0, 4, 3), ints(2, 2)], [((1, 2, 2, 3), F)], "ResizeBilinearOptions"),
    "resize_nearest": One("RESIZE_NEAREST_NEIGHBOR", [none(1, 0, 4, 3), ints(2, 2)], [((1, 2, 2, 3), F)],
                          "ResizeNearestNeighborOptions"),
    "fill": One("FILL", [ints(2, 2), none(0)], [((2, 2), F)]),
    "product_of_no_codes": One("REDUCE_PROD", [none(2, 0, dtype="int8"), ints(1)], [((2,), "int8")], "ReducerOptions",
                               quants=Q),
    "hash_of_no_rows": One("LSH_PROJECTION", [floats(3, 2), none(0, dtype="int32")], [((3,), "int32")],
                           "LSHProjectionOptions", {"Type": 1}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_result_is_refused_in_one_line(name):
    """LiteRT refuses these too, or reads memory that is not there."""
    with pytest.raises(nnfast.Error) as caught:
        REFUSED[name].run()
    assert REFUSED[name].kind in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_of_several_operators(tmp_path):
    """What depends on nothing is known while loading; what does not is computed."""
    tensors = [Tensor("x", (0, 3)), Tensor("y", (2, 3)), Tensor.of("axis", np.array([0], np.int32)),
               Tensor("a", (0, 3)), Tensor("s", (3,)), Tensor("z", (2, 3)), Tensor("e", (0, 3))]
    ops = [Op("ABS", ["x"], ["a"]), Op("SUM", ["a", "axis"], ["s"], "ReducerOptions"),
           Op("ADD", ["y", "s"], ["z"], "AddOptions"), Op("MUL", ["a", "s"], ["e"], "MulOptions")]
    data = build(tensors, ops, ["x", "y"], ["z", "e"])
    prepared = nnfast.Device().prepare(nnfast.load(data))
    z, e = prepared.run([none(0, 3), X])
    np.testing.assert_array_equal(z, X)
    assert e.shape == (0, 3)
    theirs = litert_outputs(tmp_path, data, [[none(0, 3), X]])
    if theirs is not None:
        np.testing.assert_array_equal(theirs[0][0], z)
    with pytest.raises(nnfast.InvalidArgument, match=r"shape is \[1, 3\], must be \[0, 3\]"):
        prepared.run([none(1, 3), X])


def opened(**kinds):
    """SUM over the first dimension and NEG of a tensor whose first dimension is open."""
    tensors = [Tensor("x", (1, 3), signature=(-1, 3)), Tensor.of("axis", np.array([0], np.int32)),
               Tensor("s", (3,)), Tensor("n", (1, 3), signature=(-1, 3))]
    ops = [Op("SUM", ["x", "axis"], ["s"], "ReducerOptions"), Op("NEG", ["x"], ["n"])]
    return nnfast.load(build(tensors, ops, ["x"], ["s", "n"]), **kinds)


def test_open_dimensions_may_be_0(tmp_path):
    prepared = nnfast.Device().prepare(opened())
    for count in (2, 0, 1, 0, 2):
        x = X[:count]
        total, negated = prepared.run([x])
        np.testing.assert_array_equal(total, x.sum(0))
        np.testing.assert_array_equal(negated, -x)


def test_bound_dimensions_may_be_0():
    prepared = nnfast.Device().prepare(opened(input_shapes={"x": (0, 3)}))
    total, negated = prepared.run([none(0, 3)])
    assert total.tolist() == [0, 0, 0] and negated.shape == (0, 3)
    with pytest.raises(nnfast.InvalidArgument, match=r"must be \[0, 3\]"):
        prepared.run([X])
    with pytest.raises(nnfast.InvalidArgument, match="must be dimensions of at least 0"):
        opened(input_shapes={"x": (-1, 3)})


def test_an_interpreter_takes_them():
    one = CASES["abs"]
    interpreter = nnfast.Interpreter(model_content=one.file())
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, none(0, 3))
    interpreter.invoke()
    assert interpreter.get_tensor(1).shape == (0, 3)


def test_a_phone_reads_0_as_unknown():
    """With the standard's arithmetic 0 is a size that a run gives, and not 0."""
    prepared = nnfast.Device().prepare(opened(arithmetic="nnapi"))
    with pytest.raises(nnfast.InvalidArgument, match=r"shape is \[0, 3\], must be \[\?, 3\]"):
        prepared.run([none(0, 3)])
    assert prepared.run([X])[1].shape == (2, 3)
    with pytest.raises(nnfast.InvalidArgument, match="must be positive dimensions"):
        opened(arithmetic="nnapi", input_shapes={"x": (0, 3)})
