"""What windows of any rank need: DILATE, STABLEHLO_PAD and REDUCE_WINDOW."""

from itertools import product

import numpy as np

from .tfl import ANY, INDEXES, own, same_dtype

_TYPES = dict.fromkeys("TUV", ANY) | dict.fromkeys("IJK", INDEXES)


def _list(node, name, least):
    values, rank = node.numbers(name), len(node["input"].shape)
    if len(values) != rank or min(values, default=least) < least:
        node.fail(name, f"is {values}, must be {rank} numbers of at least {least}")
    return values


# -- DILATE, STABLEHLO_PAD -------------------------------------------------------------------------------------------
def _spread(size, step):
    """Places that values take which are `step` apart."""
    return max((size - 1) * step + 1, 0)


def infer_dilate(node):
    """Sizes with the values in between."""
    return [tuple(_spread(n, d) for n, d in zip(node["input"].shape, _list(node, "dilations", 1)))]


def compute_dilate(node, inputs):
    """One value between those of the input."""
    result = np.full(infer_dilate(node)[0], node.element("value", inputs[2]), node.outputs[0].dtype)
    result[tuple(slice(None, None, d) for d in node.numbers("dilations"))] = inputs[0]
    return [result]


def infer_pad(node):
    """Sizes with the values in between and at both ends; less where these are negative."""
    low, high = (_list(node, name, -1 << 31) for name in ("low", "high"))
    steps = _list(node, "interior", 0)
    return [tuple(max(_spread(n, i + 1) + a + z, 0) for n, a, z, i in
                  zip(node["input"].shape, low, high, steps))]


def compute_pad(node, inputs):
    """One value between those of the input and at both ends, of which negative numbers cut off."""
    x = inputs[0]
    result = np.full(infer_pad(node)[0], node.element("value", inputs[1]), node.outputs[0].dtype)
    there, here = [], []
    for n, size, a, i in zip(x.shape, result.shape, node.numbers("low"), node.numbers("interior")):
        step = i + 1
        first = max(0, -(a // step))
        last = min(n, (size - 1 - a) // step + 1)
        here.append(slice(first, max(last, first)))
        begin = a + first * step
        there.append(slice(begin, begin + max(last - first, 0) * step, step))
    if all(part.start < part.stop for part in here):
        result[tuple(there)] = x[tuple(here)]
    return [result]


TFL_DILATE = own("TFL_DILATE", {"input:T dilations:I value:U -> output:V": _TYPES}, compute_dilate, infer_dilate,
                 same_dtype("input", "value"))
TFL_STABLEHLO_PAD = own("TFL_STABLEHLO_PAD", {"input:T value:U low:I high:J interior:K -> output:V": _TYPES},
                        compute_pad, infer_pad, same_dtype("input", "value"))


# -- REDUCE_WINDOW ---------------------------------------------------------------------------------------------------
_FUNCTIONS = {1: np.add, 2: np.multiply, 3: np.minimum, 4: np.maximum, 5: np.logical_and, 6: np.logical_or}
"""Functions by the number that a file has for them."""


def infer_window(node):
    """How many windows fit."""
    windows, strides, dilations = (_list(node, name, 1) for name in ("window", "strides", "dilations"))
    node.check_in("function", tuple(_FUNCTIONS))
    return [tuple(max((n - _spread(w, d)) // s + 1, 0) for n, w, s, d in
                  zip(node["input"].shape, windows, strides, dilations))]


def compute_window(node, inputs):
    """The start value and all of a window, one after the other."""
    (shape,), x = infer_window(node), inputs[0]
    function = _FUNCTIONS[node.scalar("function")]
    windows, strides, dilations = (node.numbers(name) for name in ("window", "strides", "dilations"))
    result = np.full(shape, node.element("start", inputs[1]), node.outputs[0].dtype)
    if result.size:
        for taps in product(*map(range, windows)):
            node.go_on()
            part = x[tuple(slice(k * d, k * d + (o - 1) * s + 1, s)
                           for k, d, o, s in zip(taps, dilations, shape, strides))]
            result = function(result, part).astype(result.dtype, copy=False)
    return [result]


TFL_REDUCE_WINDOW = own(
    "TFL_REDUCE_WINDOW", {"input:T start:U window:I strides:J dilations:K function:i32 -> output:V": _TYPES},
    compute_window, infer_window, same_dtype("input", "start"))
