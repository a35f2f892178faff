"""Dilations and strides beyond all images: taps that meet the image count, no memory is taken for the others."""

import numpy as np
import pytest

import nnfast
from nnfast import ModelBuilder
from nnfast.model.types import ChannelQuant

F32, S8, U8 = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM_SIGNED", "TENSOR_QUANT8_ASYMM"
FARTHEST = (1 << 31) - 1
SIZE, CHANNELS = 14, 40


def convolution(kind, depthwise, stride, dilation):
    """A 3x3 filter on an image of 14x14x40; padding SAME. dilation: (width, height)."""
    rng, b = np.random.default_rng(1), ModelBuilder()
    units = CHANNELS if depthwise else 33
    shape = (1, 3, 3, CHANNELS) if depthwise else (units, 3, 3, CHANNELS)
    quant = {} if kind == F32 else {"scale": 0.5, "zero_point": 3}
    out = -(-SIZE // stride)
    x = b.input(kind, (1, SIZE, SIZE, CHANNELS), **quant)
    y = b.output(kind, (1, out, out, units), **quant)
    if kind == F32:
        w, bias = b.constant(rng.standard_normal(shape).astype(np.float32)), b.constant(np.zeros(units, np.float32))
    elif kind == S8:
        w = b.constant(rng.integers(-127, 127, shape).astype(np.int8), "TENSOR_QUANT8_SYMM_PER_CHANNEL",
                       channel_quant=ChannelQuant(3 if depthwise else 0, (0.01,) * units))
        bias = b.constant(np.zeros(units, np.int32), "TENSOR_INT32")
    else:
        w = b.constant(rng.integers(0, 255, shape).astype(np.uint8), kind, scale=0.01, zero_point=99)
        bias = b.constant(np.zeros(units, np.int32), "TENSOR_INT32", scale=0.005)
    scalars = [1, stride, stride, *([1] if depthwise else []), 0, False, *dilation]
    b.operation("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [x, w, bias, *map(b.scalar, scalars)], [y])
    return b.build()


@pytest.mark.parametrize("far", [(FARTHEST, FARTHEST), (FARTHEST, 1 << 29), (1 << 20, 1 << 20), (1, FARTHEST)])
@pytest.mark.parametrize("depthwise", [False, True], ids=["conv", "depthwise"])
@pytest.mark.parametrize("kind", [F32, U8, S8])
def test_taps_far_outside_count_as_any_others_outside(kind, depthwise, far):
    x = np.random.default_rng(2).integers(0, 9, (1, SIZE, SIZE, CHANNELS))
    near, distant = (nnfast.Device(num_threads=2).prepare(convolution(kind, depthwise, 1, dilation))
                     for dilation in (tuple(min(d, SIZE) for d in far), far))
    x = x.astype(near.inputs[0].dtype)
    np.testing.assert_allclose(distant.run([x])[0], near.run([x])[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("depthwise", [False, True], ids=["conv", "depthwise"])
@pytest.mark.parametrize("kind", [F32, U8, S8])
def test_strides_beyond_the_image_leave_one_place(kind, depthwise):
    x = np.random.default_rng(3).integers(0, 9, (1, SIZE, SIZE, CHANNELS))
    near, distant = (nnfast.Device().prepare(convolution(kind, depthwise, stride, (1, 1)))
                     for stride in (SIZE, FARTHEST))
    x = x.astype(near.inputs[0].dtype)
    np.testing.assert_allclose(distant.run([x])[0], near.run([x])[0], rtol=1e-5, atol=1e-5)
