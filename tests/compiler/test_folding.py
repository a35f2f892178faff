"""Shape arithmetic of files with open sizes: computed once for a plan, given out where somebody asks for it."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.errors import GeneralFailure
from nnfast.tflite import load


def measured(*more, outputs=("y", "n"), rows="n"):
    """x [?, 3, 2] -> SHAPE -> n = its first number; y: x as [n, 6]. rows: the tensor that takes the place of n."""
    tensors = [
        Tensor("x", (2, 3, 2), signature=(-1, 3, 2)), Tensor("s", (3,), "int32"), Tensor("n", (), "int32"),
        Tensor.of("a", np.array([0], np.int32)), Tensor.of("b", np.array([1], np.int32)), Tensor("m", (), "int32"),
        Tensor.of("zero", np.array(0, np.int32)), Tensor.of("rest", np.array(-1, np.int32)), Tensor("t", (2,), "int32"),
        Tensor("y", (2, 6), signature=(-1, 6)),
    ]
    ops = [
        Op("SHAPE", ["x"], ["s"], "ShapeOptions", {"OutType": 2}),
        Op("STRIDED_SLICE", ["s", "a", "b", "b"], ["n"], "StridedSliceOptions", {"ShrinkAxisMask": 1}), *more,
        Op("PACK", [rows, "rest"], ["t"], "PackOptions", {"ValuesCount": 2}), Op("RESHAPE", ["x", "t"], ["y"]),
    ]
    return load(build(tensors, ops, ["x"], list(outputs)))


@pytest.mark.parametrize("rows", [1, 5])
def test_shape_arithmetic_is_folded_and_given_out(rows):
    x = np.arange(rows * 6, dtype=np.float32).reshape(rows, 3, 2)
    prepared = nnfast.Device().prepare(measured(), input_shapes={0: x.shape})
    kernels = [row["kernel"] for row in prepared.explain().rows]
    assert kernels[:-1] == ["folded"] * (len(kernels) - 1) and "numpy" not in kernels
    y, n = prepared.run([x])
    assert (y.tolist(), n.tolist()) == (x.reshape(rows, 6).tolist(), [rows])


def test_each_shape_has_its_own_numbers():
    prepared = nnfast.Device().prepare(measured())
    for rows in (2, 7, 2):
        x = np.ones((rows, 3, 2), np.float32)
        y, n = prepared.run([x])
        assert y.shape == (rows, 6) and n.tolist() == [rows]


def test_what_a_folded_operation_refuses_is_an_error_of_the_execution():
    prepared = nnfast.Device().prepare(measured(Op("FLOOR_MOD", ["n", "zero"], ["m"]), rows="m"))
    with pytest.raises(GeneralFailure, match="integers cannot be divided"):
        prepared.run([np.ones((2, 3, 2), np.float32)])


def test_constants_alone_stay_with_the_kernels():
    b = nnfast.ModelBuilder()
    x, y = b.input("TENSOR_FLOAT32", (2,)), b.output("TENSOR_FLOAT32", (2,))
    ones, total, none = b.constant(np.ones(2, np.float32)), b.operand("TENSOR_FLOAT32", (2,)), b.scalar(0)
    b.operation("ADD", [ones, ones, none], [total])
    b.operation("ADD", [x, total, none], [y])
    rows = nnfast.Device().prepare(b.build()).explain().rows
    assert len(rows) == 2 and all("add_f32" in row["kernel"] for row in rows)
