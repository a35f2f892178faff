"""Native HEATMAP_MAX_KEYPOINT against its numpy definition, results and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, operand
from nnfast import Device, ModelBuilder
from nnfast.errors import GeneralFailure

CODES = {T.TENSOR_QUANT8_ASYMM: np.uint8, T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}


def node_of(type_, count, size, keypoints):
    coded = type_ in CODES
    zero = 0 if not coded else 3 if type_ == T.TENSOR_QUANT8_ASYMM else -9
    scale, box_type = (0.04 if coded else 0.0), (T.TENSOR_QUANT16_ASYMM if coded else type_)
    return make("HEATMAP_MAX_KEYPOINT", [
        operand(type_, shape=(count, size, size, keypoints), scale=scale, zero_point=zero),
        operand(box_type, shape=(count, 4), scale=0.125 if coded else 0.0), operand(T.BOOL, np.uint8(0))],
        operand(type_, scale=scale * 1.3, zero_point=zero), operand(box_type, scale=0.125 if coded else 0.0))


def boxes_of(random, count, coded):
    corners = np.sort(random.integers(0, 800, (count, 2, 2)), axis=1).reshape(count, 4)
    return corners.astype(np.uint16) if coded else (corners / 8).astype(np.float32)


@pytest.mark.parametrize("type_", [T.TENSOR_FLOAT32, T.TENSOR_FLOAT16, *CODES])
@given(count=st.integers(1, 4), size=st.integers(2, 9), keypoints=st.sampled_from([1, 3, 8, 17, 33]),
       kind=st.sampled_from(["any", "few", "flat"]), seed=st.integers(0, 999))
@settings(max_examples=60)
def test_results(type_, count, size, keypoints, kind, seed):
    random, shape = np.random.default_rng(seed), (count, size, size, keypoints)
    node = node_of(type_, count, size, keypoints)
    if type_ in CODES:
        x = random.integers(0, {"any": 256, "few": 4, "flat": 1}[kind], shape).astype(np.uint8).view(CODES[type_])
    else:
        x = random.normal(0, 1, shape) if kind == "any" else random.integers(0, 4 if kind == "few" else 1, shape)
        x = x.astype(node.inputs[0].dtype)
    boxes = boxes_of(random, count, type_ in CODES)
    boxes = boxes.astype(np.float16) if type_ == T.TENSOR_FLOAT16 else boxes
    check_all_ways(node, [x, boxes], 1e-6 if type_ == T.TENSOR_FLOAT32 else 0)


KINDS = {"TENSOR_FLOAT32": np.float32, "TENSOR_FLOAT16": np.float16}


def prepared(type_, nchw):
    b = ModelBuilder()
    x = b.input(type_, (2, 3, 4, 4) if nchw else (2, 4, 4, 3))
    y = b.output(type_, (2, 3)), b.output(type_, (2, 3, 2))
    b.operation("HEATMAP_MAX_KEYPOINT", [x, b.input(type_, (2, 4)), b.scalar(nchw)], list(y))
    made = Device(num_threads=2).prepare(b.build())
    assert made.explain().native
    return made


@pytest.mark.parametrize("type_", KINDS)
@pytest.mark.parametrize("nchw", [False, True])
def test_refusals_are_those_of_the_definition(type_, nchw):
    run, random = prepared(type_, nchw).run, np.random.default_rng(1)
    x = random.normal(0, 1, (2, 3, 4, 4) if nchw else (2, 4, 4, 3)).astype(KINDS[type_])
    good = np.array([[0, 0, 8, 8], [2, 2, 4, 6]], KINDS[type_])
    bad = np.array([[0, 0, 8, 8], [2, 7, 4, 6]], KINDS[type_])
    wanted = run([x, good])
    with pytest.raises(GeneralFailure, match=r"input 1 \(boxes\): box \[1\] is \[2, 7, 4, 6\], the first corner"):
        run([x, bad])
    bad[1, 1] = np.nan
    with pytest.raises(GeneralFailure, match=r"input 1 \(boxes\): box \[1\] is \[2, nan, 4, 6\]"):
        run([x, bad])
    odd = x.copy()
    odd[1, 2, 1, 0] = np.nan
    with pytest.raises(GeneralFailure, match=r"input 0 \(heatmap\): element \[1, \d, \d, \d\] is NaN"):
        run([odd, good])
    for first, second in zip(run([x, good]), wanted, strict=True):
        np.testing.assert_array_equal(first, second)


def test_infinities_are_left_to_the_definition():
    run = prepared("TENSOR_FLOAT32", False).run
    x = np.random.default_rng(1).normal(0, 1, (2, 4, 4, 3)).astype(np.float32)
    x[0, 1, 1, 0], x[0, 2, 1, 0] = np.inf, -np.inf
    scores, places = run([x, np.float32([[0, 0, 8, 8], [2, 2, 4, 6]])])
    assert scores[0, 0] == np.inf
    assert places[0, 0].tolist() == [3, 3]
