"""Values whose order is hard: equal ones, NaN, both zeros."""

import numpy as np
from hypothesis import strategies as st

from helpers.nodes import T, operand

TYPES = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_INT32: np.int32, T.TENSOR_QUANT8_ASYMM: np.uint8,
         T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}
ODD = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40])
shapes = st.lists(st.sampled_from([1, 2, 3, 7, 8, 16, 17, 40]), min_size=1, max_size=3).map(tuple)


def values(type_, shape, kind, seed):
    """Values of a type: all alike, few different ones, any, or with floats that are no ordinary numbers."""
    random, dtype = np.random.default_rng(seed), TYPES[type_]
    if kind == "same":
        return np.full(shape, 3, dtype)
    if kind == "few" or dtype is np.float32:
        x = random.integers(0, 4, shape).astype(dtype)
        if kind == "odd":
            places = random.random(shape) < 0.5
            x[places] = random.choice(ODD, np.count_nonzero(places))
        return x
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


kinds = st.sampled_from(["same", "few", "any", "odd"])


def like(type_, shape=None):
    return operand(type_, shape=shape, scale=0.0 if type_ in (T.TENSOR_FLOAT32, T.TENSOR_INT32) else 0.5)
