"""Tables of schema.TABLES as a flatbuffer: the opposite of verify.py."""

import numpy as np

from ..extras import needed
from .schema import IDENTIFIER, OPTIONS_SLOTS, TABLES

_SLOTS = {"b": "Int8", "B": "Uint8", "?": "Bool", "i": "Int32", "I": "Uint32", "f": "Float32", "q": "Int64",
          "Q": "Uint64"}
_VECTORS = {"[i]": "<i4", "[f]": "<f4", "[q]": "<i8"}
ALIGNMENT = 16
"""Of the bytes of constants."""


def encode(kind, values):
    """Bytes of a file whose root is that table.

    values: {field: value}; a table is a dict, a vector of tables a list of dicts, bytes are an array. "options" of a
    table with options: (kind, values).
    """
    builder = needed("flatbuffers").Builder(1024)
    builder.Finish(_table(builder, kind, values), file_identifier=IDENTIFIER)
    return bytes(builder.Output())


def _table(builder, kind, values):
    fields = {name: (slot, field, default) for name, slot, field, default in TABLES[kind]}
    offsets = {name: _reference(builder, fields[name][1], value) for name, value in values.items()
               if name != "options" and fields[name][1] not in _SLOTS}
    options = None if values.get("options") is None else _table(builder, *values["options"])
    builder.StartObject(1 + max((slot for slot, _, _ in fields.values()), default=0))
    for name, (slot, field, default) in fields.items():
        if name in offsets:
            builder.PrependUOffsetTRelativeSlot(slot, offsets[name], 0)
        elif name in values:
            getattr(builder, f"Prepend{_SLOTS[field]}Slot")(slot, values[name], default)
    if options is not None:
        builder.PrependUOffsetTRelativeSlot(OPTIONS_SLOTS[kind], options, 0)
    return builder.EndObject()


def _reference(builder, field, value):
    """Offset of a field that is held by one."""
    if field == "str":
        return builder.CreateString(value)
    if field == "[B]":
        return _bytes(builder, value)
    if field in _VECTORS:
        return builder.CreateNumpyVector(np.asarray(value, _VECTORS[field]))
    if field[0] != "[":
        return _table(builder, field, value)
    offsets = [_table(builder, field[1:-1], entry) for entry in value]
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def _bytes(builder, array):
    """Vector of the bytes of an array, where kernels may read them in place."""
    raw = array.tobytes()
    builder.StartVector(1, len(raw), ALIGNMENT)
    builder.head -= len(raw)
    builder.Bytes[builder.head:builder.head + len(raw)] = raw
    return builder.EndVector()
