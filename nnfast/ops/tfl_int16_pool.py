"""AVERAGE_POOL_2D and MAX_POOL_2D of int16 tensors, as LiteRT's reference kernels compute them."""

import numpy as np

from . import pooling, window
from .base import check_activation
from .tfl import image_shape, own


def infer(node):
    """As the standard's."""
    batch, _, _, channels = image_shape(node)
    check_activation(node)
    return [(batch, *pooling.geometry(node).output, channels)]


def _clamped(node, codes):
    return [np.clip(codes, *pooling.clamp(node)).astype(np.int16)]


def compute_average(node, inputs):
    """Means of codes, rounded half away from zero."""
    win = pooling.geometry(node)
    sums = pooling.pool(inputs[0].astype(np.int64), win, np.add, 0)
    return _clamped(node, pooling.mean_codes(sums, pooling.counts(win), True))


def compute_max(node, inputs):
    """Largest codes."""
    return _clamped(node, pooling.pool(inputs[0], pooling.geometry(node), np.maximum, np.iinfo(np.int16).min))


_FORM = f"input:T {window.IMPLICIT} filter_width:i32 filter_height:i32 activation:i32 layout:bool -> output:T"
TFL_INT16_AVERAGE_POOL_2D, TFL_INT16_MAX_POOL_2D = (
    own(f"TFL_INT16_{name}_POOL_2D", {_FORM: {"T": ("Q16S",)}}, compute, infer, lower=pooling.lower(name.lower()))
    for name, compute in (("AVERAGE", compute_average), ("MAX", compute_max)))
