"""Tables of flatbuffers, read with a check of every place against the size of the file."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from types import SimpleNamespace

import numpy as np

from ..errors import InvalidArgument

cdef dict WIDTHS = {"b": 1, "B": 1, "?": 1, "H": 2, "I": 4, "i": 4, "f": 4, "q": 8, "Q": 8}
cdef dict VECTORS = {"i": np.dtype("<i4"), "f": np.dtype("<f4"), "q": np.dtype("<i8"), "B": np.dtype("u1"),
                     "H": np.dtype("<u2")}


cdef class Layout:
    """What the tables of a file may look like.

    tables: {name: fields (name, slot, kind, default)}. Kinds: a struct character for a scalar, little-endian; "str";
    "[x]" for a vector of scalars; a name of tables; "[name]" for a vector of tables; "present" when only the fact
    counts; "place NAME" for the place of the field itself, of four bytes, which messages call NAME.
    """

    cdef dict fields, defaults

    def __init__(self, tables):
        self.fields, self.defaults = {}, {}
        for name, fields in tables.items():
            rows = []
            for field, slot, kind, _ in fields:
                kind, _, title = kind.partition(" ")
                rows.append((field, slot, WIDTHS.get(kind, 4), kind, kind in WIDTHS, title or field))
            self.fields[name] = tuple(rows)
            self.defaults[name] = {field: default for field, _, _, default in fields}


cdef class Tables:
    """Reads tables of a Layout out of a file, or raises InvalidArgument with the place.

    data: bytes-like; label: file name for messages; most: tables in one file; step(): called for each table. A record
    is a SimpleNamespace; vectors of scalars are read-only numpy views.
    """

    cdef readonly object data
    cdef readonly Py_ssize_t size
    cdef Py_buffer buffer
    cdef const uint8_t *bytes
    cdef str label
    cdef Layout layout
    cdef object step
    cdef Py_ssize_t count, most
    cdef int64_t budget

    def __cinit__(self, data, str label, Layout layout not None, Py_ssize_t most, step):
        PyObject_GetBuffer(data, &self.buffer, PyBUF_SIMPLE)
        self.bytes, self.size = <const uint8_t *>self.buffer.buf, self.buffer.len
        self.data, self.label, self.layout, self.step = data, label, layout, step
        self.count, self.most = 0, most
        # Without shared parts a file cannot hold more than its own size; leave room for what writers do share.
        self.budget = 4 * self.size + 4096

    def __dealloc__(self):
        PyBuffer_Release(&self.buffer)

    def fail(self, path, text):
        raise InvalidArgument(f"{self.label}: {path}: {text}")

    cdef int spend(self, str path, int64_t amount) except -1:
        """Count work that sharing one vector or string many times would multiply."""
        self.budget -= amount
        if self.budget < 0:
            self.fail(path, "the file refers to the same content too often")
        return 0

    cdef uint32_t word(self, Py_ssize_t place) noexcept:
        cdef uint32_t value
        memcpy(&value, self.bytes + place, 4)
        return value

    cdef uint16_t half(self, Py_ssize_t place) noexcept:
        cdef uint16_t value
        memcpy(&value, self.bytes + place, 2)
        return value

    cpdef Py_ssize_t target(self, Py_ssize_t place, str path) except -1:
        """Position that the forward offset at `place` leads to, with room for four bytes."""
        if place < 0 or place + 4 > self.size:
            self.fail(path, f"offset at byte {place} is outside the file of {self.size} bytes")
        cdef Py_ssize_t position = place + <Py_ssize_t>self.word(place)
        if position == place or position % 4 or position + 4 > self.size:
            self.fail(path, f"offset at byte {place} leads to byte {position}, outside the file of {self.size} bytes"
                      " or misaligned")
        return position

    cdef Py_ssize_t vector(self, Py_ssize_t place, Py_ssize_t width, str path, Py_ssize_t *count) except -1:
        """First byte, and number of elements, of the vector that the offset at `place` leads to."""
        cdef Py_ssize_t position = self.target(place, path)
        count[0] = self.word(position)
        if position + 4 + count[0] * width > self.size:
            self.fail(path, f"vector of {count[0]} elements at byte {position} runs past the end of the file")
        return position + 4

    cpdef table(self, str kind, Py_ssize_t position, str path):
        """SimpleNamespace of the fields of the table at `position`."""
        cdef Py_ssize_t vtable, vtable_size, table_size, offset, place, slot, width
        cdef str name, form, title
        cdef bint is_scalar
        if position < 0 or position + 4 > self.size:
            self.fail(path, f"table at byte {position} is outside the file of {self.size} bytes")
        self.step()
        self.count += 1
        if self.count > self.most:
            self.fail(path, f"the file has more than {self.most} tables")
        vtable = position - <Py_ssize_t><int32_t>self.word(position)
        if vtable < 0 or vtable % 2 or vtable + 4 > self.size:
            self.fail(path, f"vtable at byte {vtable} is outside the file or misaligned")
        vtable_size, table_size = self.half(vtable), self.half(vtable + 2)
        if vtable_size < 4 or vtable_size % 2 or vtable + vtable_size > self.size:
            self.fail(path, f"vtable at byte {vtable} has {vtable_size} bytes and does not fit")
        if table_size < 4 or position + table_size > self.size:
            self.fail(path, f"table at byte {position} has {table_size} bytes and does not fit")
        cdef dict values = (<dict>self.layout.defaults[kind]).copy()
        for name, slot, width, form, is_scalar, title in <tuple>self.layout.fields[kind]:
            if 6 + 2 * slot > vtable_size:
                continue
            offset = self.half(vtable + 4 + 2 * slot)
            if not offset:
                continue
            place = position + offset
            if offset < 4 or offset + width > table_size or place % width:
                self.fail(path, f"field {title} lies at {offset} of {table_size} bytes or is misaligned")
            values[name] = self.scalar(form, place) if is_scalar else self.reference(form, place, f"{path}.{name}")
        return SimpleNamespace(**values)

    cdef object scalar(self, str form, Py_ssize_t place):
        cdef const uint8_t *at = self.bytes + place
        cdef float real
        cdef int64_t wide
        cdef uint64_t natural
        cdef Py_UCS4 kind = form[0]
        if kind == u"b":
            return <int8_t>at[0]
        if kind == u"B":
            return at[0]
        if kind == u"?":
            return at[0] != 0
        if kind == u"H":
            return self.half(place)
        if kind == u"I":
            return self.word(place)
        if kind == u"i":
            return <int32_t>self.word(place)
        if kind == u"f":
            memcpy(&real, at, 4)
            return real
        if kind == u"q":
            memcpy(&wide, at, 8)
            return wide
        memcpy(&natural, at, 8)
        return natural

    cdef object reference(self, str form, Py_ssize_t place, str path):
        """Value of a field that is held by offset."""
        cdef Py_ssize_t start, count, k
        cdef str item, base, at
        if form == "present":
            return True
        if form == "place":
            return place
        if form == "str":
            start = self.vector(place, 1, path, &count)
            self.spend(path, count)
            return PyUnicode_DecodeUTF8(<const char *>self.bytes + start, count, "replace")
        if form[0] != u"[":
            return self.table(form, self.target(place, path), path)
        item = form[1:len(form) - 1]
        dtype = VECTORS.get(item)
        if dtype is not None:
            start = self.vector(place, dtype.itemsize, path, &count)
            if item != "B":
                self.spend(path, count)
            return np.frombuffer(self.data, dtype, count, start)
        start = self.vector(place, 4, path, &count)
        self.spend(path, count)
        if count > self.most:
            self.fail(path, f"has {count} elements, more than {self.most}")
        base = path[:len(path) - 1]
        cdef list tables = []
        for k in range(count):
            at = f"{base}[{k}]"
            tables.append(self.table(item, self.target(start + 4 * k, at), at))
        return tables
