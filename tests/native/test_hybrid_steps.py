"""Native steps of operators of floats with int8 weights against their numpy definitions."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make
from helpers.nodes import flag, floats, ints, operand, out
from nnfast.ops import tfl_hybrid

RANDOM = np.random.default_rng(31)


def codes(*shape):
    return RANDOM.integers(-127, 128, shape).astype(np.int8)


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_dense(rows, is_asymmetric):
    x = RANDOM.normal(1, 2, (rows, 37)).astype(np.float32)
    x[0, :8] = -100, 155, 2.5, -2.5, 0.5, -0.5, 100.5, -30.5          # scale 1, zero point -28, ties
    made = make(tfl_hybrid.TFL_HYBRID_FULLY_CONNECTED, [
        floats(x), operand("Q8S", codes(19, 37), 0.01), floats(RANDOM.normal(0, 1, 19)), *ints(1), flag(False),
        flag(is_asymmetric)], out())
    check_all_ways(made, [x])


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("scales", [0.01, RANDOM.uniform(0.01, 0.02, 19)])
@pytest.mark.parametrize(("first", "batches"), [((5, 37), ()), ((3, 4, 37), (1,)), ((1, 3, 2, 37), ())])
def test_one_second_matrix(first, batches, scales, is_turned, is_asymmetric):
    x, shape = RANDOM.normal(0, 1, first).astype(np.float32), (19, 37) if is_turned else (37, 19)
    quant = {"scale": scales} if isinstance(scales, float) else {"scales": scales, "dim": len(batches) + (not is_turned)}
    weights = operand("Q8S" if isinstance(scales, float) else "PC", codes(*batches, *shape), **quant)
    made = make(tfl_hybrid.TFL_HYBRID_BATCH_MATMUL, [floats(x), weights, flag(False), flag(is_turned),
                                                     flag(is_asymmetric)], out())
    check_all_ways(made, [x])
