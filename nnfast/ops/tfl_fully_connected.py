"""FULLY_CONNECTED with a scale for each unit, which the standard lacks."""

from . import fully_connected, requantize
from .tfl import own


def _validate(node):
    requantize.check_channel_dim(node, "weights", 0)
    fully_connected.validate(node)


TFL_FULLY_CONNECTED = own(
    "TFL_FULLY_CONNECTED", {"input:T weights:PC bias:I32 activation:i32 -> output:T": {"T": ("Q8S",)}},
    fully_connected.compute, fully_connected.infer, _validate, lower=fully_connected.lower,
)
