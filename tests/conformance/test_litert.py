"""Arrays beside LiteRT's, and random inputs that a file can run on."""

import numpy as np
import pytest

from helpers.tflite.file_builder import Op, Tensor, build
from nnfast.conformance.litert.compare import compare, distance
from nnfast.conformance.litert.samples import random_call, rows_of_ids
from nnfast.tflite.reader import ModelFile

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("ours, theirs, verdict", [
    ([1, 2], [1, 2], "same"), ([1, NAN, INF], [1, NAN, INF], "same"), ([0.0], [-0.0], "same"), ([], [], "same"),
    ([1, 100], [1.001, 100], "within"), ([1, 100], [1.003, 100], "DIFFERS"),
    ([1, NAN], [1, 2], "DIFFERS"), ([1, 2], [1, NAN], "DIFFERS"), ([INF], [-INF], "DIFFERS"),
    ([1, INF], [1.00001, INF], "within"), ([0, 0], [0, 1e-9], "DIFFERS"),
])
def test_floats(ours, theirs, verdict):
    found = compare(np.float32(ours), np.float32(theirs))
    assert found.verdict == verdict and (found.text == "") == (verdict == "same")


def test_integers_must_be_equal():
    found = compare(np.int8([[5, -128], [7, 3]]), np.int8([[5, 127], [7, 4]]))
    assert found.is_wrong and (found.differing, found.values, found.largest, found.where) == (2, 4, 255, (0, 1))
    assert found.text == "2 of 4 values differ, by up to 255; first at [0, 1]: -128, LiteRT's 127"
    assert compare(np.uint64(2**64 - 1), np.uint64(0)).largest == float(2**64 - 1)
    assert compare(np.array(True), np.array(False)).largest == 1


def test_the_first_beyond_the_bound_is_named():
    found = compare(np.float32([1.001, 2, 100]), np.float32([1, 3, 100]))
    assert found.differing == 2 and found.where == (1,)
    assert compare(np.complex64([1j]), np.complex64([1])).is_wrong


def test_other_shapes_and_types():
    assert compare(np.zeros((1, 2), np.int8), np.zeros(2, np.int8)).text == "is int8[1, 2], LiteRT's int8[2]"
    assert compare(np.zeros(2, np.int32), np.zeros(2, np.int64)).is_wrong
    assert distance(np.zeros(1), np.zeros(2)) is None


def test_random_inputs():
    table = Tensor.of("table", np.zeros((3, 2), np.float32))
    tensors = [Tensor("x", (400,)), Tensor("ids", (400,), "int32"), Tensor("q", (4000,), "int8", scale=0.5), table,
               Tensor("flat", (20, 20), "int32"), Tensor("y", (20, 20, 2)), Tensor.of("s", np.int32([20, 20]))]
    graph = ModelFile(build(tensors, [Op("RESHAPE", ["ids", "s"], ["flat"], "ReshapeOptions"),
                                      Op("GATHER", ["table", "flat"], ["y"], "GatherOptions")],
                            ["x", "ids", "q"], ["y"])).graph(0)
    assert rows_of_ids(graph) == {1: 2}
    shapes, dtypes = [(400,), (400,), (4000,)], [np.float32, np.int32, np.int8]
    x, ids, q = random_call(graph, shapes, dtypes, np.random.default_rng(1)).values()
    assert -1 <= x.min() < 0 < x.max() < 1 and set(ids.tolist()) == {0, 1} and (q.min(), q.max()) == (-128, 127)
    again = random_call(graph, shapes, dtypes, np.random.default_rng(1))
    np.testing.assert_array_equal(again[0], x)
