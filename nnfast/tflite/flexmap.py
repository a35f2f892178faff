"""Options of custom operators: decodes a FlexBuffers map of names to numbers and texts, with bounds checks."""

import struct

import numpy as np

MAX_ENTRIES = 1000
MAX_TEXT = 64
"""Bytes of a text that count."""
_NULL, _INT, _UINT, _FLOAT, _BOOL = 0, 1, 2, 3, 26
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_MAP = 9
_VECTORS = {11: _INT, 12: _UINT}
_STRING = 5


class _Reader:
    def __init__(self, data):
        self.data = data

    def bytes(self, place, count):
        if place < 0 or place + count > len(self.data):
            raise ValueError(f"leads to byte {place}, outside its {len(self.data)} bytes")
        return self.data[place:place + count]

    def unsigned(self, place, width):
        return int.from_bytes(self.bytes(place, width), "little")

    def back(self, place, width):
        """Target of the offset at `place`, which always points backwards."""
        return place - self.unsigned(place, width)

    def number(self, place, kind, width):
        raw = self.bytes(place, width)
        if kind == _FLOAT:
            formats = {2: "<e", 4: "<f", 8: "<d"}
            if width not in formats:
                raise ValueError(f"holds a float of {width} bytes")
            return struct.unpack(formats[width], raw)[0]
        value = int.from_bytes(raw, "little", signed=kind == _INT)
        return bool(value) if kind == _BOOL else value

    def vector(self, place, kind, width):
        count = self.unsigned(place - width, width)
        if count > MAX_ENTRIES:
            raise ValueError(f"has a vector of {count} entries, must be at most {MAX_ENTRIES}")
        return [self.number(place + k * width, kind, width) for k in range(count)]

    def key(self, place):
        end = self.data.find(b"\0", place) if 0 <= place < len(self.data) else -1
        if end < 0:
            raise ValueError(f"has a name at byte {place} without an end")
        return self.data[place:end].decode("utf-8", "replace")


def decode(data):
    """Numbers, bools, texts and lists of integers in a map, by name; entries of other types are skipped.

    data: bytes. Raises ValueError if it is damaged or not a map.
    """
    reader = _Reader(data)
    if len(data) < 3:
        raise ValueError(f"has {len(data)} bytes, must be a map")
    kind, root_width = data[-2], data[-1]
    if root_width not in (1, 2, 4, 8) or kind >> 2 != _MAP:
        raise ValueError("is not a map")
    width = 1 << (kind & 3)
    values = reader.back(len(data) - 2 - root_width, root_width)
    count = reader.unsigned(values - width, width)
    if count > MAX_ENTRIES:
        raise ValueError(f"has {count} entries, must be at most {MAX_ENTRIES}")
    key_width = reader.unsigned(values - 2 * width, width)
    if key_width not in (1, 2, 4, 8):
        raise ValueError(f"has names {key_width} bytes apart")
    keys = reader.back(values - 3 * width, width)
    types = reader.bytes(values + count * width, count)
    result = {}
    for k, packed in enumerate(types):
        name = reader.key(reader.back(keys + k * key_width, key_width))
        place, kind, size = values + k * width, packed >> 2, width
        if kind in _INDIRECT:
            place, kind, size = reader.back(place, width), _INDIRECT[kind], 1 << (packed & 3)
        if kind in (_INT, _UINT, _FLOAT, _BOOL):
            result[name] = reader.number(place, kind, size)
        elif kind in _VECTORS:
            result[name] = reader.vector(reader.back(place, width), _VECTORS[kind], 1 << (packed & 3))
        elif kind == _STRING:
            start, size = reader.back(place, width), 1 << (packed & 3)
            text = reader.bytes(start, reader.unsigned(start - size, size))[:MAX_TEXT].decode("utf-8", "replace")
            if text.isprintable():  # a refusal may show it
                result[name] = text
    return result


def float32(value):
    """A number rounded to float32, infinite beyond the range."""
    with np.errstate(over="ignore"):
        return np.float32(value)
