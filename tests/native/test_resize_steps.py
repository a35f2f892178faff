"""Native RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR against their numpy definitions, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand
from nnfast._native.spatial import ResizeBilinear
from nnfast.ops.resize import integer_weights

TYPES = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_QUANT8_ASYMM: np.uint8, T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}


@pytest.mark.parametrize("name", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("type_", TYPES)
@given(size=st.tuples(*(st.integers(1, 9),) * 2), new=st.tuples(*(st.integers(1, 20),) * 2),
       channels=st.sampled_from([1, 3, 8, 9, 16, 17, 40]), batch=st.integers(0, 2), nchw=st.booleans(),
       options=st.sampled_from([(0, 0), (1, 0), (0, 1)]), arithmetic=st.sampled_from(["nnapi", "litert"]),
       seed=st.integers(0, 99))
@settings(max_examples=40)
def test_resize(name, type_, size, new, channels, batch, nchw, options, arithmetic, seed):
    random = np.random.default_rng(seed)
    shape = (batch, channels, *size) if nchw else (batch, *size, channels)
    x = random.integers(0, 256, shape)
    x = random.normal(size=shape).astype(np.float32) if type_ == T.TENSOR_FLOAT32 else \
        x.astype(np.uint8).view(TYPES[type_])
    scale = 0.0 if type_ == T.TENSOR_FLOAT32 else 0.5
    flags = [operand(T.BOOL, np.uint8(value)) for value in (nchw, *options)]
    node = make(name, [operand(type_, shape=shape, scale=scale), *ints(*new), *flags], operand(type_, scale=scale))
    node.arithmetic = "nnapi" if nchw else arithmetic
    check_all_ways(node, [x])


@pytest.mark.parametrize("options", [(0, 0), (0, 1)])
def test_fixed_weights_of_positions_behind_the_last_pixel(options):
    """Steps of 345 parts of 1024, rounded up, leave 700 pixels by more than a whole one at the end."""
    x = np.random.default_rng(2).integers(-128, 128, (1, 2, 700, 3)).astype(np.int8)
    flags = [operand(T.BOOL, np.uint8(value)) for value in (0, *options)]
    node = make("RESIZE_BILINEAR", [operand(T.TENSOR_QUANT8_ASYMM_SIGNED, shape=x.shape, scale=0.5), *ints(2080, 5),
                                    *flags], operand(T.TENSOR_QUANT8_ASYMM_SIGNED, scale=0.5))
    node.arithmetic = "litert"
    assert integer_weights(700, 2080, *map(bool, options))[2].max() > 1
    check_all_ways(node, [x])


def test_indices_outside_the_image_are_refused():
    line = ([0, 5], [1, 5], np.float32([0, 0]))
    with pytest.raises(ValueError, match="must be in"):
        ResizeBilinear((0, 1), "f32", (1, 5, 6, 1), line, line)
    with pytest.raises(ValueError, match="as many as"):
        ResizeBilinear((0, 1), "f32", (1, 6, 6, 1), line, ([0], [0], np.float32([])))
    with pytest.raises(ValueError, match="cannot be fixed"):
        ResizeBilinear((0, 1), "qu8", (1, 6, 6, 1), line, line, True)
