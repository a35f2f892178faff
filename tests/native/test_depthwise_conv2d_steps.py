"""Native DEPTHWISE_CONV_2D against its numpy definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import at_each_level, make, run_native
from helpers.nodes import T, ints, operand
from helpers.steps import is_fastest, run
from nnfast._native.conv import DepthwiseConv2DF32, DepthwiseConv2DQ8, pack_depthwise_f32
from nnfast.ops.depthwise_conv2d import geometry

F32 = T.TENSOR_FLOAT32


@st.composite
def geometries(draw):
    """(batch, size, channels, multiplier, filter size, scalars): explicit padding, strides, activation, dilation."""
    taps = [draw(st.integers(1, 5)) for _ in range(2)]
    dilation = [draw(st.sampled_from((1, 1, 1, 2, 3))) for _ in range(2)]
    reach = [(k - 1) * d + 1 for k, d in zip(taps, dilation, strict=True)]
    padding = [draw(st.integers(0, min(r - 1, 3))) for r in reach for _ in range(2)]
    size = [draw(st.integers(max(1, r - padding[2 * i] - padding[2 * i + 1]), r + 12)) for i, r in enumerate(reach)]
    stride = [draw(st.integers(1, 3)) for _ in range(2)]
    channels = draw(st.sampled_from((1, 3, 8, 15, 16, 17, 32, 33, 64, 65, 100)))
    multiplier = draw(st.sampled_from((1, 1, 1, 2, 5)))
    top, bottom, left, right = padding
    return {
        "batch": draw(st.integers(0, 2)), "size": size, "channels": channels, "multiplier": multiplier, "taps": taps,
        "window": (left, right, top, bottom, stride[1], stride[0]), "dilation": (dilation[1], dilation[0]),
        "activation": draw(st.integers(0, 3)), "seed": draw(st.integers(0, 2**32 - 1)),
    }


@st.composite
def columns(draw):
    """The same of images one pixel wide."""
    case = draw(geometries())
    (height, _), (taps, _), (_, _, top, bottom, _, stride) = case["size"], case["taps"], case["window"]
    window = 0, 0, top, bottom, draw(st.integers(1, 3)), stride
    return case | {"size": [height, 1], "taps": [taps, 1], "window": window}


def build(case, source, filter_, bias, target):
    scalars = ints(*case["window"], case["multiplier"], case["activation"])
    flag = operand(T.BOOL, np.uint8(0))
    return make("DEPTHWISE_CONV_2D", [source, filter_, bias, *scalars, flag, *ints(*case["dilation"])], target)


def shapes(case):
    units = case["channels"] * case["multiplier"]
    return (case["batch"], *case["size"], case["channels"]), (1, *case["taps"], units), units


@settings(max_examples=120)
@given(geometries() | columns())
def test_float32_is_close_to_the_definition(case):
    rng = np.random.default_rng(case["seed"])
    image, window, units = shapes(case)
    data = rng.uniform(-2, 2, image).astype(np.float32)
    node = build(case, operand(F32, shape=image), operand(F32, rng.uniform(-2, 2, window)),
                 operand(F32, rng.uniform(-2, 2, units)), operand(F32))
    wanted, = node.op.compute(node, [data, *(t.value for t in node.inputs[1:])])
    for level in at_each_level():
        one, _ = run_native(node, data, 1)
        two, steps = run_native(node, data, 2)
        np.testing.assert_allclose(one, wanted, rtol=0, atol=1e-5, err_msg=level)
        np.testing.assert_array_equal(one.view(np.uint32), two.view(np.uint32), level)
        assert is_fastest(steps[0].kernel)


def steps_of(case, weights, bias, **options):
    """The float32 step of a case at the level in force, and the shape of its output."""
    node = build(case, operand(F32, shape=shapes(case)[0]), operand(F32, weights), operand(F32, bias), operand(F32))
    shape = case["batch"], geometry(node), pack_depthwise_f32(weights, bias), weights.shape[3], case["multiplier"]
    return DepthwiseConv2DF32((0, 1), *shape, -1, 2, **options), node.outputs[0].shape


@settings(max_examples=120)
@given(geometries(), st.sampled_from((0, 1, 15, 16, 33)))
def test_bfloat16_outputs_are_the_float32_ones_rounded(case, behind):
    rng = np.random.default_rng(case["seed"])
    image, window, units = shapes(case)
    data, weights, bias = (rng.uniform(-2, 2, shape).astype(np.float32) for shape in (image, window, units))
    for level in at_each_level():
        plain, shape = steps_of(case, weights, bias)
        rounding, _ = steps_of(case, weights, bias, pixel=units + behind)
        if not plain.kernel.endswith("__scalar") and rounding.kernel.endswith("__scalar"):
            continue  # such steps are made where bfloat16 is multiplied
        exact, found = np.zeros(shape, np.float32), np.full((*shape[:-1], units + behind), 77, np.uint16)
        run([plain], [data, exact])
        for threads in (1, 2, 3):
            found[...] = 77
            run([rounding], [data, found], threads)
            bits = exact.view(np.uint32)
            near = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
            np.testing.assert_array_equal(found[..., :units], near, level)
            assert not found[..., units:].any()


def test_a_pixel_must_hold_the_channels():
    case = {"batch": 1, "size": [4, 4], "channels": 8, "multiplier": 1, "taps": [3, 3], "window": (0, 0, 0, 0, 1, 1),
            "dilation": (1, 1), "activation": 0}
    with pytest.raises(ValueError, match="pixel is 7, must be 0 or at least 8 channels"):
        steps_of(case, np.ones((1, 3, 3, 8), np.float32), np.ones(8, np.float32), pixel=7)


@settings(max_examples=120)
@given(geometries() | columns(), st.sampled_from(("qu8", "qs8", "qu8c", "qs8c")), st.sampled_from((2.0**-7, 0.01, 0.3)))
def test_quantized_is_the_definition_bit_for_bit(case, kind, target_scale):
    rng = np.random.default_rng(case["seed"])
    image, window, units = shapes(case)
    signed = kind.startswith("qs8")
    type_ = T.TENSOR_QUANT8_ASYMM_SIGNED if signed else T.TENSOR_QUANT8_ASYMM
    low = -128 if signed else 0
    zero, weight_zero, target_zero = rng.integers(low, low + 256, 3).tolist()
    if kind.endswith("c"):
        scales = rng.uniform(0.001, 0.02, units).astype(np.float32).tolist()
        filter_ = operand(T.TENSOR_QUANT8_SYMM_PER_CHANNEL, rng.integers(-128, 128, window), scales=scales, dim=3)
        bias_scale = 0.0
    else:
        filter_ = operand(type_, rng.integers(low, low + 256, window), scale=0.01, zero_point=weight_zero)
        bias_scale = np.float32(0.02) * np.float32(0.01)
    bias = operand(T.TENSOR_INT32, rng.integers(-20000, 20000, units), scale=bias_scale)
    node = build(case, operand(type_, shape=image, scale=0.02, zero_point=zero), filter_, bias,
                 operand(type_, scale=target_scale, zero_point=target_zero))
    data = rng.integers(low, low + 256, image).astype(node.outputs[0].dtype)
    wanted, = node.op.compute(node, [data, *(t.value for t in node.inputs[1:])])
    for level in at_each_level():
        for threads in (1, 2, 5):
            np.testing.assert_array_equal(run_native(node, data, threads)[0], wanted, level)


@pytest.mark.parametrize(("size", "channels", "taps"), [((7, 7), 1024, 3), ((19, 19), 256, 3), ((9, 45), 7, 5)])
def test_rows_and_channels_split_over_threads_alike(size, channels, taps):
    """Two threads share the channels of the first, whose windows are high beside it, and the rows of the others; the
    last has few channels, which kernels add up in an order of their own."""
    rng = np.random.default_rng(3)
    pad, products = (taps // 2,) * 4, taps * taps
    case = {"batch": 1, "size": size, "channels": channels, "multiplier": 1, "taps": [taps, taps],
            "window": (*pad, 1, 1), "dilation": (1, 1), "activation": 3}
    data = rng.uniform(-2, 2, (1, *size, channels)).astype(np.float32)
    node = build(case, operand(F32, shape=data.shape), operand(F32, rng.uniform(-2, 2, (1, taps, taps, channels))),
                 operand(F32, rng.uniform(-2, 2, channels)), operand(F32))
    for level in at_each_level():
        one, steps = run_native(node, data, 1)
        assert steps[0].tiles >= 2
        assert steps[0].work == data.size * products
        assert steps[0].packed == 4 * (products + 1) * -(-channels // 16) * 16
        for threads in (2, 3, 5, 9):
            np.testing.assert_array_equal(one, run_native(node, data, threads)[0], level)


def test_columns_are_taken_as_rows():
    """Kernels go along rows: of a column they would do a pixel at a time."""
    case = {"batch": 1, "size": [50, 1], "channels": 16, "multiplier": 1, "taps": [5, 1], "window": (0, 0, 2, 2, 1, 2),
            "dilation": (1, 1), "activation": 0}
    weights = operand(F32, np.ones((1, 5, 1, 16), np.float32))
    node = build(case, operand(F32, shape=(1, 50, 1, 16)), weights, operand(F32, np.ones(16, np.float32)), operand(F32))
    assert node.outputs[0].shape == (1, 25, 1, 16)
    data = np.arange(800, dtype=np.float32).reshape(1, 50, 1, 16)
    found, (step,) = run_native(node, data, 1)
    assert step.window[:2] == (1, 1) and step.out_row == 4 * 25 * 16
    np.testing.assert_array_equal(found, node.op.compute(node, [data, *(t.value for t in node.inputs[1:])])[0])


@pytest.mark.parametrize("channels", [16, 1])
def test_infinite_weights_do_not_meet_padding(channels):
    weights = np.full((1, 3, 3, 16), np.inf, np.float32)
    case = {"multiplier": 16 // channels, "window": (1, 1, 1, 1, 1, 1), "dilation": (1, 1), "activation": 0}
    data = np.ones((1, 4, 4, channels), np.float32)
    node = build(case, operand(F32, shape=data.shape), operand(F32, weights), operand(F32, np.zeros(16)), operand(F32))
    for _ in at_each_level():
        result, _ = run_native(node, data)
        assert np.all(result == np.inf)


@pytest.mark.parametrize("filters", [1, 2, 40])
def test_filters_of_one_channel_are_a_convolution(filters):
    rng = np.random.default_rng(filters)
    case = {"multiplier": filters, "window": (1, 0, 2, 1, 2, 1), "dilation": (1, 1), "activation": 1}
    codes = T.TENSOR_QUANT8_ASYMM_SIGNED
    data, filter_ = rng.integers(-128, 128, (2, 9, 12, 1)), rng.integers(-128, 128, (1, 5, 3, filters))
    floats = build(case, operand(F32, shape=data.shape), operand(F32, filter_ / 64),
                   operand(F32, rng.normal(size=filters)), operand(F32))
    bias = operand(T.TENSOR_INT32, rng.integers(-900, 900, filters), scale=np.float32(0.02) * np.float32(0.01))
    quantized = build(case, operand(codes, shape=data.shape, scale=0.02, zero_point=-7),
                      operand(codes, filter_, scale=0.01, zero_point=9), bias, operand(codes, scale=0.06, zero_point=4))
    for node in (floats, quantized):
        image = data.astype(node.outputs[0].dtype)
        wanted, = node.op.compute(node, [image, *(t.value for t in node.inputs[1:])])
        for level in at_each_level():
            found, steps = run_native(node, image)
            is_depthwise = any(isinstance(one, DepthwiseConv2DF32 | DepthwiseConv2DQ8) for one in steps)
            assert is_depthwise == (filters == 1), level
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3 if node is floats else 0, err_msg=level)


@pytest.mark.parametrize(("change", "reason"), [
    ("layout", "no native kernel for NCHW"), ("half", "no native kernel for TENSOR_FLOAT16"),
])
def test_reasons_for_numpy(change, reason):
    type_ = T.TENSOR_FLOAT16 if change == "half" else F32
    case = {"multiplier": 1, "window": (0, 0, 0, 0, 1, 1), "dilation": (1, 1), "activation": 0}
    node = build(case, operand(type_, shape=(1, 4, 4, 4)), operand(type_, np.zeros((1, 2, 2, 4))),
                 operand(type_, np.zeros(4)), operand(type_))
    if change == "layout":
        node["layout"].value = np.uint8(1)
    assert run_native(node, np.zeros((1, 4, 4, 4))) == (None, reason)
