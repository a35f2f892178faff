"""ROI_ALIGN and ROI_POOLING."""

import math

import numpy as np
import pytest

from helpers.nodes import fails, operand, out, refuses, run
from helpers.scalar_reference import f32, mbqm, quantize_multiplier, round_away
from helpers.vectors import check_coupling, check_vectors
from nnfast.ops.roi import ROI_ALIGN, ROI_POOLING

HEIGHT, WIDTH, DEPTH = 6, 8, 3
STRIDES = (2.0, 4.0)
IMAGE = np.random.default_rng(1).normal(0, 4, (2, HEIGHT, WIDTH, DEPTH)).astype(np.float32)
# Whole map, inside, an empty one in the far corner, an empty one inside, a thin one.
ROI = np.float32([[0, 0, 32, 12], [3, 1.5, 21, 9], [32, 12, 32, 12], [10, 5, 10, 5], [2, 3, 30, 3.5]])
BATCH = [1, 0, 1, 0, 0]


def align(image, roi=ROI, batch=BATCH, bins=(3, 2), ratios=(2, 2), nchw=0, strides=STRIDES, kind="F32"):
    image = image if hasattr(image, "operand") else operand(kind, image)
    roi = roi if hasattr(roi, "operand") else operand(kind, roi)
    scalar = "f16" if kind == "F16" else "f32"
    return [image, roi, operand("I32", batch), *(operand("i32", size) for size in bins),
            *(operand(scalar, stride) for stride in strides), *(operand("i32", ratio) for ratio in ratios),
            operand("bool", nchw)]


def pool(image, *args, **kwargs):
    inputs = align(image, *args, **kwargs)
    return inputs[:7] + inputs[9:]


def regions(roi=ROI):
    """[x1, y1, x2, y2] in the feature map."""
    return [[v / s for v, s in zip(box, STRIDES[::-1] * 2, strict=True)] for box in roi.tolist()]


def samples(region, bins, ratios):
    """For each bin (row, column): list of ((y, x, weight) x 4) of the samples of [NN 15.81]."""
    x1, y1, x2, y2 = region
    axes = []
    for start, stop, count, ratio, size in ((y1, y2, bins[0], ratios[0], HEIGHT), (x1, x2, bins[1], ratios[1], WIDTH)):
        step = max(stop - start, 1) / count
        number = ratio or math.ceil(step)
        lines = []
        for index in range(count):
            line = []
            for k in range(number):
                at = start + step * index + step / number * (k + 0.5)
                low = min(math.floor(at), size - 1)
                weight = 0 if low == size - 1 else at - low
                line.append(((low, 1 - weight), (min(low + 1, size - 1), weight)))
            lines.append(line)
        axes.append(lines)
    return {(i, j): [[(y, x, wy * wx) for y, wy in row for x, wx in column] for row in axes[0][i]
                     for column in axes[1][j]] for i in range(bins[0]) for j in range(bins[1])}


@pytest.mark.parametrize("ratios", [(2, 2), (1, 3), (0, 0), (0, 2)])
@pytest.mark.parametrize("bins", [(3, 2), (1, 1), (7, 9)])
def test_align_is_the_mean_of_bilinear_samples(bins, ratios):
    (actual,) = run(ROI_ALIGN, align(IMAGE, bins=bins, ratios=ratios), [out("F32")])
    for number, region in enumerate(regions()):
        for place, points in samples(region, bins, ratios).items():
            wanted = sum(w * IMAGE[BATCH[number], y, x].astype(float) for point in points for y, x, w in point)
            np.testing.assert_allclose(actual[number][place], wanted / len(points), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "zero_point"), [("Q8", 120), ("Q8S", -8)])
def test_align_of_codes_weighs_in_255ths(kind, zero_point):
    low = -128 if kind == "Q8S" else 0
    codes = np.random.default_rng(2).integers(low, low + 256, IMAGE.shape)
    # Corners on eighths: every coordinate is exact, so the weights here and there round alike.
    roi = np.float32([[0, 0, 32, 12], [4, 2, 20, 10], [8, 4, 16, 12]])
    inputs = align(operand(kind, codes, 0.1, zero_point), operand("Q16A", roi * 8, 0.125), [1, 0, 1], (2, 4), (2, 2))
    (actual,) = run(ROI_ALIGN, inputs, [out(kind, 0.07, zero_point + 5)])
    multiplier = quantize_multiplier(f32(f32(0.1) / 255 / f32(0.07) / 4))
    for number, region in enumerate(regions(roi)):
        for place, points in samples(region, (2, 4), (2, 2)).items():
            for channel in range(DEPTH):
                total = sum(round_away(f32(f32(w) / f32(1 / 255))) * int(codes[[1, 0, 1][number], y, x, channel]
                                                                        - zero_point)
                            for point in points for y, x, w in point)
                wanted = mbqm(total, *multiplier) + zero_point + 5
                assert actual[number][place][channel] == min(max(wanted, low), low + 255)


@pytest.mark.parametrize("bins", [(3, 2), (1, 1), (7, 9)])
def test_pooling_is_the_maximum_of_whole_positions(bins):
    (actual,) = run(ROI_POOLING, pool(IMAGE, bins=bins), [out("F32")])
    for number, region in enumerate(regions()):
        x1, y1, x2, y2 = (round_away(v) for v in region)
        spans = [(first, max(last - first + 1, 1), size) for first, last, size in ((y1, y2, HEIGHT), (x1, x2, WIDTH))]
        for i in range(bins[0]):
            for j in range(bins[1]):
                (top, bottom), (left, right) = (
                    (min((first * count + k * length) // count, size),
                     min(-((-first * count - (k + 1) * length) // count), size))
                    for (first, length, size), k, count in zip(spans, (i, j), bins, strict=True))
                part = IMAGE[BATCH[number], top:bottom, left:right].reshape(-1, DEPTH)
                wanted = part.max(axis=0) if len(part) else np.zeros(DEPTH)
                np.testing.assert_array_equal(actual[number, i, j], wanted)


def test_pooling_of_codes_takes_codes_and_empty_bins_the_zero_point():
    codes = np.random.default_rng(2).integers(0, 256, IMAGE.shape)
    inputs = pool(operand("Q8", codes, 0.1, 9), operand("Q16A", ROI * 8, 0.125))
    (actual,) = run(ROI_POOLING, inputs, [out("Q8", 0.1, 9)])
    (real,) = run(ROI_POOLING, pool(codes), [out("F32")])
    real[2] = 9  # the whole bin row and column of the far corner lie outside
    np.testing.assert_array_equal(actual, real)


@pytest.mark.parametrize(("op", "make"), [(ROI_ALIGN, align), (ROI_POOLING, pool)])
def test_channels_first_and_half_precision(op, make):
    (plain,) = run(op, make(IMAGE), [out("F32")])
    (moved,) = run(op, make(np.moveaxis(IMAGE, -1, 1), nchw=1), [out("F32")])
    np.testing.assert_array_equal(moved, np.moveaxis(plain, -1, 1))
    half = IMAGE.astype(np.float16)
    (real,) = run(op, make(half.astype(np.float32)), [out("F32")])
    (rounded,) = run(op, make(half, kind="F16"), [out("F16")])
    # ROI_ALIGN rounds coordinates and weights too.
    np.testing.assert_allclose(rounded, real, rtol=1e-3, atol=1e-3 if op is ROI_POOLING else 0.03)


def half_mean(image, region, bins, ratios, place):
    """[depth] of one bin, with every named value of the reference implementation in float16."""
    def h(value):
        return np.float32(np.float16(value))

    axes = []
    for start, stop, count, index, ratio, size in ((region[1], region[3], bins[0], place[0], ratios[0], HEIGHT),
                                                   (region[0], region[2], bins[1], place[1], ratios[1], WIDTH)):
        step = h(h(max(stop - start, np.float32(1))) / np.float32(count))
        number = ratio or math.ceil(step)
        part, begin = h(step / np.float32(number)), h(step * np.float32(index) + start)
        axes.append([])
        for k in range(number):
            at = h(begin + part / np.float32(2) + part * np.float32(k))
            low = min(math.floor(at), size - 1)
            upper = np.float32(0) if low == size - 1 else h(at - np.float32(low))
            axes[-1].append((low, min(low + 1, size - 1), upper))
    total = np.zeros(DEPTH, np.float32)
    for top, bottom, down in axes[0]:
        for left, right, across in axes[1]:
            value = np.zeros(DEPTH, np.float32)
            up, back = h(1 - down), h(1 - across)
            for y, x, weight in ((top, left, up * back), (top, right, up * across), (bottom, left, down * back),
                                 (bottom, right, down * across)):
                value = h(value + h(weight) * image[y, x])
            total = h(total + value)
    return h(total / np.float32(len(axes[0]) * len(axes[1])))


@pytest.mark.parametrize("ratios", [(0, 0), (2, 3)])
@pytest.mark.parametrize("nchw", [0, 1])
def test_half_align_rounds_every_value_that_the_reference_names(ratios, nchw):
    rng = np.random.default_rng(7)
    low = rng.uniform(0, 0.6, (20, 2))
    roi = np.hstack([low, low + rng.uniform(0, 1, (20, 2)) * (1 - low)]) * np.float32([29, 11, 29, 11])
    roi, image, batch = roi.astype(np.float16), IMAGE.astype(np.float16), rng.integers(0, 2, 20)
    strides = (1.9, 3.7)
    given = np.moveaxis(image, -1, 1) if nchw else image
    (actual,) = run(ROI_ALIGN, align(given, roi, batch, ratios=ratios, nchw=nchw, strides=strides, kind="F16"),
                        [out("F16")])
    actual = np.moveaxis(actual, 1, -1) if nchw else actual
    scale = (1 / np.float32(np.float16(strides[::-1] * 2))).astype(np.float16).astype(np.float32)
    corners = (roi.astype(np.float32) * scale).astype(np.float16).astype(np.float32)
    for number, region in enumerate(corners):
        for place in np.ndindex(3, 2):
            wanted = half_mean(image[batch[number]].astype(np.float32), region, (3, 2), ratios, place)
            np.testing.assert_array_equal(actual[number][place], wanted)


def test_no_region():
    (actual,) = run(ROI_ALIGN, align(IMAGE, np.empty((0, 4)), [], ratios=(0, 0)), [out("F32")])
    assert actual.shape == (0, 3, 2, DEPTH)
    refuses(ROI_ALIGN, align(IMAGE[:0], np.empty((0, 4)), []),
            " input 0 (input): shape [0, 6, 8, 3] has a zero dimension, only num_rois may be 0", [out("F32")])


@pytest.mark.parametrize(("op", "make"), [(ROI_ALIGN, align), (ROI_POOLING, pool)])
def test_rules(op, make):
    outputs = [out("F32")]
    refuses(op, make(IMAGE, batch=[0]), " input 2 (batch_index): dimension 0 is 1, must be 5", outputs)
    refuses(op, make(IMAGE[0]), " input 0 (input): rank is 3, must be 4", outputs)
    refuses(op, make(IMAGE, bins=(0, 2)), " input 3 (out_height): is 0, must be > 0", outputs)
    refuses(op, make(IMAGE, bins=(1, -2)), " input 4 (out_width): is -2, must be > 0", outputs)
    for value in (0, -1, np.nan):
        refuses(op, make(IMAGE, strides=(2, value)), f" input 6 (width_stride): is {value:g}, must be > 0", outputs)
    codes = make(operand("Q8", np.zeros(IMAGE.shape), 0.1), operand("Q16A", ROI, 0.125, 1))
    refuses(op, codes, " input 1 (roi): scale is 0.125 and zero point 1, must be 0.125 and 0", [out("Q8", 0.1)])


def test_sampling_ratio_is_not_negative():
    refuses(ROI_ALIGN, align(IMAGE, ratios=(1, -1)), " input 8 (width_sampling_ratio): is -1, must be >= 0",
            [out("F32")])


@pytest.mark.parametrize(("op", "make"), [(ROI_ALIGN, align), (ROI_POOLING, pool)])
def test_bad_values(op, make):
    outputs = [out("F32")]
    for index in (-1, 2, -2**31):
        fails(op, make(IMAGE, batch=[0, 0, index, 0, 0]),
              f" input 2 (batch_index): element [2] is {index}, must be in [0, 2)", outputs)
    rule = "over the strides; corners must be in order and inside 8 x 6"
    for box, region in (([4, 4, 36, 8], "[1, 2, 9, 4]"), ([-4, 4, 8, 8], "[-1, 2, 2, 4]"),
                        ([8, 4, 4, 8], "[2, 2, 1, 4]"), ([0, np.nan, 4, 8], "[0, nan, 1, 4]"),
                        ([0, 4, 8, np.inf], "[0, 2, 2, inf]")):
        given = "[" + ", ".join(f"{v:g}" for v in box) + "]"
        fails(op, make(IMAGE, [box], [0]), f" input 1 (roi): box [0] is {given}, which is {region} {rule}", outputs)
    # 1 / stride overflows, and 0 times that is no number.
    with pytest.raises(Exception, match="inside 8 x 6"):
        run(op, make(IMAGE, strides=(1e-40, 1)), outputs)


def test_multiplier_must_be_less_than_one():
    codes = align(operand("Q8", np.zeros(IMAGE.shape), 255.0), operand("Q16A", ROI * 8, 0.125), ratios=(1, 1))
    fails(ROI_ALIGN, codes,
          " input 0 (input): scale 255 over 255 * output scale 1 * 1 samples is 1, must be less than 1",
          [out("Q8", 1.0)])


def test_samples_have_a_limit():
    fails(ROI_ALIGN, align(IMAGE, ratios=(2**31 - 1, 2**31 - 1)),
          " input 7 (height_sampling_ratio): makes 4611686014132420609 samples in each bin, must be at most 1048576",
          [out("F32")])


def test_vectors():
    check_vectors("ROI_ALIGN", "ROI_POOLING")
    check_coupling("ROI_ALIGN", "ROI_POOLING")
