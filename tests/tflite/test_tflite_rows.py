"""Rows by number, key or score: EMBEDDING_LOOKUP_SPARSE, HASHTABLE_LOOKUP, LSH_PROJECTION, NON_MAX_SUPPRESSION, and
what the data size.
"""

import numpy as np
import pytest

import nnfast
from helpers.tflite.file_builder import build
from helpers.tflite.running import Const, One
from nnfast.errors import Error, GeneralFailure, UnsupportedOperator

RNG = np.random.default_rng(41)
VALUES = RNG.standard_normal((4, 3, 2)).astype(np.float32)
PLACES, NUMBERS, SHAPE = np.int32([[0, 0], [2, 0], [2, 1]]), np.int32([1, 3, 0]), np.int32([3, 2])
WEIGHTS = np.float32([1, 2, 4])


def sparse(combiner, numbers=NUMBERS, places=PLACES):
    return One("EMBEDDING_LOOKUP_SPARSE", [numbers, places, Const(SHAPE), WEIGHTS, Const(VALUES)],
               [((3, 3, 2), "float32")], "EmbeddingLookupSparseOptions", {"Combiner": combiner})


@pytest.mark.parametrize(("combiner", "divisor"), [(0, 1), (1, 6), (2, 20**0.5)])
def test_sparse_rows_are_combined(combiner, divisor):
    wanted = np.zeros((3, 3, 2))
    wanted[0], wanted[2] = VALUES[1], (2 * VALUES[3] + 4 * VALUES[0]) / divisor
    np.testing.assert_allclose(sparse(combiner).run()[0], wanted, rtol=1e-6)


def test_sparse_rows_that_are_not_there():
    with pytest.raises(GeneralFailure, match="numbers"):
        sparse(0, np.int32([1, 4, 0])).run()
    with pytest.raises(GeneralFailure, match="places"):
        sparse(0, places=np.int32([[0, 0], [3, 0], [2, 1]])).run()
    with pytest.raises(UnsupportedOperator, match="combiner"):
        sparse(3).model()


def test_hashes_are_those_of_the_standard():
    hashes, x = RNG.standard_normal((3, 2)).astype(np.float32), np.arange(4, dtype=np.int32)
    weight = WEIGHTS[[0, 1, 2, 0]]
    found, = One("LSH_PROJECTION", [Const(hashes), x, weight], [((6,), "int32")], "LSHProjectionOptions",
                 {"Type": 2}).run()
    assert set(found.tolist()) <= {0, 1}
    signs, = One("LSH_PROJECTION", [Const(hashes), x], [((3,), "int32")], "LSHProjectionOptions", {"Type": 1}).run()
    plain, = One("LSH_PROJECTION", [Const(hashes), x, np.ones(4, np.float32)], [((6,), "int32")],
                 "LSHProjectionOptions", {"Type": 2}).run()
    assert signs.tolist() == [4 * k + 2 * plain[2 * k] + plain[2 * k + 1] for k in range(3)]


HASHES = RNG.standard_normal((3, 2)).astype(np.float32)


def hashed(x, weight, kind):
    return One("LSH_PROJECTION", [Const(HASHES), x, weight], [((6 if kind == 2 else 3,), "int32")],
               "LSHProjectionOptions", {"Type": kind}).run()[0].tolist()


def test_hashes_with_weights_or_without_whatever_becomes_of_the_bits():
    x, weight = np.arange(4, dtype=np.int32), np.float32([1, -2, 4, -0.5])
    for values in (weight, None):
        bits = hashed(x, np.ones(4, np.float32) if values is None else values, 2)
        assert hashed(x, values, 2) == bits
        assert hashed(x, values, 1) == [4 * k + 2 * bits[2 * k] + bits[2 * k + 1] for k in range(3)]


@pytest.mark.parametrize("dtype", ["int64", "float64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("kind", [1, 2])
def test_hashes_are_of_bytes(dtype, kind):
    rows = RNG.integers(0, 2, (4, 8, 4)).astype(dtype)
    weight = np.float32([1, -2, 4, -0.5])
    assert hashed(rows, weight, kind) == hashed(rows.view(np.uint8).reshape(4, -1).view(np.int32), weight, kind)


def test_weights_of_hashes_are_as_many_as_rows():
    with pytest.raises(UnsupportedOperator, match="LSH_PROJECTION"):
        One("LSH_PROJECTION", [Const(HASHES), np.arange(4), Const(WEIGHTS)], [((3,), "int32")],
            "LSHProjectionOptions", {"Type": 1}).model()


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float16", "complex64"])
def test_rows_of_any_type_by_key(dtype):
    rows, keys, lookups = RNG.integers(0, 2, (3, 2)).astype(dtype), np.int32([1, 3, 7]), np.int32([7, 4, 1, 7])
    found, hits = One("HASHTABLE_LOOKUP", [lookups, keys, Const(rows)], [((4, 2), dtype), ((4,), "uint8")]).run()
    np.testing.assert_array_equal(found, np.stack([rows[2], 0 * rows[2], rows[0], rows[2]]).astype(dtype))
    assert found.dtype == dtype and hits.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize(("kind", "why"), [("float32", "keys"), ("int64", "int64")])
def test_rows_without_keys_are_refused(kind, why):
    one = One("HASHTABLE_LOOKUP", [np.int32([7]), Const(np.zeros(0, np.int32)), Const(np.zeros((0, 2), kind))],
              [((1, 2), kind), ((1,), "uint8")])
    with pytest.raises(nnfast.Error, match=why):
        nnfast.Device().prepare(nnfast.load(one.file()))


@pytest.mark.parametrize("kind", ["NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"])
def test_boxes_of_equal_scores_come_as_from_a_heap(kind):
    """The order is LiteRT's: a box that was chosen goes back into the queue once."""
    scores = np.float32([0, .25, .75, .5, .75, .25])
    corners = np.arange(6, dtype=np.float32)[:, None] * 10
    boxes = np.concatenate([corners, corners, corners + 1, corners + 1], 1)
    limits = [Const(np.int32(6)), Const(np.float32(.4)), Const(np.float32(.1))]
    is_soft = kind.endswith("5")
    found = One(kind, [boxes, scores, *limits, *([Const(np.float32(0))] if is_soft else [])],
                [((6,), "int32"), *([((6,), "float32")] if is_soft else []), ((), "int32")]).run()
    assert found[0].tolist() == [2, 4, 3, 5, 1, 0] and found[-1].tolist() == [5]


@pytest.mark.parametrize(("kind", "wanted"), [("WHERE", [[[1], [2], [4]]]), ("UNIQUE", [[0, 3, 5], [0, 1, 1, 0, 2]])])
def test_shapes_that_data_give_are_not_the_files(kind, wanted):
    x = np.int32([0, 3, 3, 0, 5])
    shapes = [((7, 1), "int64")] if kind == "WHERE" else [((7,), "int32"), ((5,), "int32")]
    assert [part.tolist() for part in One(kind, [x], shapes, "UniqueOptions" if kind == "UNIQUE" else None,
                                          {"IdxOutType": 2} if kind == "UNIQUE" else None).run()] == wanted


@pytest.mark.parametrize(("kind", "function"), [
    ("FLOOR_DIV", np.floor_divide), ("FLOOR_MOD", np.mod), ("BITWISE_XOR", np.bitwise_xor),
    ("RIGHT_SHIFT", np.right_shift), ("STABLEHLO_AND", np.bitwise_and), ("STABLEHLO_SHIFT_LEFT", np.left_shift)])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_codes_are_taken_as_they_are(kind, function, dtype):
    x, y = RNG.integers(-99, 99, (3, 4)).astype(dtype), RNG.integers(1, 7, (3, 4)).astype(dtype)
    quants = dict.fromkeys(("i0", "i1", "o0"), (0.5, 0))
    found, = One(kind, [x, y], [((3, 4), dtype)], quants=quants).run()
    np.testing.assert_array_equal(found, function(x, y))


def test_complex_products_and_constants_of_64_bits():
    x = (RNG.standard_normal((2, 3)) + 1j * RNG.standard_normal((2, 3))).astype(np.complex64)
    one = One("MUL", [x, x], [((2, 3), "complex64")], "MulOptions", {})
    np.testing.assert_allclose(nnfast.Device().prepare(one.model()).run([x, x])[0], x * x, rtol=1e-5)
    shape, = One("SHAPE", [x.real.copy()], [((2,), "int64")], "ShapeOptions", {"OutType": 4}).run()
    assert shape.dtype == np.int64 and shape.tolist() == [2, 3]


@pytest.mark.parametrize(("kind", "count"), [
    *((kind, count) for kind in ("BROADCAST_TO", "SCATTER_ND", "RANDOM_UNIFORM") for count in (33, 63, 70)),
    ("FILL", 70), ("RESHAPE", 70)])
def test_computed_shapes_of_more_dimensions_than_there_are(kind, count):
    """numpy has an error of its own for them."""
    shape, x = np.ones(count, np.int32), np.ones(1, np.float32)
    inputs = {"BROADCAST_TO": [x, shape], "FILL": [shape, Const(np.float32(1))], "RESHAPE": [x, shape],
              "SCATTER_ND": [np.zeros((1, 1), np.int32), x, shape], "RANDOM_UNIFORM": [shape]}[kind]
    tensors, *rest = One(kind, inputs, [((1,), "float32")], {"RESHAPE": "ReshapeOptions"}.get(kind)).parts()
    tensors[-1].shape, tensors[-1].has_rank = (), False
    prepared = nnfast.Device().prepare(nnfast.load(build(tensors, *rest)))
    with pytest.raises(Error, match=r"shape|dims|rank|dimensions") as caught:
        prepared.run([i for i in inputs if isinstance(i, np.ndarray)])
    assert "\n" not in str(caught.value)


def test_ranks_that_a_file_leaves_out_are_checked():
    x, y = np.ones((3, 1), np.int16), np.ones(3, np.int16)
    tensors, *rest = One("CONCATENATION", [x, y], [((3, 2), "int16")], "ConcatenationOptions", {"Axis": 1}).parts()
    for t in tensors:
        t.shape, t.has_rank = (), False
    with pytest.raises(Error, match="CONCATENATION"):
        nnfast.load(build(tensors, *rest))
    b = nnfast.ModelBuilder()
    image, out = b.input("TENSOR_FLOAT32", ()), b.output("TENSOR_FLOAT32", ())
    b.operation("RESIZE_NEAREST_NEIGHBOR", [image, b.scalar(4), b.scalar(4), b.scalar(False)], [out])
    with pytest.raises(Error, match="rank"):
        nnfast.Device().prepare(b.build()).run([np.ones((2, 2), np.float32)])
