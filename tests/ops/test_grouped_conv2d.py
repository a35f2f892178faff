"""GROUPED_CONV_2D and TRANSPOSE_CONV_2D: arithmetic against plain Python, rules, vectors."""

import numpy as np
import pytest

from helpers import scalar_reference as ref
from helpers.nodes import T, execute, flag, floats, ints, node, operand, out, run
from helpers.vectors import check_coupling, check_signatures, check_vectors
from nnfast.errors import InvalidArgument

KINDS = {"uint8": T.TENSOR_QUANT8_ASYMM, "int8": T.TENSOR_QUANT8_ASYMM_SIGNED}
MIDDLE = {"uint8": 128, "int8": 0}
PC = T.TENSOR_QUANT8_SYMM_PER_CHANNEL
IN_SCALE, OUT_SCALE, FILTER_SCALE = 0.037, 0.31, 0.0131
CHANNEL_SCALES = (0.004, 0.0131, 0.05, 0.0007, 0.02, 0.33)
LEFT, RIGHT, TOP, BOTTOM, STRIDE_W, STRIDE_H = 0, 2, 1, 0, 1, 2
GROUPS = 2


def scatter(image, weights):
    """sums[y][x][o] of a transposed convolution of one [h][w][ci] image with [co][fh][fw][ci], and the paddings above.

    Every input pixel is spread over the output, one product at a time.
    """
    height = (len(image) - 1) * STRIDE_H + len(weights[0]) - TOP - BOTTOM
    width = (len(image[0]) - 1) * STRIDE_W + len(weights[0][0]) - LEFT - RIGHT
    sums = [[[0] * len(weights) for _ in range(width)] for _ in range(height)]
    for h, row in enumerate(image):
        for w, pixel in enumerate(row):
            for o, planes in enumerate(weights):
                for i, line in enumerate(planes):
                    for j, taps in enumerate(line):
                        y, x = h * STRIDE_H - TOP + i, w * STRIDE_W - LEFT + j
                        if 0 <= y < height and 0 <= x < width:
                            sums[y][x][o] += sum(a * b for a, b in zip(pixel, taps, strict=True))
    return sums


def expected_sums(name, image, weights):
    """sums[y][x][o] of either operation for the paddings and strides above; image and weights are nested lists."""
    if name == "TRANSPOSE_CONV_2D":
        return scatter(image, weights)
    filter_height, filter_width, depth = len(weights[0]), len(weights[0][0]), len(weights[0][0][0])
    height = (len(image) - filter_height + STRIDE_H + TOP + BOTTOM) // STRIDE_H
    width = (len(image[0]) - filter_width + STRIDE_W + LEFT + RIGHT) // STRIDE_W
    win = {"out": (height, width), "stride": (STRIDE_H, STRIDE_W), "head": (TOP, LEFT), "dilation": (1, 1)}
    per_group = len(weights) // GROUPS
    return ref.correlate(image, weights, lambda o, k: o // per_group * depth + k, win)


def scalars(name, activation=0, nchw=False):
    groups = [GROUPS] if name == "GROUPED_CONV_2D" else []
    return [*ints(LEFT, RIGHT, TOP, BOTTOM, STRIDE_W, STRIDE_H, *groups, activation), flag(nchw)]


def filter_shape(name):
    return (6, 2, 3, 2) if name == "GROUPED_CONV_2D" else (6, 2, 3, 4)


NAMES = ("GROUPED_CONV_2D", "TRANSPOSE_CONV_2D")


@pytest.mark.parametrize("nchw", (False, True))
@pytest.mark.parametrize("activation", (0, 1, 2, 3))
@pytest.mark.parametrize("per_channel", (False, True))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_quantized_to_the_bit(name, kind, per_channel, activation, nchw):
    rng = np.random.default_rng(activation)
    low = MIDDLE[kind] - 128
    image = rng.integers(low, low + 256, (1, 4, 5, 4))
    low = -128 if per_channel else low
    filter_ = rng.integers(low, low + 256, filter_shape(name))
    bias = rng.integers(-3000, 3000, 6)
    zero_in, zero_w, zero_out = MIDDLE[kind] + 11, 0 if per_channel else MIDDLE[kind] + 7, MIDDLE[kind] + 3
    scales = CHANNEL_SCALES if per_channel else (FILTER_SCALE,) * 6

    sums = expected_sums(name, (image[0] - zero_in).tolist(), (filter_ - zero_w).tolist())
    wanted = [
        [[ref.requantize(v + int(bias[o]), IN_SCALE, scales[o], OUT_SCALE, zero_out, kind, activation)
          for o, v in enumerate(cell)] for cell in row] for row in sums
    ]

    data = image.transpose(0, 3, 1, 2) if nchw else image
    if per_channel:
        weights, bias_scale = operand(PC, filter_, scales=scales), 0
    else:
        weights = operand(KINDS[kind], filter_, FILTER_SCALE, zero_w)
        bias_scale = np.float32(IN_SCALE) * np.float32(FILTER_SCALE)
    inputs = [
        operand(KINDS[kind], data, IN_SCALE, zero_in), weights, operand(T.TENSOR_INT32, bias, scale=bias_scale),
        *scalars(name, activation, nchw),
    ]
    result, = run(name, inputs, [out(KINDS[kind], OUT_SCALE, zero_out)])
    result = result.transpose(0, 2, 3, 1) if nchw else result
    np.testing.assert_array_equal(result[0], wanted)
    assert len(np.unique(result)) > 4


@pytest.mark.parametrize("half", (False, True))
@pytest.mark.parametrize("name", NAMES)
def test_float(name, half):
    type_ = np.float16 if half else np.float32
    rng = np.random.default_rng(1)
    image, filter_, bias = (
        rng.standard_normal(shape).astype(type_) for shape in ((2, 4, 5, 4), filter_shape(name), (6,))
    )
    sums = [expected_sums(name, picture, filter_.astype(float).tolist()) for picture in image.astype(float).tolist()]
    wanted = np.maximum(np.asarray(sums) + bias.astype(float), 0)
    inputs = [floats(array, half) for array in (image, filter_, bias)]
    result, = run(name, [*inputs, *scalars(name, 1)], [out(T.TENSOR_FLOAT16 if half else T.TENSOR_FLOAT32)])
    np.testing.assert_allclose(result, wanted, rtol=np.finfo(type_).eps / 2 * 1.001, atol=1e-12)
    assert (result == 0).any() and (result > 1).any()


def transposed(size, filter_, stride, scheme, wanted, nchw=False):
    """Output of a transposed convolution of ones along the width, with a filter of 1, 2, 3 ..."""
    data = np.ones((1, 1, 1, size) if nchw else (1, 1, size, 1))
    shape = [9, 9, 1, wanted] if nchw else [9, 1, wanted, 9]
    inputs = [
        floats(data), floats(np.arange(1, filter_ + 1).reshape(1, 1, filter_, 1)), floats([0.0]),
        operand(T.TENSOR_INT32, shape), *ints(scheme, stride, 1, 0), flag(nchw),
    ]
    return run("TRANSPOSE_CONV_2D", inputs, [out()])[0].ravel().tolist()


@pytest.mark.parametrize("nchw", (False, True))
def test_transposed_same_padding_gives_the_size_asked_for(nchw):
    # Full size is (3 - 1) * 2 + 3 = 7; one value goes at the end for 6, one at either end for 5.
    assert transposed(3, 3, 2, 1, 6, nchw) == [1, 2, 4, 2, 4, 2]
    assert transposed(3, 3, 2, 1, 5, nchw) == [2, 4, 2, 4, 2]
    assert transposed(3, 4, 2, 1, 5, nchw) == [2, 4, 6, 4, 6]


def test_transposed_same_padding_may_grow_the_output():
    # A filter smaller than the stride leaves gaps, the last one behind the last pixel.
    assert transposed(2, 1, 3, 1, 6) == [1, 0, 0, 1, 0, 0]


def test_transposed_same_padding_does_not_change_the_input_size():
    # 4 inputs at stride 2 mean 7 or 8 outputs; asked for 5, padding for 3 inputs leaves one stride more.
    assert len(transposed(4, 3, 2, 1, 5)) == 7


@pytest.mark.parametrize("scheme", (0, 2))
def test_transposed_without_padding_ignores_the_output_shape(scheme):
    assert transposed(3, 3, 2, scheme, -5) == [1, 2, 4, 2, 4, 2, 3]


def test_transposed_explicit_padding_may_be_negative_behind():
    inputs = [floats(np.ones((1, 1, 2, 1))), floats(np.ones((1, 1, 2, 1))), floats([0.5]), *ints(1, -2, 0, -1, 2, 1, 0)]
    result, = run("TRANSPOSE_CONV_2D", [*inputs, flag(False)], [out()])
    assert result[0, :, :, 0].tolist() == [[1.5, 1.5, 1.5, 0.5, 0.5], [0.5] * 5]


def conv(name, image=(1, 3, 3, 4), filter_=None, bias=(6,), options=None, channel=None, shape=None):
    """Either operation over ones. options: the INT32 scalars; channel: dimension of per-channel scales."""
    filter_ = filter_ or ((6, 2, 2, 2) if name == "GROUPED_CONV_2D" else (6, 2, 2, 4))
    options = options or ((1, 1, 1, GROUPS, 0) if name == "GROUPED_CONV_2D" else (2, 1, 1, 0))
    tensors = [floats(np.ones(s)) for s in (image, filter_, bias)]
    target = out()
    if channel is not None:
        scales = (1.0,) * filter_[channel]
        tensors = [operand(KINDS["uint8"], np.ones(image), scale=1.0),
                   operand(PC, np.ones(filter_), scales=scales, dim=channel), operand(T.TENSOR_INT32, np.ones(bias))]
        target = out(KINDS["uint8"], 1.0)
    if name == "TRANSPOSE_CONV_2D" and len(options) == 4:
        tensors.append(operand(T.TENSOR_INT32, [1, 3, 3, 6] if shape is None else shape))
    return node(name, [*tensors, *ints(*options), flag(False)], [target])


@pytest.mark.parametrize(("options", "message"), [
    ({"image": (3, 3, 4)}, r"main.operation\[3\] GROUPED_CONV_2D input 0 \(input\): rank is 3, must be 4"),
    ({"filter_": (6, 2, 2)}, r"input 1 \(filter\): rank is 3, must be 4"),
    ({"filter_": (6, 2, 2, 4)}, r"\(filter\): dimension 3 is 4, must be 2: 4 channels in 2 groups"),
    ({"filter_": (5, 2, 2, 2), "bias": (5,)}, r"\(num_groups\): is 2, must divide the filter's 5 output channels"),
    ({"bias": (5,)}, r"input 2 \(bias\): has 5 values, must have one for each of 6 output channels"),
    ({"options": (1, 1, 1, 3, 0)}, r"input 6 \(num_groups\): is 3, must divide the input's 4 channels"),
    ({"options": (1, 1, 1, 0, 0)}, r"input 6 \(num_groups\): is 0, must be > 0"),
    ({"options": (1, 1, 1, 2, 4)}, r"input 7 \(activation\): is 4, must be 0, 1, 2 or 3"),
    ({"options": (2, 0, 0, 0, 1, 1, 2, 0)}, r"input 3 \(padding_left\): is 2, must be less than the 2 that the filter"),
    ({"channel": 3}, r"input 1 \(filter\): channelDim is 3, must be 0"),
])
def test_bad_grouped(options, message):
    execute(conv("GROUPED_CONV_2D"))
    with pytest.raises(InvalidArgument, match=message):
        execute(conv("GROUPED_CONV_2D", **options))


@pytest.mark.parametrize(("options", "message"), [
    ({"image": (3, 3, 4)}, r"main.operation\[3\] TRANSPOSE_CONV_2D input 0 \(input\): rank is 3, must be 4"),
    ({"image": (1, 0, 3, 4)}, r"input 0 \(input\): height is 0, must be > 0"),
    ({"filter_": (6, 2, 0, 4)}, r"input 1 \(filter\): width is 0, must be > 0"),
    ({"filter_": (6, 2, 2, 3)}, r"input 1 \(filter\): dimension 3 is 3, must be the input's 4 channels"),
    ({"bias": (6, 1)}, r"input 2 \(bias\): rank is 2, must be 1"),
    ({"shape": [1, 3, 3]}, r"input 3 \(output_shape\): has 3 values, must have 4"),
    ({"shape": [[1, 3, 3, 6]]}, r"input 3 \(output_shape\): rank is 2, must be 1"),
    ({"shape": [1, 3, 0, 6], "options": (1, 1, 1, 0)}, r"input 3 \(output_shape\): width is 0, must be > 0"),
    ({"options": (3, 1, 1, 0)}, r"input 4 \(padding_scheme\): is 3, must be 0, 1 or 2"),
    ({"options": (2, 1, 0, 0)}, r"input 6 \(stride_height\): is 0, must be > 0"),
    ({"options": (-1, 0, 0, 0, 1, 1, 0)}, r"input 3 \(padding_left\): is -1, must be >= 0"),
    ({"options": (0, 0, 2, 2, 1, 1, 0)}, r"input 0 \(input\): gives an output height of 0, must be > 0"),
    ({"channel": 3}, r"input 1 \(filter\): channelDim is 3, must be 0"),
])
def test_bad_transposed(options, message):
    execute(conv("TRANSPOSE_CONV_2D"))
    with pytest.raises(InvalidArgument, match=message):
        execute(conv("TRANSPOSE_CONV_2D", **options))


@pytest.mark.parametrize("name", NAMES)
def test_the_bias_scale_is_checked(name):
    made = conv(name)
    codes = operand(KINDS["uint8"], np.ones(made.inputs[0].shape), scale=0.5)
    weights = operand(KINDS["uint8"], np.ones(made.inputs[1].shape), scale=0.5)
    for scale, fits in ((0.25, True), (0.75, False)):
        inputs = [codes, weights, operand(T.TENSOR_INT32, np.ones(6), scale=scale), *made.inputs[3:]]
        quantized = node(name, inputs, [out(KINDS["uint8"], 0.5)])
        assert quantized.version == "1.2"
        if fits:
            execute(quantized)
        else:
            with pytest.raises(InvalidArgument, match=r"input 2 \(bias\): scale is 0\.75, must be .* = 0\.25"):
                execute(quantized)


def test_an_empty_batch_gives_an_empty_output():
    made = conv("TRANSPOSE_CONV_2D", image=(0, 3, 3, 4))
    assert made.op.zero_sized == "batch"
    assert execute(made)[0].shape == (0, 4, 4, 6)


def test_signature_tables():
    check_signatures(*NAMES)


@pytest.mark.parametrize(("name", "differing"), (("GROUPED_CONV_2D", 0.06), ("TRANSPOSE_CONV_2D", 0.0001)))
def test_vectors(name, differing):
    _, values, off = check_vectors(name)
    # Expected values of some quantized specs were computed in float: those may be one step away.
    assert off <= differing * values


def test_signed_twins_are_equal():
    check_coupling(*NAMES)
