"""A step of TFLite's LSTM of uint8 tensors, by the basic kernel: one matrix for all gates."""

import numpy as np

from ..model import quant
from ..model.fixedpoint import WORD16
from . import recurrent
from .tfl import own, ratio_multiplier

_DATA, _STATE = (2.0**-7, 128), (2.0**-11, 0)
"""(scale, zero point) of input and output, and of the cell."""
_GATE_BITS, _CELL_BITS = 3, 4
"""Integer bits of the sums of gates, and of the cell."""


def _multiplier(node):
    """(multiplier, exponent) of sums of products, of the bias's scale, to words of gates."""
    return ratio_multiplier(node, float(np.float32(node.scalar("bias_scale"))) * 2.0**(15 - _GATE_BITS))


def infer(node):
    """Both states, the input with the hidden state behind it, and the sums of gates."""
    node.check_rank("input", 2)
    node.check_rank("hidden", 2)
    (batch, size), units = node["input"].shape, node["hidden"].shape[1]
    for name, shape in (("hidden", (batch, units)), ("cell", (batch, units)), ("bias", (4 * units,)),
                        ("weights", (4 * units, size + units))):
        recurrent.check_shape(node, name, shape)
    for name, wanted in (("input", _DATA), ("hidden", _DATA), ("cell", _STATE)):
        found = node[name].scale, node[name].zero_point
        if found != wanted:
            node.fail(name, f"has (scale, zero point) {found}, must have {wanted}")
    _multiplier(node)
    return [(batch, units), (batch, units), (batch, size + units), (batch, 4 * units)]


def _words(node, sums):
    """Gates: the product is rounded, and once more where it is shifted, halves up."""
    multiplier, exponent = map(int, _multiplier(node))
    right = max(-exponent, 0)
    words = quant.srdhm(sums << max(exponent, 0), multiplier) + (1 << right >> 1) >> right
    return np.clip(words, WORD16.min, WORD16.max)


def compute(node, inputs):
    """Gates in the order input, candidate, forget, output; the states are words of 16 bits in between."""
    x, hidden, weights, bias, cell = inputs[:5]
    joined = np.concatenate([x, hidden], axis=1)
    # float64 holds the sums of products of codes exactly.
    products = (joined.astype(np.float64) - _DATA[1]) @ (weights.astype(np.float64) - node["weights"].zero_point).T
    sums = _words(node, products.astype(np.int64) + bias)
    enter, candidate, forget, leave = np.split(sums, 4, axis=1)
    enter, forget, leave = (WORD16.logistic(gate, _GATE_BITS) for gate in (enter, forget, leave))
    new = WORD16.rescale(WORD16.mul(enter, WORD16.tanh(candidate, _GATE_BITS)), 0, _CELL_BITS)
    state = np.clip(new + WORD16.mul(forget, cell), WORD16.min, WORD16.max)
    output = WORD16.mul(leave, WORD16.tanh(WORD16.rescale(state, _CELL_BITS, _GATE_BITS), _GATE_BITS))
    codes = _DATA[1] + np.clip(quant.rdbpot(output, 8), -128, 127)
    return [codes.astype(np.uint8), state.astype(np.int16), joined, sums.astype(np.int16)]


TFL_BASIC_LSTM = own(
    "TFL_BASIC_LSTM",
    {"input:D hidden:D weights:D bias:B cell:C bias_scale:f32 -> hidden_out:D cell_out:C joined:D sums:C":
     {"D": ("Q8",), "B": ("I32",), "C": ("Q16S",)}}, compute, infer, multiply_adds=True)
