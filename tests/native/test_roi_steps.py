"""Native ROI_ALIGN and ROI_POOLING against their numpy definitions, results and refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make, run_native_all
from helpers.nodes import T, ints, operand
from nnfast import Device, ModelBuilder
from nnfast.errors import GeneralFailure
from nnfast.ops.roi import ROI_ALIGN

TYPES = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_QUANT8_ASYMM: np.uint8, T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}
STRIDES = (2.0, 4.0)


def regions(random, count, height, width):
    """Corners on eighths of a pixel, as uint16 codes can say them; the first is the whole image."""
    ends = np.sort(random.integers(0, 8 * np.array([width, height])[:, None] * STRIDES[::-1][0] + 1, (count, 2, 2)))
    corners = np.minimum(ends / 8, np.array([width * STRIDES[1], height * STRIDES[0]])[:, None])
    corners[0] = [[0, width * STRIDES[1]], [0, height * STRIDES[0]]]
    return np.float32(np.swapaxes(corners, 1, 2).reshape(count, 4))


def node_of(name, type_, shape, count, out, ratios, scale=0.1):
    quantized = type_ != T.TENSOR_FLOAT32
    zero = -3 if type_ == T.TENSOR_QUANT8_ASYMM_SIGNED else 120
    quant = (scale, zero) if quantized else (0.0, 0)
    roi = operand(T.TENSOR_QUANT16_ASYMM if quantized else type_, shape=(count, 4), scale=0.125 if quantized else 0.0)
    strides = [operand(T.FLOAT32, np.float32(stride)) for stride in STRIDES]
    last = [operand(T.BOOL, np.uint8(0))]
    more = [*ints(*ratios), *last] if name == "ROI_ALIGN" else last
    image, batch = operand(type_, None, *quant, shape=shape), operand(T.TENSOR_INT32, shape=(count,))
    return make(name, [image, roi, batch, *ints(*out), *strides, *more], operand(type_, None, *quant))


def check(name, type_, shape, count, out, ratios, seed):
    random = np.random.default_rng(seed)
    node = node_of(name, type_, shape, count, out, ratios)
    real = type_ == T.TENSOR_FLOAT32
    image = random.normal(0, 2, shape).astype(np.float32) if real else \
        random.integers(0, 256, shape).astype(np.uint8).view(TYPES[type_])
    rois = regions(random, count, *shape[1:3])
    rois = rois if real else (rois * 8).astype(np.uint16)
    check_all_ways(node, [image, rois, random.integers(0, shape[0], count).astype(np.int32)], 1e-6, 2e-6 if real else 0)


sizes = st.sampled_from([1, 2, 5, 9, 14])


@pytest.mark.parametrize("name", ["ROI_ALIGN", "ROI_POOLING"])
@pytest.mark.parametrize("type_", TYPES)
@given(size=st.tuples(st.integers(1, 2), sizes, sizes, st.sampled_from([1, 3, 8, 17, 65])), count=st.integers(1, 5),
       out=st.tuples(st.integers(1, 7), st.integers(1, 7)), ratios=st.tuples(st.integers(0, 3), st.integers(0, 3)),
       seed=st.integers(0, 999))
@settings(max_examples=50)
def test_results(name, type_, size, count, out, ratios, seed):
    check(name, type_, size, count, out, ratios, seed)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("ratios", [(0, 0), (2, 2), (0, 40)])
def test_large_bins(type_, ratios):
    check("ROI_ALIGN", type_, (1, 90, 70, 5), 3, (1, 1), ratios, 5)


def test_a_number_that_is_none_reaches_only_what_it_touches():
    image = np.zeros((1, 9, 9, 2), np.float32)
    image[0, 4, 4, 1], image[0, 1, 7, 0] = np.nan, np.inf
    roi = np.float32([[0, 0, 36, 18], [0, 0, 12, 6], [20, 0, 36, 2]])
    for name in ("ROI_ALIGN", "ROI_POOLING"):
        node = node_of(name, T.TENSOR_FLOAT32, image.shape, 3, (2, 2), (1, 1))
        check_all_ways(node, [image, roi, np.zeros(3, np.int32)], 1e-6, 2e-6)


def test_long_ratios_are_numpy():
    node = node_of("ROI_ALIGN", T.TENSOR_FLOAT32, (1, 4, 4, 1), 1, (1, 1), (5000, 1))
    found, why = run_native_all(node, [])
    assert found is None
    assert why == "sampling ratio is 5000, native up to 4096"


# -- refusals ----------------------------------------------------------------------------------------------------------
GOOD = [[0, 0, 12, 6], [4, 2, 8, 4], [0, 0, 16, 8]]
KINDS = {"f32": ("TENSOR_FLOAT32", "TENSOR_FLOAT32", np.float32),
         "f16": ("TENSOR_FLOAT16", "TENSOR_FLOAT16", np.float16),
         "qu8": ("TENSOR_QUANT8_ASYMM", "TENSOR_QUANT16_ASYMM", np.uint8)}


def prepared(name, kind, nchw, ratio=2, scale=0.5, threads=2):
    type_, roi_type, _ = KINDS[kind]
    coded = kind == "qu8"
    b = ModelBuilder()
    inputs = [b.input(type_, (2, 3, 4, 4) if nchw else (2, 4, 4, 3), scale if coded else 0.0, 3 if coded else 0),
              b.input(roi_type, (3, 4), 0.125 if coded else 0.0), b.input("TENSOR_INT32", (3,))]
    inputs += [b.scalar(2), b.scalar(2)]
    inputs += [b.scalar(np.float16(s) if kind == "f16" else np.float32(s)) for s in STRIDES]
    if name == "ROI_ALIGN":
        inputs += [b.scalar(ratio), b.scalar(ratio)]
    y = b.output(type_, (0,) * 4, 0.5 if coded else 0.0, 3 if coded else 0)
    b.operation(name, [*inputs, b.scalar(nchw)], [y])
    made = Device(num_threads=threads).prepare(b.build())
    assert made.explain().native == ((name, kind) != ("ROI_ALIGN", "f16"))  # which is rounded inside the operation
    return made


def arrays(kind, nchw, roi, batch):
    *_, dtype = KINDS[kind]
    image = np.arange(96).reshape((2, 3, 4, 4) if nchw else (2, 4, 4, 3)).astype(dtype)
    roi = np.asarray(roi, np.float64)
    return [image, (roi * 8).astype(np.uint16) if kind == "qu8" else roi.astype(dtype), np.int32(batch)]


@pytest.mark.parametrize("name", ["ROI_ALIGN", "ROI_POOLING"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nchw", [False, True])
@pytest.mark.parametrize("roi, batch, message", [
    (GOOD, [0, 1, 2], "input 2 (batch_index): element [2] is 2, must be in [0, 2)"),
    (GOOD, [0, -1, 1], "input 2 (batch_index): element [1] is -1, must be in [0, 2)"),
    ([*GOOD[:2], [4, 2, 20, 4]], [0, 1, 1], "box [2] is [4, 2, 20, 4], which is [1, 1, 5, 2] over the strides"),
    ([GOOD[0], [8, 2, 4, 4], GOOD[2]], [0, 1, 1], "box [1] is [8, 2, 4, 4], which is [2, 1, 1, 2] over the strides"),
])
def test_refusals_are_those_of_the_definition(name, kind, nchw, roi, batch, message):
    run = prepared(name, kind, nchw).run
    with pytest.raises(GeneralFailure) as caught:
        run(arrays(kind, nchw, roi, batch))
    assert str(caught.value).startswith(f"main.operation[0] {name} ")
    assert message in str(caught.value)
    run(arrays(kind, nchw, GOOD, [0, 1, 1]))


@pytest.mark.parametrize("kind", ["f32", "f16"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1])
@pytest.mark.parametrize("corner", range(4))
def test_corners_that_are_no_place_in_the_image(kind, value, corner):
    roi = np.array(GOOD, float)
    roi[1, corner] = value
    for name in ("ROI_ALIGN", "ROI_POOLING"):
        with pytest.raises(GeneralFailure, match=r"input 1 \(roi\): box \[1\] is .* corners must be in order"):
            prepared(name, kind, False).run(arrays(kind, False, roi, [0, 1, 0]))


def test_what_hangs_on_the_number_of_samples():
    with pytest.raises(GeneralFailure, match="makes 16000000 samples in each bin, must be at most 1048576"):
        prepared("ROI_ALIGN", "f32", False, ratio=4000).run(arrays("f32", False, GOOD, [0, 1, 1]))
    with pytest.raises(GeneralFailure, match=r"\* 1 samples is 1.56863, must be less than 1"):
        prepared("ROI_ALIGN", "qu8", False, ratio=1, scale=200.0).run(arrays("qu8", False, GOOD, [0, 1, 1]))


def test_no_region():
    node = node_of("ROI_ALIGN", T.TENSOR_FLOAT32, (1, 4, 4, 3), 0, (2, 2), (2, 2))
    assert node.op is ROI_ALIGN
    found, _ = run_native_all(node, [np.zeros((1, 4, 4, 3), np.float32), np.zeros((0, 4), np.float32),
                                     np.zeros(0, np.int32)])
    assert found[0].shape == (0, 2, 2, 3)
