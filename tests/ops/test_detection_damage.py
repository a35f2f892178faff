"""The detection operations on damaged values of their vectors: a result or an error of ours, and no numpy warning."""

import warnings

import numpy as np
import pytest

from helpers.nodes import T, execute
from helpers.vectors import require_shared, vector_node, vectors
from nnfast.errors import Error

FLOATS = [np.nan, np.inf, -np.inf, -1, 0, 6e4, -6e4, 1e-7]
INDEXES = [-2**31, -1, 0, 1, 2, 3, 5, 2**31 - 1]
SIZES = [-1, 0, 1, 2, 3, 7, 1000]


def damage(tensor, rng):
    """Replace one element by something unlikely."""
    value = tensor.value.copy()
    if value.dtype.kind == "f":
        new = rng.choice(FLOATS)
    elif value.dtype == np.int32:
        new = rng.choice(INDEXES if value.size > 1 else SIZES)
    else:
        info = np.iinfo(value.dtype)
        new = rng.integers(2) if tensor.type == T.BOOL else rng.integers(info.min, info.max + 1)
    value.reshape(-1)[rng.integers(value.size)] = new
    tensor.value = value


@pytest.mark.parametrize("name", [
    "AXIS_ALIGNED_BBOX_TRANSFORM", "BOX_WITH_NMS_LIMIT", "DETECTION_POSTPROCESSING", "GENERATE_PROPOSALS",
    "HEATMAP_MAX_KEYPOINT", "ROI_ALIGN", "ROI_POOLING",
])
def test_damaged_values(name):
    require_shared()
    rng, refused, ran = np.random.default_rng(7), 0, 0
    for test in vectors(name):
        for _ in range(8):
            made = vector_node(test, test["model"]["main"])
            damage(made.inputs[rng.integers(len(made.inputs))], rng)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    execute(made)
                    ran += 1
                except Error as error:
                    refused += 1
                    assert str(error).startswith(f"main.operation[0] {name} input ")
    assert refused > 5
    assert ran > 5
