"""GROUPED_CONV_2D [NN 15.55]: a separate CONV_2D for every group of channels."""

import numpy as np

from .._native import conv
from ..model.types import OperationType
from . import conv2d, requantize, window
from .base import OpDef, forms, is_quant8

_TENSORS = "input:T filter:W bias:B"
_END = "num_groups:i32 activation:i32 layout:bool"
_SIGNATURES = forms(
    (f"{_TENSORS} {window.EXPLICIT} {_END} -> output:T", "1.2"),
    (f"{_TENSORS} {window.IMPLICIT} {_END} -> output:T", "1.2"),
    sets=conv2d.TYPE_SETS,
)


def _validate(node):
    requantize.check_channel_dim(node, "filter", 0)


def _infer(node):
    batch, _, _, channels = window.image_shape(node)
    groups = node.scalar("num_groups")
    if groups < 1:
        node.fail("num_groups", f"is {groups}, must be > 0")
    if channels % groups:
        node.fail("num_groups", f"is {groups}, must divide the input's {channels} channels")
    rule = f"{channels // groups}: {channels} channels in {groups} groups"
    units = conv2d.check_operands(node, channels // groups, rule)
    if units % groups:
        node.fail("num_groups", f"is {groups}, must divide the filter's {units} output channels")
    return [window.output_shape(node, batch, conv2d.geometry(node).output, units)]


def _compute(node, inputs):
    win, groups = conv2d.geometry(node), node.scalar("num_groups")

    def sums(image, filter_):
        pairs = zip(np.split(image, groups, axis=3), np.split(filter_, groups), strict=True)
        return np.concatenate([conv2d.sums(*pair, win) for pair in pairs], axis=3)

    return conv2d.convolve(node, inputs, sums)


def _groups_at_once(node, units, groups):
    """Groups, of so many units each, that together are one product: what a panel of weights has room for anyway.

    Only of codes: zeros that meet an infinite float are not zero.
    """
    if not is_quant8(node["input"]) or node["filter"].value is None or node["bias"].value is None:
        return 1
    return max((n for n in range(1, groups + 1) if groups % n == 0 and n * units <= conv.narrow_panel_q8()), default=1)


def _lower(node, b):
    win = conv2d.geometry(node).lying
    reason = conv2d.refusal(node, win.is_padded, b)
    if reason is None:
        (batch, _, _, channels), units, (height, width) = node["input"].shape, node["filter"].shape[0], win.output
        groups = node.scalar("num_groups")
        if conv2d.emit_grouped(node, b, conv2d.Matrix(node["filter"]), win, groups):
            return None
        joined = _groups_at_once(node, units // groups, groups)
        matrix = conv2d.Matrix(node["filter"], joined=(joined, units // groups))
        products = groups // joined
        place = conv2d.Placement(channels, units, width * units, height * width * units, groups=products,
                                 group=channels // products, out_group=units // products)
        conv2d.emit(node, b, matrix, win, batch, place)
        conv2d.emit_check(node, b, win.is_padded)
    return reason


GROUPED_CONV_2D = OpDef(
    OperationType.GROUPED_CONV_2D, _SIGNATURES, validate=_validate, infer=_infer, compute=_compute, lower=_lower,
    multiply_adds=True,
)
