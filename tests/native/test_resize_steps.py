"""Native RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR against their numpy definitions, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lowered import check_all_ways, make
from helpers.nodes import T, ints, operand
from nnfast._native.spatial import ResizeBilinear

TYPES = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_QUANT8_ASYMM: np.uint8, T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}


@pytest.mark.parametrize("name", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
@pytest.mark.parametrize("type_", TYPES)
@given(size=st.tuples(*(st.integers(1, 9),) * 2), new=st.tuples(*(st.integers(1, 20),) * 2),
       channels=st.sampled_from([1, 3, 8, 9, 16, 17, 40]), batch=st.integers(0, 2), nchw=st.booleans(),
       options=st.sampled_from([(0, 0), (1, 0), (0, 1)]), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_resize(name, type_, size, new, channels, batch, nchw, options, seed):
    random = np.random.default_rng(seed)
    shape = (batch, channels, *size) if nchw else (batch, *size, channels)
    x = random.integers(0, 256, shape)
    x = random.normal(size=shape).astype(np.float32) if type_ == T.TENSOR_FLOAT32 else \
        x.astype(np.uint8).view(TYPES[type_])
    scale = 0.0 if type_ == T.TENSOR_FLOAT32 else 0.5
    flags = [operand(T.BOOL, np.uint8(value)) for value in (nchw, *options)]
    node = make(name, [operand(type_, shape=shape, scale=scale), *ints(*new), *flags], operand(type_, scale=scale))
    check_all_ways(node, [x])


def test_indices_outside_the_image_are_refused():
    line = ([0, 5], [1, 5], np.float32([0, 0]))
    with pytest.raises(ValueError, match="must be in"):
        ResizeBilinear((0, 1), "f32", (1, 5, 6, 1), line, line)
    with pytest.raises(ValueError, match="as many as"):
        ResizeBilinear((0, 1), "f32", (1, 6, 6, 1), line, ([0], [0], np.float32([])))
