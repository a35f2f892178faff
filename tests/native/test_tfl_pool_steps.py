"""MediaPipe's poolings with places: their native forms against the numpy definitions."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, floats, ints, operand, out
from nnfast._native.engine import Frame, Program
from nnfast._native.spatial import MaxUnpool
from nnfast.errors import GeneralFailure
from nnfast.ops.own import BY_NAME

IMAGES = [
    ((1, 4, 6, 3), 2, 2, 2, 2), ((2, 5, 7, 16), 3, 2, 1, 2), ((1, 9, 9, 33), 3, 3, 2, 2), ((3, 1, 1, 1), 1, 1, 1, 1),
]


def pooled(name, inputs, scheme, strides, size, outputs):
    width, height = size
    node = make(BY_NAME[name].op, [*inputs, *ints(scheme, *strides, width, height)], *outputs)
    return node


@pytest.mark.parametrize("shape, width, height, stride_x, stride_y", IMAGES)
@pytest.mark.parametrize("scheme", [1, 2])
def test_largest_values_and_places(shape, width, height, stride_x, stride_y, scheme):
    x = np.random.default_rng(1).integers(-3, 4, shape).astype(np.float32)
    x.reshape(-1)[::7] = np.nan
    node = pooled("TFL_MAX_POOL_ARGMAX", [operand(T.TENSOR_FLOAT32, shape=shape)], scheme, (stride_x, stride_y),
                  (width, height), [out(), out()])
    check_all_ways(node, [x])


def test_many_rows_for_several_threads():
    x = np.random.default_rng(2).normal(size=(2, 64, 64, 24)).astype(np.float32)
    node = pooled("TFL_MAX_POOL_ARGMAX", [operand(T.TENSOR_FLOAT32, shape=x.shape)], 2, (2, 2), (2, 2), [out(), out()])
    check_all_ways(node, [x])


@pytest.mark.parametrize("shape", [(1, 2, 3, 1), (2, 3, 2, 5), (1, 16, 16, 40), (2, 32, 32, 64)])
def test_back_to_places(shape):
    rng = np.random.default_rng(3)
    x, plane = rng.normal(size=shape).astype(np.float32), 4 * shape[1] * shape[2]
    places = rng.integers(0, plane, shape).astype(np.float32) + np.float32(0.1)
    places.reshape(-1)[:2] = -0.9, plane - 0.5
    node = pooled("TFL_MAX_UNPOOL", [operand(T.TENSOR_FLOAT32, shape=shape)] * 2, 2, (2, 2), (2, 2), [out()])
    node.inputs[1] = operand(T.TENSOR_FLOAT32, shape=shape)
    check_all_ways(node, [x, places])


@pytest.mark.parametrize("place", [-1.0, 8.0, np.nan, np.inf])
def test_places_outside_are_declined(place):
    x, places = np.ones((1, 2, 1), np.float32), np.float32([[[0.1], [place]]])
    program, y = Program([MaxUnpool((0, 1, 2), 1, 2, 1, 8)]), np.zeros((1, 8, 1), np.float32)
    frame = Frame(3, {}, 0, {0: x, 1: places, 2: y}, 0, 2)
    for threads in (1, 2):
        assert program.run(frame, threads) == ("declined", 1)
    frame.bind(1, np.float32([[[0.1], [7.9]]]))
    assert program.run(frame, 2) == ("done", 1)
    np.testing.assert_array_equal(y.reshape(-1), [1, 0, 0, 0, 0, 0, 0, 1])


@pytest.mark.parametrize("place", [-1.0, 8.0, np.nan, np.inf])
def test_places_outside_are_refused_by_the_definition(place):
    x, places = floats(np.ones((1, 1, 2, 1))), floats(np.float32([[[[0.1], [place]]]]))
    node = pooled("TFL_MAX_UNPOOL", [x, places], 2, (2, 2), (2, 2), [out()])
    with pytest.raises(GeneralFailure, match=r"has one outside a plane of 2 x 4"), np.errstate(invalid="ignore"):
        node.op.compute(node, [x.value, places.value])
