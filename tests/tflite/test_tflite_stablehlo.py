"""STABLEHLO_GATHER and STABLEHLO_SCATTER beside loops over their indices."""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import Op, Tensor, build
from helpers.tflite.running import One
from nnfast.errors import Error, UnsupportedOperator
from nnfast.tflite import load

RNG = np.random.default_rng(8)
LEFT = [1, -3, 5, 127, -128, 1, 3, 9, 1, 3]
"""Numbers to be shifted by PLACES."""
PLACES = [0, 1, 2, 3, 4, 7, 8, 15, 31, 32]
X = RNG.standard_normal((4, 5, 3)).astype(np.float32)


def longs(*values):
    return np.array(values, np.int64)


def gather(indices, shape, **fields):
    tensors = [Tensor("x", X.shape), Tensor("i", indices.shape, "int32"), Tensor("y", shape)]
    fields = {name: longs(*value) if isinstance(value, tuple) else value for name, value in fields.items()}
    op = Op("STABLEHLO_GATHER", ["x", "i"], ["y"], "StablehloGatherOptions", fields)
    return nnfast.Device().prepare(load(build(tensors, [op], ["x", "i"], ["y"]))).run([X, indices])[0]


def test_gather_of_rows_moves_starts_inside():
    indices = np.array([[0, 0], [3, 4], [9, -2]], np.int32)
    result = gather(indices, (3, 2, 3), OffsetDims=(1, 2), CollapsedSliceDims=(0,), StartIndexMap=(0, 1),
                    IndexVectorDim=1, SliceSizes=(1, 2, 3))
    assert result.tolist() == np.stack([X[0, :2], X[3, 3:], X[3, :2]]).tolist()


def test_gather_with_the_places_along_the_first_dimension():
    indices = np.array([[0, 2, 1], [1, 0, 2]], np.int32)
    result = gather(indices, (2, 2, 3, 3), OffsetDims=(0, 1, 2), CollapsedSliceDims=(), StartIndexMap=(1, 0),
                    IndexVectorDim=0, SliceSizes=(2, 2, 3))
    for k, (column, row) in enumerate(indices.T):
        assert result[..., k].tolist() == X[row:row + 2, column:column + 2].tolist()


def test_gather_refuses_slices_that_do_not_fit():
    with pytest.raises(Error, match="sizes"):
        gather(np.zeros((1, 1), np.int32), (1, 9, 3), OffsetDims=(1, 2), CollapsedSliceDims=(0,), StartIndexMap=(0,),
               IndexVectorDim=1, SliceSizes=(1, 9, 3))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "float32", "bool"])
@pytest.mark.parametrize(("name", "function"), [("ADD", np.add), ("MULTIPLY", np.multiply)])
def test_sums_and_products_of_codes_wrap(name, function, kind):
    x, y = (RNG.integers(0, 2 if kind == "bool" else 120, (3, 40)).astype(kind) for _ in range(2))
    quants = dict.fromkeys(("i0", "i1", "o0"), (0.5, 0)) if kind not in ("float32", "bool") else None
    (result,) = One(f"STABLEHLO_{name}", [x, y], [(x.shape, kind)], quants=quants).run()
    assert result.tolist() == function(x, y).tolist()


def scatter(body, indices, updates, **fields):
    """Its result, with a body of one operator, or of none where `body` is None."""
    inner = [Tensor(name, ()) for name in "abc"], [Op(body, ["a", "b"], ["c"])], ["a", "b"], ["c"]
    if body is None:
        inner = [Tensor(name, ()) for name in "ab"], [], ["a", "b"], ["b"]
    tensors = [Tensor("x", X.shape), Tensor("i", indices.shape, "int32"), Tensor("u", updates.shape),
               Tensor("y", X.shape)]
    fields = {name: longs(*value) if isinstance(value, tuple) else value for name, value in fields.items()}
    op = Op("STABLEHLO_SCATTER", ["x", "i", "u"], ["y"], "StablehloScatterOptions",
            fields | {"UpdateComputationSubgraphIndex": 1})
    model = load(build(tensors, [op], ["x", "i", "u"], ["y"], others=[inner]))
    return nnfast.Device().prepare(model).run([X, indices, updates])[0]


@pytest.mark.parametrize("body, function", [("STABLEHLO_ADD", np.add), ("STABLEHLO_MULTIPLY", np.multiply),
                                            ("STABLEHLO_MAXIMUM", np.maximum), ("STABLEHLO_MINIMUM", np.minimum),
                                            (None, lambda old, new: new)])
def test_scatter_of_rows(body, function):
    indices = np.array([[0, 0], [3, 4], [0, 0], [4, 0], [1, -1]], np.int32)
    updates = RNG.standard_normal((5, 3)).astype(np.float32)
    expected = X.copy()
    for (i, j), row in zip(indices[:3], updates):
        expected[i, j] = function(expected[i, j], row)
    result = scatter(body, indices, updates, UpdateWindowDims=(1,), InsertedWindowDims=(0, 1),
                     ScatterDimsToOperandDims=(0, 1), IndexVectorDim=1)
    assert result.tolist() == expected.tolist()


def test_scatter_of_planes_into_a_middle_dimension():
    indices, updates = np.array([[2], [0]], np.int32), RNG.standard_normal((4, 2, 3)).astype(np.float32)
    result = scatter(None, indices, updates, UpdateWindowDims=(0, 2), InsertedWindowDims=(1,),
                     ScatterDimsToOperandDims=(1,), IndexVectorDim=1)
    expected = X.copy()
    expected[:, 2], expected[:, 0] = updates[:, 0], updates[:, 1]
    assert result.tolist() == expected.tolist()


def test_scatter_refuses_other_bodies():
    with pytest.raises(UnsupportedOperator, match="body"):
        scatter("DIV", np.zeros((1, 1), np.int32), np.zeros((1, 5, 3), np.float32), UpdateWindowDims=(1, 2),
                InsertedWindowDims=(0,), ScatterDimsToOperandDims=(0,), IndexVectorDim=1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "bool"])
def test_and_of_bits(dtype):
    x, y = (np.array(values).astype(dtype) for values in (LEFT, PLACES))
    (result,) = One("STABLEHLO_AND", [x, y], [(x.shape, dtype)]).run()
    assert result.dtype == dtype and result.tolist() == [a & b for a, b in zip(x.tolist(), y.tolist())]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_bits_that_leave_at_the_left_are_lost(dtype):
    """Places count modulo 32."""
    x, y = (np.array(values, dtype) for values in (LEFT, PLACES))
    (result,) = One("STABLEHLO_SHIFT_LEFT", [x, y], [(x.shape, dtype)]).run()
    wanted = np.array([a << b % 32 for a, b in zip(LEFT, PLACES)])
    assert result.dtype == dtype and result.tolist() == wanted.astype(dtype).tolist()


def test_other_numbers_are_not_shifted():
    x = np.ones(2, np.int64)
    with pytest.raises(UnsupportedOperator, match="SHIFT_LEFT"):
        One("STABLEHLO_SHIFT_LEFT", [x, x], [((2,), "int64")]).model()
