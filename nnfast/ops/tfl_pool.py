"""MediaPipe's custom poolings: MaxPoolingWithArgmax2D, which tells places, and MaxUnpooling2D, which goes back."""

from math import prod

import numpy as np

from .._native.spatial import MaxPoolPlaces, MaxUnpool
from .tfl import own
from .window import IMPLICIT, window

PLACE_OFFSET = np.float32(0.1)
"""What places are moved by, so that they survive being cut off to integers."""


def _window(node):
    node.check_rank("input", 4)
    size = node.scalar("filter_height"), node.scalar("filter_width")
    return window(node, node["input"].shape[1:3], size, ("filter_height", "filter_width"))


# -- MaxPoolingWithArgmax2D ------------------------------------------------------------------------------------------
def infer_pool(node):
    """Largest values and their places."""
    output = _window(node).output
    batch, *_, channels = node["input"].shape
    return [(batch, *output, channels)] * 2


def compute_pool(node, inputs):
    """The first largest value of each window, and its place in the plane: y * width + x."""
    x, geometry, (shape, _) = inputs[0], _window(node), infer_pool(node)
    best, places = np.full(shape, np.finfo(np.float32).min, np.float32), np.zeros(shape, np.float32)
    grid = np.arange(x.shape[1] * x.shape[2], dtype=np.float32).reshape(1, *x.shape[1:3], 1)
    for _, out_y, in_y in geometry.taps(0):
        for _, out_x, in_x in geometry.taps(1):
            part, top = x[:, in_y, in_x], best[:, out_y, out_x]
            wins = part > top
            top[wins] = part[wins]
            places[:, out_y, out_x][wins] = np.broadcast_to(grid[:, in_y, in_x], part.shape)[wins]
    return [best, places + PLACE_OFFSET]


def lower_pool(node, b):
    """One step."""
    slots = [b.slot(t) for t in (node["input"], *node.outputs)]
    batch, *_, channels = node["input"].shape
    b.emit(MaxPoolPlaces(slots, batch, _window(node), channels))
    return None


# -- MaxUnpooling2D --------------------------------------------------------------------------------------------------
def infer_unpool(node):
    """The input times the filter."""
    node.check_rank("input", 4)
    batch, height, width, channels = node["input"].shape
    if node["places"].shape != node["input"].shape:
        node.fail("places", f"shape is {list(node['places'].shape)}, must be {list(node['input'].shape)}")
    if min(node.scalar("filter_height"), node.scalar("filter_width")) < 1:
        node.fail("filter_height", "and the width must be at least 1")
    return [(batch, height * node.scalar("filter_height"), width * node.scalar("filter_width"), channels)]


def compute_unpool(node, inputs):
    """Values at their places, zeros elsewhere."""
    x, (shape,) = inputs[0], infer_unpool(node)
    places = inputs[1].astype(np.int64)
    if ((places < 0) | (places >= shape[1] * shape[2])).any():
        node.fail_run("places", f"has one outside a plane of {shape[1]} x {shape[2]}")
    result = np.zeros((shape[0], shape[1] * shape[2], shape[3]), np.float32)
    batch, channel = np.arange(shape[0])[:, None, None], np.arange(shape[3])
    flat = x.reshape(shape[0], -1, shape[3])
    result[batch, places.reshape(flat.shape), channel] = flat
    return [result.reshape(shape)]


def lower_unpool(node, b):
    """One step."""
    slots = [b.slot(t) for t in (node["input"], node["places"], node.outputs[0])]
    batch, height, width, channels = node["input"].shape
    b.emit(MaxUnpool(slots, batch, height * width, channels, prod(node.outputs[0].shape[1:3])), declines=True)
    return None


_SIZES = f"{IMPLICIT} filter_width:i32 filter_height:i32"
TFL_MAX_POOL_ARGMAX = own("TFL_MAX_POOL_ARGMAX", {f"input:F32 {_SIZES} -> output:F32 places:F32": {}}, compute_pool,
                          infer_pool, lower=lower_pool)
TFL_MAX_UNPOOL = own("TFL_MAX_UNPOOL", {f"input:F32 places:F32 {_SIZES} -> output:F32": {}}, compute_unpool,
                     infer_unpool, lower=lower_unpool)
