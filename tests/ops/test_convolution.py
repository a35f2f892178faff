"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED: arithmetic against plain Python, rules, vectors."""

import numpy as np
import pytest

from helpers import scalar_reference as ref
from helpers.nodes import T, execute, flag, floats, ints, node, operand, out, run
from helpers.vectors import check_coupling, check_signatures, check_vectors
from nnfast.errors import InvalidArgument
from nnfast.model import quant
from nnfast.ops import requantize

KINDS = {"uint8": T.TENSOR_QUANT8_ASYMM, "int8": T.TENSOR_QUANT8_ASYMM_SIGNED}
PC = T.TENSOR_QUANT8_SYMM_PER_CHANNEL
SHIFT = {"uint8": 128, "int8": 0}
IN, OUT, FILTER = (0.037, 11), (0.21, 3), (0.0131, 7)
CHANNELS = (0.004, 0.0131, 0.05, 0.0007, 0.02, 0.33)


def shifted(quantization, kind):
    """(scale, zero point) with the zero point in the middle of the type's range."""
    scale, zero_point = quantization
    return scale, zero_point + SHIFT[kind]


def random(seed, kind, shape):
    low, high = {"uint8": (0, 256), "int8": (-128, 128), "float": (0, 1)}[kind]
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) if kind == "float" else rng.integers(low, high, shape)


def conv_scalars(win, activation, nchw, multiplier=()):
    """Scalars of the explicit form with everything; `multiplier` goes before the activation (depthwise)."""
    (top, left), (bottom, right) = win["head"], win["tail"]
    return [
        *ints(left, right, top, bottom, win["stride"][1], win["stride"][0], *multiplier, activation), flag(nchw),
        *ints(win["dilation"][1], win["dilation"][0]),
    ]


WINDOW = {"head": (1, 0), "tail": (0, 2), "stride": (2, 1), "dilation": (1, 2), "out": (2, 4)}


def geometry(image, filter_):
    """WINDOW with the output size of a 4x5 image and a 2x2 filter worked out."""
    sizes = []
    for axis in (0, 1):
        extent = (filter_[axis] - 1) * WINDOW["dilation"][axis] + 1
        reach = image[axis] - extent + WINDOW["head"][axis] + WINDOW["tail"][axis]
        sizes.append(reach // WINDOW["stride"][axis] + 1)
    return {**WINDOW, "out": tuple(sizes)}


def quantized_case(depthwise, kind, per_channel, seed):
    """(image, filter, bias, filter scales) of a [1, 4, 5, 3] image and 6 output channels, as integer arrays."""
    image = random(seed, kind, (1, 4, 5, 3))
    shape = (1, 2, 2, 6) if depthwise else (6, 2, 2, 3)
    filter_ = random(seed + 1, "int8" if per_channel else kind, shape)
    bias = np.random.default_rng(seed + 2).integers(-3000, 3000, 6)
    return image, filter_, bias, CHANNELS if per_channel else (FILTER[0],) * 6


@pytest.mark.parametrize("activation", (0, 1, 2, 3))
@pytest.mark.parametrize("per_channel", (False, True))
@pytest.mark.parametrize("kind", ("uint8", "int8"))
@pytest.mark.parametrize("name", ("CONV_2D", "DEPTHWISE_CONV_2D"))
@pytest.mark.parametrize("nchw", (False, True))
def test_quantized_convolution_to_the_bit(name, kind, per_channel, activation, nchw):
    depthwise = name != "CONV_2D"
    image, filter_, bias, scales = quantized_case(depthwise, kind, per_channel, activation)
    q_in, q_filter, q_out = (shifted(q, kind) for q in (IN, FILTER, OUT))
    zero_w = 0 if per_channel else q_filter[1]
    win = geometry((4, 5), (2, 2))

    centred = (image[0] - q_in[1]).tolist()
    if depthwise:
        planes = [[[[int(filter_[0, i, j, o]) - zero_w] for j in (0, 1)] for i in (0, 1)] for o in range(6)]
        sums = ref.correlate(centred, planes, lambda o, k: o // 2, win)
    else:
        sums = ref.correlate(centred, (filter_ - zero_w).tolist(), lambda o, k: k, win)
    wanted = [
        [[ref.requantize(v + int(bias[o]), IN[0], scales[o], *q_out, kind, activation)
          for o, v in enumerate(cell)] for cell in row] for row in sums
    ]

    data = image.transpose(0, 3, 1, 2) if nchw else image
    if per_channel:
        weights = operand(PC, filter_, scales=scales, dim=3 if depthwise else 0)
        bias_scale = 0
    else:
        weights, bias_scale = operand(KINDS[kind], filter_, *q_filter), np.float32(IN[0]) * np.float32(FILTER[0])
    inputs = [
        operand(KINDS[kind], data, *q_in), weights, operand(T.TENSOR_INT32, bias, scale=bias_scale),
        *conv_scalars(win, activation, nchw, (2,) if depthwise else ()),
    ]
    result, = run(name, inputs, [out(KINDS[kind], *q_out)])
    result = result.transpose(0, 2, 3, 1) if nchw else result
    np.testing.assert_array_equal(result[0], wanted)
    assert len(np.unique(result)) > 4


@pytest.mark.parametrize("half", (False, True))
@pytest.mark.parametrize("name", ("CONV_2D", "DEPTHWISE_CONV_2D"))
def test_float_convolution(name, half):
    depthwise = name != "CONV_2D"
    type_ = np.float16 if half else np.float32
    image = random(1, "float", (2, 4, 5, 3)).astype(type_)
    filter_ = random(2, "float", (1, 2, 2, 6) if depthwise else (6, 2, 2, 3)).astype(type_)
    bias = random(3, "float", 6).astype(type_)
    win = geometry((4, 5), (2, 2))
    wanted = []
    for picture in image.astype(float).tolist():
        if depthwise:
            planes = [[[[float(filter_[0, i, j, o])] for j in (0, 1)] for i in (0, 1)] for o in range(6)]
            wanted.append(ref.correlate(picture, planes, lambda o, k: o // 2, win))
        else:
            wanted.append(ref.correlate(picture, filter_.astype(float).tolist(), lambda o, k: k, win))
    wanted = np.maximum(np.asarray(wanted) + bias.astype(float), 0)
    scalars = conv_scalars(win, 1, False, (2,) if depthwise else ())
    inputs = [floats(image, half), floats(filter_, half), floats(bias, half), *scalars]
    result, = run(name, inputs, [out(T.TENSOR_FLOAT16 if half else T.TENSOR_FLOAT32)])
    # One rounding of the exact sum: half a unit in the last place, and never a value of a neighbour.
    np.testing.assert_allclose(result, wanted, rtol=np.finfo(type_).eps / 2 * 1.001, atol=1e-12)
    assert (result == 0).any() and (result > 1).any()


@pytest.mark.parametrize("kind", ("uint8", "int8"))
def test_fully_connected_to_the_bit(kind):
    data, weights = random(5, kind, (2, 3, 4)), random(6, kind, (5, 8))
    bias = np.array([0, 900, -900, 40000, -40000])
    q_in, q_weights, q_out = (shifted(q, kind) for q in (IN, FILTER, OUT))
    sums = (data.reshape(3, 8) - q_in[1]) @ (weights - q_weights[1]).T + bias
    wanted = [[ref.requantize(int(v), IN[0], FILTER[0], *q_out, kind, 0) for v in row] for row in sums]
    inputs = [
        operand(KINDS[kind], data, *q_in), operand(KINDS[kind], weights, *q_weights),
        operand(T.TENSOR_INT32, bias, scale=np.float32(IN[0]) * np.float32(FILTER[0])), *ints(0),
    ]
    result, = run("FULLY_CONNECTED", inputs, [out(KINDS[kind], *q_out)])
    np.testing.assert_array_equal(result, wanted)


def fully_connected(bias=(0,), data=((1, 2),), weights=((1, 1),), bias_scale=0.25, out_scale=0.5, in_scale=0.5,
                    out_type=T.TENSOR_QUANT8_ASYMM, activation=0):
    kind = T.TENSOR_QUANT8_ASYMM
    inputs = [
        operand(kind, data, scale=in_scale), operand(kind, weights, scale=0.5),
        operand(T.TENSOR_INT32, bias, scale=bias_scale), *ints(activation),
    ]
    return node("FULLY_CONNECTED", inputs, [out(out_type, out_scale, 100)])


def test_accumulators_wrap_as_int32():
    # 2^31-1 + 3 is -2^31+2: the lowest code instead of the highest.
    result, = execute(fully_connected(bias=(2**31 - 1,)))
    assert result.tolist() == [[0]]
    result, = execute(fully_connected(bias=(2**31 - 4,)))
    assert result.tolist() == [[255]]


@pytest.mark.parametrize("scale", (0.25, 0.01, 2.0**-20, 1e-38, 1e-45))
def test_multipliers_of_one_and_more(scale):
    result, = execute(fully_connected(out_scale=scale))
    expected = ref.requantize(3, 0.5, 0.5, scale, 100, "uint8", 0)
    assert result.tolist() == [[expected]]


@pytest.mark.parametrize(("activation", "wanted"), ((1, 100), (2, 0), (3, 100)))
def test_clamp_with_a_denormal_output_scale(activation, wanted):
    # 1/scale and 6/scale are infinite in float32; the clamp saturates at the type's range.
    result, = execute(fully_connected(bias=(-(2**31),), data=((0, 0),), out_scale=1e-45, activation=activation))
    assert requantize.requantizer(fully_connected(out_scale=1e-45, activation=activation)).low == wanted
    assert wanted <= result[0, 0] <= 255


def test_an_infinite_scale_product_is_refused():
    message = r"main.operation\[3\] FULLY_CONNECTED: product of input and filter scale is infinite in float32"
    made = fully_connected(in_scale=3e38, bias_scale=1.0)
    made.inputs[1].scale = 3e38
    with pytest.raises(InvalidArgument, match=message):
        execute(made)


def test_bias_scale_is_the_product_to_a_millionth():
    execute(fully_connected(bias_scale=0.25 * (1 + 9e-7)))
    message = r"input 2 \(bias\): scale is 0\.2500\d+, must be input scale times filter scale = 0\.25"
    with pytest.raises(InvalidArgument, match=message):
        execute(fully_connected(bias_scale=0.25 * (1 + 3e-6)))


def convolution(name, bias_scale=0.25, out_scale=0.5):
    """A 1x1 uint8 convolution of one pixel with scales 0.5 and 0.5."""
    kind = T.TENSOR_QUANT8_ASYMM
    ones = operand(kind, np.ones((1, 1, 1, 1)), scale=0.5)
    scalars = ints(1, 1, 1, 0) if name == "CONV_2D" else ints(1, 1, 1, 1, 0)
    bias = operand(T.TENSOR_INT32, [0], scale=bias_scale)
    return node(name, [ones, ones, bias, *scalars], [out(kind, out_scale)])


@pytest.mark.parametrize("name", ("CONV_2D", "DEPTHWISE_CONV_2D"))
def test_convolutions_check_the_bias_scale(name):
    execute(convolution(name))
    with pytest.raises(InvalidArgument, match=r"input 2 \(bias\): scale is 0\.75, must be .* = 0\.25"):
        execute(convolution(name, bias_scale=0.75))


@pytest.mark.parametrize("name", ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"))
def test_output_scale_decides_the_version(name):
    for scale, version in ((0.2500001, "1.0"), (0.25, "1.2")):
        made = fully_connected(out_scale=scale) if name == "FULLY_CONNECTED" else convolution(name, out_scale=scale)
        made.op.validate(made)
        assert made.version == version


def test_fully_connected_checks_the_activation():
    with pytest.raises(InvalidArgument, match=r"input 3 \(activation\): is 4, must be 0, 1, 2 or 3"):
        execute(fully_connected(activation=4))


def channel_node(arithmetic="nnapi"):
    """A 1x1 CONV_2D of one pixel with many per-channel scales, whose sums are large enough to show one bit."""
    scales = tuple(np.random.default_rng(0).uniform(0.001, 0.5, 400).astype(np.float32).tolist())
    inputs = [
        operand(T.TENSOR_QUANT8_ASYMM_SIGNED, np.full((1, 1, 1, 1), 1), scale=0.1),
        operand(PC, np.full((400, 1, 1, 1), 1), scales=scales), operand(T.TENSOR_INT32, np.zeros(400)),
        *ints(2, 1, 1, 0),
    ]
    made = node("CONV_2D", inputs, [out(T.TENSOR_QUANT8_ASYMM_SIGNED, 0.3, 0)])
    made.arithmetic = arithmetic
    return made, scales


def test_channel_multipliers_are_float32_products_and_doubles_as_litert_has_them():
    made, scales = channel_node()
    single = requantize.requantizer(made)
    wanted = [ref.quantize_multiplier(ref.f32(ref.f32(0.1) * s) / ref.f32(0.3)) for s in scales]
    assert list(zip(single.multiplier.tolist(), single.exponent.tolist(), strict=True)) == wanted

    double = requantize.requantizer(channel_node("litert")[0])
    wanted = [ref.quantize_multiplier(ref.f32(0.1) * s / ref.f32(0.3)) for s in scales]
    assert list(zip(double.multiplier.tolist(), double.exponent.tolist(), strict=True)) == wanted
    assert np.count_nonzero(single.multiplier != double.multiplier) > 100
    # The scales of a whole tensor meet in float32.
    product = ref.f32(ref.f32(0.1) * ref.f32(0.7))
    assert quant.conv_multiplier(0.1, 0.7, 0.3) == product / ref.f32(0.3) != ref.f32(0.1) * ref.f32(0.7) / ref.f32(0.3)


def conv(image=(1, 3, 3, 2), filter_=(4, 2, 2, 2), bias=(4,), scalars=(1, 1, 1, 0), name="CONV_2D", channel=None):
    if channel is None:
        inputs = [floats(np.ones(shape)) for shape in (image, filter_, bias)]
        return node(name, [*inputs, *ints(*scalars)], [out()])
    inputs = [
        operand(T.TENSOR_QUANT8_ASYMM, np.ones(image), scale=1),
        operand(PC, np.ones(filter_), scales=(1,) * 4, dim=channel),
        operand(T.TENSOR_INT32, np.ones(bias)),
    ]
    return node(name, [*inputs, *ints(*scalars)], [out(T.TENSOR_QUANT8_ASYMM, 1)])


@pytest.mark.parametrize(("arguments", "message"), [
    ({"image": (3, 3, 2)}, r"main.operation\[3\] CONV_2D input 0 \(input\): rank is 3, must be 4"),
    ({"filter_": (4, 2, 2)}, r"CONV_2D input 1 \(filter\): rank is 3, must be 4"),
    ({"bias": (4, 1)}, r"CONV_2D input 2 \(bias\): rank is 2, must be 1"),
    ({"bias": (3,)}, r"CONV_2D input 2 \(bias\): has 3 values, must have one for each of 4 output channels"),
    ({"filter_": (4, 2, 2, 3)}, r"input 1 \(filter\): dimension 3 is 3, must be the input's 2 channels"),
    ({"filter_": (4, 0, 2, 2)}, r"input 1 \(filter\): height is 0, must be > 0"),
    ({"scalars": (1, 1, 1, 7)}, r"input 6 \(activation\): is 7, must be 0, 1, 2 or 3"),
    ({"channel": 3}, r"input 1 \(filter\): channelDim is 3, must be 0"),
    ({"name": "DEPTHWISE_CONV_2D", "filter_": (2, 2, 2, 4), "scalars": (1, 1, 1, 2, 0)},
     r"main.operation\[3\] DEPTHWISE_CONV_2D input 1 \(filter\): dimension 0 is 2, must be 1"),
    ({"name": "DEPTHWISE_CONV_2D", "filter_": (1, 2, 2, 4), "scalars": (1, 1, 1, 3, 0)},
     r"input 1 \(filter\): dimension 3 is 4, must be 2 channels times depth multiplier 3"),
    ({"name": "DEPTHWISE_CONV_2D", "filter_": (1, 2, 2, 4), "scalars": (1, 1, 1, 0, 0)},
     r"input 6 \(depth_multiplier\): is 0, must be > 0"),
    ({"name": "DEPTHWISE_CONV_2D", "filter_": (1, 2, 2, 4), "bias": (5,), "scalars": (1, 1, 1, 2, 0)},
     r"input 2 \(bias\): has 5 values, must have one for each of 4 output channels"),
    ({"name": "DEPTHWISE_CONV_2D", "filter_": (1, 2, 2, 4), "channel": 0, "scalars": (1, 1, 1, 2, 0)},
     r"input 1 \(filter\): channelDim is 0, must be 3"),
    ({"name": "DEPTHWISE_CONV_2D", "filter_": (1, 2, 4), "scalars": (1, 1, 1, 2, 0)}, r"rank is 3, must be 4"),
])
def test_bad_convolutions(arguments, message):
    execute(conv())
    with pytest.raises(InvalidArgument, match=message):
        execute(conv(**arguments))


@pytest.mark.parametrize(("data", "weights", "bias", "message"), [
    ((2, 5), (3, 4), (3,), r"FULLY_CONNECTED input 0 \(input\): has 10 elements, must be a multiple of .* size 4"),
    ((8,), (3, 4), (3,), r"FULLY_CONNECTED input 0 \(input\): rank is 1, must be 2 to 4"),
    ((2, 4), (12,), (3,), r"input 1 \(weights\): rank is 1, must be 2"),
    ((2, 4), (3, 4), (3, 1), r"input 2 \(bias\): rank is 2, must be 1"),
    ((2, 4), (3, 4), (4,), r"input 2 \(bias\): has 4 values, must have one for each of 3 units"),
    ((2, 4), (0, 4), (0,), r"input 1 \(weights\): dimension 0 is 0, must be > 0"),
    ((2, 4), (3, 0), (3,), r"input 1 \(weights\): dimension 1 is 0, must be > 0"),
])
def test_bad_fully_connected(data, weights, bias, message):
    made = node("FULLY_CONNECTED", [*(floats(np.ones(s)) for s in (data, weights, bias)), *ints(0)], [out()])
    with pytest.raises(InvalidArgument, match=message):
        execute(made)


def test_fully_connected_waits_for_unknown_shapes():
    made = node("FULLY_CONNECTED", [
        operand(T.TENSOR_FLOAT32, None, shape=(None, 5)), floats(np.ones((3, 4))), floats(np.ones(3)), *ints(0),
    ], [out()])
    made.op.validate(made)
    made.inputs[0].shape = (2, 5)
    with pytest.raises(InvalidArgument, match="multiple"):
        made.op.validate(made)


@pytest.mark.parametrize(("name", "image", "filter_", "scalars", "shape"), [
    ("CONV_2D", (0, 3, 3, 2), (4, 2, 2, 2), (1, 1, 1, 0), (0, 3, 3, 4)),
    ("DEPTHWISE_CONV_2D", (0, 3, 3, 2), (1, 2, 2, 4), (1, 1, 1, 2, 0), (0, 3, 3, 4)),
    ("FULLY_CONNECTED", (0, 3), (4, 3), (0,), (0, 4)),
])
def test_an_empty_batch_gives_an_empty_output(name, image, filter_, scalars, shape):
    made = conv(image, filter_, scalars=scalars, name=name)
    assert made.op.zero_sized == "batch"
    result, = execute(made)
    assert result.shape == shape


def test_padding_does_not_touch_infinities():
    # The tap outside the image is absent, not zero times infinity.
    inputs = [floats(np.ones((1, 1, 1, 1))), floats([[[[np.inf]], [[1.0]]]]), floats([0.0]), *ints(0, 0, 1, 0, 1, 1, 0)]
    result, = run("CONV_2D", inputs, [out()])
    assert result.tolist() == [[[[1.0]]]]


def test_wrong_types_and_counts_name_the_operand():
    bias = operand(T.TENSOR_INT32, [0])
    bad = [floats(np.ones((1, 2, 2, 1))), floats(np.ones((1, 1, 1, 1))), bias, *ints(1, 1, 1, 0)]
    with pytest.raises(InvalidArgument, match=r"CONV_2D input 2 \(bias\): type TENSOR_INT32, must be TENSOR_FLOAT32"):
        node("CONV_2D", bad, [out()])
    with pytest.raises(InvalidArgument, match=r"CONV_2D: has 9 inputs, must have 7, 8, 10, 11 or 13"):
        node("CONV_2D", bad + ints(0, 0), [out()])


def test_signature_tables():
    check_signatures("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


@pytest.mark.parametrize(
    ("name", "differing"), (("CONV_2D", 0.03), ("DEPTHWISE_CONV_2D", 0.005), ("FULLY_CONNECTED", 0)),
)
def test_vectors(name, differing):
    _, values, off = check_vectors(name)
    # Expected values of some quantized specs were computed in float: those may be one step away.
    assert off <= differing * values


def test_signed_twins_are_equal():
    check_coupling("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
