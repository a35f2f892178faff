"""FULLY_CONNECTED with blockwise weights: the native step against its numpy definition, byte for byte."""

import numpy as np
import pytest

from helpers.lowered import check_all_ways, make, run_native
from helpers.nodes import flag, floats, ints, omitted, operand, out, refuses
from nnfast.ops.tfl_blockwise import TFL_BLOCKWISE_FULLY_CONNECTED

RANDOM = np.random.default_rng(5)


def inputs(rows, units, blocks, block, is_asymmetric=True, bias=True, activation=0, keep=False):
    """(inputs of the node, rows of floats)."""
    x = RANDOM.normal(0.5, 2, (rows, blocks * block)).astype(np.float32)
    weights = RANDOM.integers(-8, 8, (units, blocks * block)).astype(np.int8)
    scales = RANDOM.uniform(-0.02, 0.02, (units, blocks))
    offsets = floats(RANDOM.normal(0, 1, units)) if bias else omitted()
    return [floats(x), operand("I8", weights), floats(scales), offsets, *ints(activation), flag(keep),
            flag(is_asymmetric)], x


@pytest.mark.parametrize("is_asymmetric", [False, True])
@pytest.mark.parametrize(("rows", "units", "blocks", "block"), [
    (1, 1, 1, 8), (1, 16, 2, 32), (2, 17, 3, 40), (4, 31, 1, 32), (5, 40, 7, 8), (9, 33, 2, 136)])
def test_products(rows, units, blocks, block, is_asymmetric):
    operands, x = inputs(rows, units, blocks, block, is_asymmetric)
    check_all_ways(make(TFL_BLOCKWISE_FULLY_CONNECTED, operands, out()), [x])


@pytest.mark.parametrize(("bias", "activation"), [(False, 0), (True, 1), (True, 3)])
def test_bias_and_activation(bias, activation):
    operands, x = inputs(3, 20, 2, 16, bias=bias, activation=activation)
    check_all_ways(make(TFL_BLOCKWISE_FULLY_CONNECTED, operands, out()), [x])


def test_a_layer_that_threads_share():
    operands, x = inputs(6, 512, 8, 32)
    check_all_ways(make(TFL_BLOCKWISE_FULLY_CONNECTED, operands, out()), [x])


def test_is_near_the_product_of_floats():
    operands, x = inputs(3, 24, 4, 32, bias=False)
    made = make(TFL_BLOCKWISE_FULLY_CONNECTED, operands, out())
    (y,) = made.op.compute(made, [t.value for t in operands])
    weights = operands[1].value * np.repeat(operands[2].value, 32, 1)
    np.testing.assert_allclose(y, x @ weights.T, atol=0.05)


def test_odd_blocks_have_no_native_form():
    operands, x = inputs(1, 3, 2, 12)
    assert run_native(make(TFL_BLOCKWISE_FULLY_CONNECTED, operands, out()), x) == (
        None, "blocks of 12, native multiples of 8")


def test_refusals():
    operands, _ = inputs(1, 3, 2, 8)
    refuses(TFL_BLOCKWISE_FULLY_CONNECTED, [*operands[:2], floats(np.ones((3, 5))), *operands[3:]],
            " input 2 (scales): have shape [3, 5], must be [3, a number that divides 16]")
    refuses(TFL_BLOCKWISE_FULLY_CONNECTED, [operands[0], operand("I8", np.full((3, 16), 8, np.int8)), *operands[2:]],
            " input 1 (weights): are from 8 to 8, must be of 4 bits")
