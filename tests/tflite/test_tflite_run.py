"""What the translations compute, against numpy, one operator at a time (cases.py, cases_layers.py)."""

import numpy as np
import pytest

from helpers.tflite.cases import CASES as SINGLE
from helpers.tflite.cases_layers import CASES as LAYERS
from helpers.tflite.running import One

CASES = SINGLE | LAYERS


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    one, expected = CASES[name]
    results = one.run()
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected):
        # A single value of a file is a tensor of one element.
        assert result.shape == (wanted.shape or (1,))
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(result, wanted.reshape(result.shape), 2e-6, 1e-6)
        else:
            np.testing.assert_array_equal(result, wanted.reshape(result.shape))


@pytest.mark.parametrize("name, codes", [
    ("ceil", ["NEG", "FLOOR", "NEG"]), ("leaky_relu", ["PRELU"]), ("square", ["MUL"]),
    ("squared_difference", ["SUB", "MUL"]), ("add_n", ["ADD", "ADD"]),
    ("floor_div", ["DIV"]), ("cast_from_bool", ["FILL", "FILL", "SELECT"]), ("cast_to_bool", ["NOT_EQUAL"]),
    ("select", ["SELECT"]), ("select_v2", ["LOGICAL_OR", "SELECT"]),
    ("select_v2_grow", ["RESHAPE", "TILE", "RESHAPE", "TILE", "SELECT"]),
    ("broadcast_to", ["RESHAPE", "TILE"]), ("shape", ["RESHAPE"]), ("split_v", ["SLICE", "SLICE"]),
    ("pack", ["PACK"]), ("pack_values", ["PACK", "RESHAPE"]), ("unpack", ["SPLIT"] + 3 * ["RESHAPE"]),
    ("gather_one", ["GATHER", "RESHAPE"]), ("topk", ["REVERSE", "TOPK_V2", "SUB"]),
    ("batch_to_space_crops", ["BATCH_TO_SPACE_ND", "SLICE"]), ("sum", ["REDUCE_SUM"]),
])
def test_operations(name, codes):
    assert CASES[name][0].codes() == codes


def test_float16_dequantize_is_a_cast():
    x = np.array([[1.5, -2, 65504]], np.float16)
    one = One("DEQUANTIZE", [x], [(x.shape, "float32")])
    assert one.codes() == ["CAST"]
    np.testing.assert_array_equal(one.run()[0], x.astype(np.float32))
