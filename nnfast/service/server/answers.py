"""Descriptions of the driver's objects for clients."""

import numpy as np

from ..wire.protocol import Prepared, Tensor


def prepared_answer(number, held):
    """The description of a prepared model for its client."""
    prepared = held.prepared
    return Prepared(number, prepared.model.name, len(prepared.model.main.operations), prepared.priority,
                    [_tensor(info) for info in prepared.inputs], [_tensor(info) for info in prepared.outputs],
                    held.results, prepared.is_plain)


def _tensor(info):
    kind = info.type if isinstance(info.type, int) else -1  # types of extensions are known to the device only
    return Tensor(info.name, info.shape, np.dtype(info.dtype).str, int(kind), float(info.scale), int(info.zero_point),
                  info.channel_axis, info.operand, tuple(map(float, info.channel_scales)))
