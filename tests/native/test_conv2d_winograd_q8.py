"""3x3 convolutions of codes by Winograd's method: the bytes of the sums in plain integers."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nnfast
from helpers.convolutions import axis, sums
from helpers.steps import at_level, every_level, run, run_all_ways
from nnfast import ModelBuilder
from nnfast._native import conv, kernels
from nnfast.compiler import stored_plan
from nnfast.compiler.stored_steps.base import Misfit
from nnfast.model import quant
from nnfast.model.records import Constants
from nnfast.ops.window import Window

WINOGRAD = [level for level in kernels.levels() if level in ("scalar", "avx2", "avxvnni", "avx512", "avx512vnni")]
"""Levels with kernels of their own; the others run those of one of them."""

SHAPES = [(30, 28, 33, 20), (57, 61, 16, 33), (7, 7, 200, 70), (12, 12, 300, 16)]
"""Height, width, channels and units of layers of more than one block; the twin cuts them alike, and is slow."""

needs_avx2 = pytest.mark.skipif("avx2" not in kernels.levels(), reason="the processor has no AVX2")
needs_vnni = pytest.mark.skipif("avx512vnni" not in kernels.levels(), reason="the processor has no AVX-512 VNNI")


def geometry(height, width, heads=(1, 1), tails=(1, 1), filter_=(3, 3), stride=1):
    output = tuple(axis(*sizes[:2], stride, 1, *sizes[2:]) for sizes in zip((height, width), filter_, heads, tails))
    return Window((height, width), tuple(filter_), (stride,) * 2, (1, 1), tuple(heads), output)


@st.composite
def windows(draw, patch):
    """Of stride 1 or 2, with padding from none to more than the filter, so that some windows meet no input."""
    taps, stride = 4 if patch == 3 else 3, draw(st.integers(1, 2))
    heads, tails = (draw(st.tuples(*[st.integers(0, 4)] * 2)) for _ in range(2))
    sizes = draw(st.sampled_from(((taps, taps), (taps, taps), (taps - 1, taps), (taps, taps - 1))))
    filter_ = [size * stride - head % stride - draw(st.integers(0, stride - 1)) for size, head in zip(sizes, heads)]
    height, width = (draw(st.integers(max(1, size - head - tail), 12))
                     for size, head, tail in zip(filter_, heads, tails))
    return geometry(height, width, heads, tails, filter_, stride)


def codes(rng, dtype, kind, shape):
    """Codes of a type: any of them, or the lowest and the highest, or one of these."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if kind == "any":
        return rng.integers(low, high, shape, dtype, endpoint=True)
    if kind == "extremes":
        return rng.choice(np.array([low, high], dtype), shape)
    return np.full(shape, low if kind == "lowest" else high, dtype)


KINDS = st.sampled_from(("any", "any", "extremes", "lowest", "highest"))
TYPES = st.sampled_from(((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8), (np.int8, np.uint8)))


def check(level, patch, data, win, batch, channels, units):
    dtype, weight_dtype = data.draw(TYPES)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    x = codes(rng, dtype, data.draw(KINDS), (batch, *win.input, channels))
    filter_ = codes(rng, weight_dtype, data.draw(KINDS), (units, *win.filter, channels))
    zero_point, weight_zero_point, middle, *ends = (
        data.draw(st.integers(np.iinfo(t).min, np.iinfo(t).max)) for t in (dtype, weight_dtype, *[dtype] * 3))
    is_layer = data.draw(st.booleans())
    bits = 12 if is_layer else 31
    bias = rng.integers(-2**bits, 2**bits, units, np.int32)
    multiplier = rng.integers(2**30, 2**31, units, np.int32)
    exponent = rng.integers(*((-14, -5) if is_layer else (-31, 32)), units, np.int32)
    output, signed = (middle, *sorted(ends)), dtype == np.int8
    with at_level(level):
        while not conv.patches_are_exact(patch, filter_, weight_zero_point, dtype == np.int8):
            smaller = (filter_.astype(int) - weight_zero_point) // 2
            filter_ = (weight_zero_point + smaller).astype(weight_dtype)
        dense = conv.dense_filter(filter_, win, conv.winograd_q8_taps(patch), weight_zero_point)
        packed = conv.pack_winograd_q8(patch, dense, bias, weight_zero_point, zero_point, multiplier, exponent)
        assert conv.fits_winograd_q8(patch, packed, units, dense.shape[3])

    def steps():
        step = conv.Conv2dWinogradQ8((0, 1, 2), win, batch, channels, units, zero_point, output, signed, patch)
        assert step.packed == packed.nbytes
        return [step]

    [actual] = run_all_ways(steps, [x, packed], [((batch, *win.output, units), dtype)], level)
    exact = sums(x.astype(np.float64) - zero_point, filter_.astype(np.float64) - weight_zero_point, win)
    total = quant.wrap32(exact.astype(np.int64) + bias)
    expected = np.clip(quant.mbqm(total, multiplier, exponent) + middle, *output[1:]).astype(dtype)
    assert np.array_equal(actual, expected)


@pytest.mark.parametrize("patch", [2, 3, 4])
@pytest.mark.parametrize("level", WINOGRAD)
def test_bytes_of_plain_sums(level, patch):
    @settings(max_examples=150)
    @given(st.data(), windows(patch), st.integers(1, 2), st.sampled_from((1, 2, 3, 4, 5, 9, 15, 16, 17, 33)),
           st.sampled_from((1, 7, 8, 9, 15, 16, 17, 24, 33, 40)))
    def example(data, win, batch, channels, units):
        check(level, patch, data, win, batch, channels, units)

    example()


@pytest.mark.parametrize("patch", [2, 3, 4])
@pytest.mark.parametrize(("level", "shape"), [(level, shape) for level in WINOGRAD
                                              for shape in ([(18, 17, 33, 20)] if level == "scalar" else SHAPES)],
                         ids=str)
def test_several_blocks_and_tiles(level, shape, patch):
    height, width, channels, units = shape
    taps = conv.winograd_q8_taps(patch)

    @settings(max_examples=3)
    @given(st.data(), st.integers(1, 2))
    def example(data, stride):
        win = geometry(height, width, filter_=(taps * stride - (stride - 1),) * 2, stride=stride)
        check(level, patch, data, win, 2, channels // stride**2, units)

    example()


def sums_of_one_code(level, patch, x, filter_, zero_point, weight_zero_point, exponent):
    """Codes of an image and 8 units whose inner sums are all the same: their bytes, and what they must be."""
    win, (side, channels) = geometry(x.shape[1], x.shape[2]), x.shape[2:]
    ones, zeros = np.ones(8, np.int32), np.zeros(8, np.int32)
    multiplier, exponent = ones << 30, ones * exponent
    with at_level(level):
        packed = conv.pack_winograd_q8(patch, filter_, zeros, weight_zero_point, zero_point, multiplier, exponent)
    [actual] = run_all_ways(
        lambda: [conv.Conv2dWinogradQ8((0, 1, 2), win, 1, channels, 8, zero_point, (128, 0, 255), False, patch)],
        [x, packed], [((1, side, side, 8), np.uint8)], level)
    total = ((x[0, 0, 0].astype(np.int64) - zero_point) * (filter_[0].astype(np.int64) - weight_zero_point)).sum()
    expected = 128 + quant.mbqm(np.int32([total]), multiplier[:1], exponent[:1])
    return actual[:, 1:-1, 1:-1], total, expected[0]


@pytest.mark.parametrize("level", WINOGRAD)
@pytest.mark.parametrize("zero_points", [(0, 0), (255, 255), (0, 255)])
def test_the_largest_sums(level, zero_points):
    """917 channels of the farthest codes and weights: four times their sum is just below 2^31."""
    x, filter_ = (np.full(shape, 255 - zero, np.uint8)
                  for shape, zero in zip(((1, 4, 4, 917), (8, 3, 3, 917)), zero_points))
    actual, total, expected = sums_of_one_code(level, 2, x, filter_, *zero_points, -22)
    assert abs(total) * 4 < 2**31 < abs(total) / 917 * 918 * 4
    assert (actual == expected).all() and 60 < abs(int(expected) - 128) < 127


@pytest.mark.parametrize("level", WINOGRAD)
@pytest.mark.parametrize("zero_points", [(0, 0), (255, 255), (0, 255)])
def test_the_largest_sums_of_large_patches(level, zero_points):
    """Weights that add up to 131,586: 64 times their sum with the farthest codes is just below 2^31."""
    zero_point, weight_zero_point = zero_points
    far, whole = 255 - weight_zero_point, 131586 // 255
    filter_ = np.full((8, 3, 3, 58), weight_zero_point, np.uint8)
    weights = filter_.reshape(8, -1)
    weights[:, :whole] = far
    weights[:, whole] = 131586 % 255 if far else 255 - 131586 % 255
    x = np.full((1, 6, 6, 58), 255 - zero_point, np.uint8)
    assert conv.patches_are_exact(4, filter_, weight_zero_point, False)
    actual, total, expected = sums_of_one_code(level, 4, x, filter_, zero_point, weight_zero_point, -18)
    assert abs(total) * 64 < 2**31 < (abs(total) + 255) * 64
    assert (actual == expected).all() and 60 < abs(int(expected) - 128) < 127
    weights[:, whole] += 1 if far else 255
    assert not conv.patches_are_exact(4, filter_, weight_zero_point, False)


@pytest.mark.parametrize("patch", [3, 4])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_which_weights_are_exact(patch, signed, dtype):
    """Those that, without signs, add up in each unit to at most 2^25 over the farthest code; and for F(3x3, 4x4), whose
    transform adds 225 of them, fit 16 bits then."""
    @given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max),
           st.sampled_from((1, 2, 3)))
    def example(seed, channels, zero_point, smaller):
        filter_ = codes(np.random.default_rng(seed), dtype, "any", (3, 3, 3, channels)) // smaller
        far = np.abs(filter_.astype(int) - zero_point)
        expected = (far.sum(axis=(1, 2, 3)).max() * (128 if signed else 255) < 2**25
                    and far.max() * (49 if patch == 4 else 225) < 2**15)
        assert conv.patches_are_exact(patch, filter_, zero_point, signed) == expected
        assert conv.patches_are_exact(2, filter_, zero_point, signed)

    example()


def test_refuses_other_windows_patches_and_more_channels():
    win = geometry(8, 8)
    with pytest.raises(ValueError, match="must be of the taps of patches of 2"):
        conv.Conv2dWinogradQ8((0, 1, 2), replace(win, stride=(2, 2), output=(4, 4)), 1, 16, 16, 0, (0, 0, 255), False,
                              2)
    with pytest.raises(ValueError, match="918 channels, must be at most 917"):
        conv.Conv2dWinogradQ8((0, 1, 2), win, 1, 918, 16, 0, (0, 0, 255), False, 2)
    with pytest.raises(ValueError, match="must be of the taps of patches of 3"):
        conv.Conv2dWinogradQ8((0, 1, 2), win, 1, 16, 16, 0, (0, 0, 255), False, 3)
    with pytest.raises(ValueError, match="the patch is 5, must be 2, 3 or 4"):
        conv.Conv2dWinogradQ8((0, 1, 2), win, 1, 16, 16, 0, (0, 0, 255), False, 5)


@pytest.mark.parametrize("patch", [2, 4])
@pytest.mark.parametrize("level", WINOGRAD)
def test_writes_its_output_only(level, patch):
    win, ones = geometry(7, 5), np.ones(17, np.int32)
    memory = np.full(35 * 17 + 64, 7, np.uint8)
    with at_level(level):
        packed = conv.pack_winograd_q8(patch, np.ones((17, 3, 3, 16), np.int8), ones, 0, 0, ones << 30, -ones)
        step = conv.Conv2dWinogradQ8((0, 1, 2), win, 1, 16, 17, 0, (9, 9, 255), False, patch)
    run([step], [np.ones((1, 7, 5, 16), np.uint8), packed, memory[32:-32]])
    assert np.all(memory[:32] == 7) and np.all(memory[-32:] == 7) and np.all(memory[32:-32] != 7)


@needs_avx2
def test_where_it_pays():
    """Not for few channels or patches, nor for windows that it does not know."""
    with at_level("avx2"):
        def patches(win, channels, units):
            return conv.winograd_q8_patches(win, 1, units, channels)

        image = geometry(28, 28)
        assert patches(image, 16, 16)[0] == patches(image, 64, 64)[0] == patches(image, 8, 16)[0] == 4
        assert patches(geometry(14, 14), 64, 64) == (4, 2)
        assert patches(geometry(6, 6), 64, 64)[0] == 2  # which 2x2 outputs fill, 4x4 do not
        assert patches(image, 918, 64) == (4,)
        assert patches(geometry(3, 3), 64, 64) == patches(geometry(2, 2), 256, 256) == ()
        assert not patches(replace(image, filter=(1, 3), head=(0, 1)), 64, 64)
        assert not patches(replace(image, dilation=(2, 2), head=(2, 2)), 64, 64)
        assert patches(geometry(28, 28, filter_=(4, 4)), 64, 64) == (3,)

        def of_stride(size, stride):
            return patches(geometry(112, 112, (size // 2,) * 2, (size // 2,) * 2, (size, size), stride), 3, 32)

        assert of_stride(7, 2) == (3,) and of_stride(5, 2)[0] == 4
        assert not of_stride(3, 2) and not of_stride(9, 2) and not of_stride(5, 3) and not of_stride(7, 1)


@needs_vnni
def test_where_it_pays_beside_products_of_bytes():
    """Only by patches of 4x4 outputs of 3x3 taps, or as much as that: not for the few channels of first layers, nor
    where most of the time goes for reading weights."""
    with at_level("avx512vnni"):
        def patches(win, channels, units):
            return conv.winograd_q8_patches(win, 1, units, channels)

        image = geometry(28, 28)
        assert patches(image, 16, 16)[0] == patches(image, 32, 64)[0] == patches(image, 128, 128)[0] == 4
        assert 2 not in patches(image, 16, 16) + patches(image, 32, 64) + patches(geometry(6, 6), 64, 64)
        assert patches(geometry(28, 28, filter_=(4, 4)), 64, 64) == (3,)
        assert patches(image, 3, 32) == patches(geometry(7, 7), 1024, 1024) == ()
        assert patches(geometry(112, 112, (3, 3), (3, 3), (7, 7), 2), 3, 32) == ()


@needs_vnni
@pytest.mark.parametrize(("level2", "wanted"), [(1 << 20, True), (2 << 20, False)], ids=["1 MB", "2 MB"])
def test_weights_from_beyond_a_large_cache_cost_more_beside_products_of_bytes(level2, wanted):
    """Processors with a level 2 of 2 MB run 14x14x192 by plain products in 0.8 of the time, others do not."""
    kernels.set_caches((32 << 10, level2))
    try:
        with at_level("avx512vnni"):
            assert (4 in conv.winograd_q8_patches(geometry(14, 14), 1, 192, 192)) is wanted
            assert 4 in conv.winograd_q8_patches(geometry(28, 28), 1, 192, 192)
            assert 4 in conv.winograd_q8_patches(geometry(14, 14), 1, 128, 128)
    finally:
        kernels.set_caches(None)


def layer(units=24, channels=20, height=12, size=3, stride=1):
    """A CONV_2D of int8 codes with a scale for each channel."""
    rng, b = np.random.default_rng(6), ModelBuilder("layer")
    x = b.input("TENSOR_QUANT8_ASYMM_SIGNED", (1, height, 12, channels), scale=0.5, zero_point=3)
    weights = b.constant(rng.integers(-127, 128, (units, size, size, channels), np.int8),
                         "TENSOR_QUANT8_SYMM_PER_CHANNEL", channel_quant=(0, rng.uniform(1e-3, 2e-3, units)))
    bias = b.constant(rng.integers(-999, 999, units, np.int32), "TENSOR_INT32")
    y = b.output("TENSOR_QUANT8_ASYMM_SIGNED", (1, height // stride, 12 // stride, units), scale=2.0, zero_point=-3)
    b.operation("CONV_2D", [x, weights, bias, *(b.scalar(v) for v in (1, stride, stride, 1))], [y])
    return b.build()


BYTES = ("avxvnni", "avx512vnni", "avx512vbmi", "avx512bf16")
"""Levels with products of bytes and patches beside them."""

LAYERS = {(24, 20): (4, 4), (24, 20, 2): (2, None), (32, 500): (2, 2), (24, 20, 36, 7, 2): (3, 3),
          (24, 3, 64, 5, 2): (4, None), (24, 20, 12, 4): (3, 3)}
"""Arguments of layer: by which patches it runs where products of 16 bits are the fastest, and at BYTES."""


@every_level
@pytest.mark.parametrize("shape", LAYERS, ids=str)
def test_a_layer_is_the_same_at_every_level(level, shape):
    """And runs by the patches that suit image and weights, where products of 16 bits pay."""
    model = layer(*shape)
    x = np.random.default_rng(7).integers(-128, 128, model.main.operands[model.main.inputs[0]].shape, np.int8)
    with at_level("scalar"):
        expected = nnfast.Device().prepare(model).run([x])[0]
    with at_level(level):
        prepared = nnfast.Device().prepare(model)
        assert prepared.run([x])[0].tobytes() == expected.tobytes()
        [row] = prepared.explain().rows
    narrow, wide = LAYERS[shape]
    patch = narrow if level in ("avx2", "avx512") else wide if level in BYTES else None
    assert [each for each in (2, 3, 4) if f"nnf_conv2d_winograd{each}_s16_qu8_tile" in row["kernel"]] == [patch] * (
        patch is not None)


@needs_avx2
def test_a_stored_plan():
    """Restored as it was, and refused with shifts that kernels cannot do or for a layer of another kernel."""
    with at_level("avx2"):
        prepared, arrays, constants = nnfast.Device().prepare(layer()), {}, Constants()

        def add(array):
            data = constants.add(array)
            arrays[data] = array.reshape(data.shape)
            return data

        record = stored_plan.plan_of(prepared.executor.segment, prepared.num_threads, add)
        record = msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=stored_plan.PlanRecord)

        def restore(record):
            return stored_plan.restore(record, prepared.model, (), prepared.executor.resources, arrays.__getitem__,
                                       lambda data: False)

        assert [step.kernel for step in restore(record)[0].items[0].steps] \
            == [step.kernel for step in prepared.executor.segment.items[0].steps]
        [step] = record.steps
        assert type(step).__name__ == "Conv2dWinogradQ8"
        for changes in ({"channels": 3}, {"units": 48}, {"batch": 2}, {"patch": 2}, {"patch": 3}):
            with pytest.raises(Misfit):
                restore(msgspec.structs.replace(record, steps=[msgspec.structs.replace(step, **changes)]))
        [(packed, fits)] = restore(record)[1]
        assert fits(packed)
        for array in (2, 3):  # shifts left and right of the first panel's first unit
            spoilt = packed.copy()
            spoilt.view(np.int32)[array * 16] = 32
            assert not fits(spoilt)
