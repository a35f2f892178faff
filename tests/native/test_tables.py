"""Tables of flatbuffers by hand: kinds of fields, and places that lead out of the file."""

import struct

import numpy as np
import pytest

from nnfast import InvalidArgument
from nnfast._native.tables import Layout, Tables

KINDS = {"b": -5, "B": 200, "?": True, "H": 60000, "I": 4_000_000_000, "i": -4, "f": 0.5, "q": -1 << 40, "Q": 1 << 63}
LAYOUT = Layout({
    "All": tuple((f"field_{kind}", slot, kind, None) for slot, kind in enumerate(KINDS)),
    "Named": (("name", 0, "str", ""), ("codes", 1, "[H]", ()), ("parts", 2, "[Named]", ()), ("here", 3, "place it", 0)),
})


def reader(data, most=100, step=lambda: None):
    return Tables(memoryview(bytes(data)), "file", LAYOUT, most, step)


def table(fields):
    """(bytes, place) of a table whose fields, packed as (struct format), lie behind each other from place + 8 on."""
    body, offsets = b"", []
    for form, value in fields:
        width = struct.calcsize(form)
        body += bytes(-(8 + len(body)) % width)
        offsets.append(8 + len(body))
        body += struct.pack("<" + form, value)
    size = 4 + 2 * len(offsets)
    start = -(-size // 8) * 8
    vtable = struct.pack(f"<HH{len(offsets)}H", size, 8 + len(body), *offsets).ljust(start, b"\0")
    return vtable + struct.pack("<ii", start, 0) + body, start


def test_scalars_of_each_kind():
    data, place = table(list(KINDS.items()))
    assert list(vars(reader(data).table("All", place, "all")).values()) == list(KINDS.values())


def test_fields_that_a_table_does_not_have_keep_their_defaults():
    data, place = table([("b", 1)])
    found = vars(reader(data).table("All", place, "all"))
    assert found.pop("field_b") == 1 and set(found.values()) == {None}


NAMED = struct.pack("<HHHHHHHH", 12, 20, 4, 8, 12, 16, 0, 0) + struct.pack("<iIIII", 16, 16, 20, 24, 28) + \
    b"\2\0\0\0xy\0\0" + struct.pack("<IHHI", 2, 7, 8, 0)
"""A table at 16 whose name is at 36, its codes at 44 and an empty vector of parts at 52."""


def test_references():
    found = reader(NAMED).table("Named", 16, "top")
    assert (found.name, found.codes.tolist(), found.parts, found.here) == ("xy", [7, 8], [], 32)
    assert found.codes.dtype == np.uint16 and not found.codes.flags.writeable


@pytest.mark.parametrize(("place", "value", "message"), [
    (0, 3, "top: vtable at byte 0 has 3 bytes and does not fit"),
    (0, 4000, "top: vtable at byte 0 has 4000 bytes and does not fit"),
    (2, 4000, "top: table at byte 16 has 4000 bytes and does not fit"),
    (2, 3, "top: table at byte 16 has 3 bytes and does not fit"),
    (4, 6, "top: field name lies at 6 of 20 bytes or is misaligned"),
    (6, 18, "top: field codes lies at 18 of 20 bytes or is misaligned"),
    (10, 3, "top: field it lies at 3 of 20 bytes or is misaligned"),
    (16, 24, "top: vtable at byte -8 is outside the file or misaligned"),
    (16, 15, "top: vtable at byte 1 is outside the file or misaligned"),
    (20, 0, "top.name: offset at byte 20 leads to byte 20, outside the file of 56 bytes or misaligned"),
    (20, 40, "top.name: offset at byte 20 leads to byte 60, outside the file of 56 bytes or misaligned"),
    (20, 17, "top.name: offset at byte 20 leads to byte 37, outside the file of 56 bytes or misaligned"),
    (36, 40, "top.name: vector of 40 elements at byte 36 runs past the end of the file"),
    (44, 6, "top.codes: vector of 6 elements at byte 44 runs past the end of the file"),
    (52, 1, "top.parts: vector of 1 elements at byte 52 runs past the end of the file"),
])
def test_what_is_wrong_is_told_with_its_place(place, value, message):
    data = bytearray(NAMED)
    struct.pack_into("<H", data, place, value)
    with pytest.raises(InvalidArgument) as caught:
        reader(data).table("Named", 16, "top")
    assert str(caught.value) == f"file: {message}"


@pytest.mark.parametrize("place", [-1, 53, 1 << 40])
def test_no_offset_is_read_outside_of_the_file(place):
    with pytest.raises(InvalidArgument, match="outside the file of 56 bytes"):
        reader(NAMED).target(place, "top")


@pytest.mark.parametrize("place", [-4, 54, 1 << 40])
def test_no_table_is_read_outside_of_the_file(place):
    with pytest.raises(InvalidArgument, match="outside the file of 56 bytes"):
        reader(NAMED).table("Named", place, "top")


def test_tables_are_counted_and_told_of():
    steps = []
    tables = reader(NAMED, most=2, step=lambda: steps.append(1))
    for _ in range(2):
        tables.table("Named", 16, "top")
    with pytest.raises(InvalidArgument, match="file: top: the file has more than 2 tables"):
        tables.table("Named", 16, "top")
    assert len(steps) == 3


def test_content_is_read_so_often_and_no_more():
    tables = reader(NAMED, most=10_000)
    with pytest.raises(InvalidArgument, match="refers to the same content too often"):
        for _ in range(10_000):
            tables.table("Named", 16, "top")
