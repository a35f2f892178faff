"""Native steps as records: the arguments that made a step, and what it reads and writes.

A step trusts its arguments, so a record from a file is checked before the step is made: `reach` raises for arguments
that no valid model leads to, and returns how many bytes of which slots the step accesses. A step without a record class
is made again by its operation (compiler/packing.py).
"""

from typing import get_args

import numpy as np

from ..._native import conv, elementwise, engine, movement, recurrent, reduction, spatial
from .bands import Bands
from .base import NoRecord, Walk, Window
from .blocks import Blocks
from .elements import (
    BinaryF32,
    BinaryQ8,
    ClampF32,
    Concatenate,
    LayerNormF32,
    LookupQ8,
    SoftmaxF32,
    SoftmaxQ8,
    UnaryF32,
)
from .layers import LstmF32, RecurrentF32
from .windows import (
    Conv2dF32,
    Conv2dLineF32,
    Conv2dLinesQ8,
    Conv2dNarrowF32,
    Conv2dNarrowQ8,
    Conv2dQ8,
    Conv2dWinogradF32,
    Conv2dWinogradQ8,
    DepthwiseConv2DF32,
    DepthwiseConv2DQ8,
    Pool2D,
)

AnyStep = (
    Conv2dF32 | Conv2dLineF32 | Conv2dNarrowF32 | Conv2dWinogradF32 | Conv2dQ8 | Conv2dLinesQ8 | Conv2dNarrowQ8
    | Conv2dWinogradQ8 | DepthwiseConv2DF32 | DepthwiseConv2DQ8 | Pool2D | BinaryF32 | BinaryQ8 | UnaryF32 | ClampF32
    | LookupQ8 | SoftmaxF32 | SoftmaxQ8 | LayerNormF32 | Concatenate | RecurrentF32 | LstmF32 | Bands | Blocks)
"""Union of all record classes."""

_MODULES = conv, elementwise, engine, movement, recurrent, reduction, spatial
_KINDS = {kind.__name__: kind for kind in get_args(AnyStep)}
for _name, _kind in _KINDS.items():
    _kind.native = next(getattr(module, _name) for module in _MODULES if hasattr(module, _name))
_FIELDS = {kind: kind.__struct_fields__ for kind in _KINDS.values()}


def record_of(step, add):
    """The record of a step; add(array) turns its arrays into Data. Raises NoRecord if it has none."""
    kind = _KINDS.get(type(step).__name__)
    if kind is None or kind.native is not type(step) or step.reference is not None:
        raise NoRecord
    arguments, named = step.made_with
    fields = _FIELDS[kind]
    if len(arguments) > len(fields) or not named.keys() <= set(fields):
        raise NoRecord
    return kind(**{name: _plain(value, add) for name, value in (*zip(fields, arguments), *named.items())})


def _plain(value, add):
    """An argument in the form of a record's fields."""
    if isinstance(value, np.ndarray):
        return add(value)
    if isinstance(value, engine.Step):
        return record_of(value, add)
    if isinstance(value, recurrent.Walk):
        return Walk(*value.made_with)
    if hasattr(value, "dilation"):
        return Window(*(tuple(map(int, getattr(value, name))) for name in Window.__struct_fields__))
    if isinstance(value, np.dtype | type):
        return np.dtype(value).name
    if isinstance(value, tuple | list):
        return tuple([_plain(each, add) for each in value])
    if isinstance(value, np.generic):
        return value.item()
    if value is not None and not isinstance(value, str | int | float):
        raise NoRecord
    return value
