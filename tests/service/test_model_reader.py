"""Models from clients are read in small steps, and nothing is read that need not be."""

import fcntl
import os
import struct

import numpy as np
import pytest

from helpers.raw_client import refused, sealed
from helpers.service import FLOAT, add_model, dense_model
from nnfast import ModelBuilder, pace
from nnfast._native.codec import array_head, skip
from nnfast.errors import Cancelled, InvalidArgument, MissedDeadlineTransient, ResourceExhaustedTransient
from nnfast.model import records
from nnfast.model.records import encode
from nnfast.service.server import model_reader
from nnfast.service.server.model_reader import open_bytes, unpack
from nnfast.service.wire import models, protocol
from nnfast.service.wire.channel import sealed_memfd


def long_model(count):
    b = ModelBuilder("long")
    x, one, none = b.input(FLOAT, (1, 4)), b.constant(np.ones((1, 4), np.float32)), b.scalar(0)
    for place in range(count):
        y = b.output(FLOAT, (1, 4)) if place == count - 1 else b.operand(FLOAT, (1, 4))
        b.operation("ADD", [x, one, none], [y])
        x = y
    return b.build()


def content_of(model):
    fd = sealed(model)
    try:
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)


def read(content):
    return unpack(np.frombuffer(bytes(content), np.uint8))


def with_header(record, constants=b""):
    """The memory of a model with this header."""
    header = record if isinstance(record, bytes) else encode(record)
    start = records.align(models.START.size + len(header))
    return models.START.pack(models.MAGIC, len(header), start + len(constants)) + header + \
        bytes(start - models.START.size - len(header)) + constants


# -- msgpack -----------------------------------------------------------------------------------------------------------
VALUES = [0, 127, -1, -32, 200, 60_000, 1 << 31, 1 << 63, -200, -60_000, -(1 << 40), 1.5, None, True, False,
          *("a" * size for size in (0, 31, 32, 300, 70_000)), *(b"x" * size for size in (0, 255, 256, 70_000)),
          *([1] * size for size in (0, 15, 16, 70_000)), {"a": 1}, {str(k): [k] for k in range(20)}, [[[[]]]],
          [1, "two", [3.0, {"four": b"5"}]]]


def test_every_value_is_stepped_over():
    for value in VALUES:
        data = encode(value)
        assert skip(data, 0, 1, 1 << 30, 1 << 30) == (1, len(data)), value
        for cut in {*range(min(len(data), 40)), len(data) - 1}:
            with pytest.raises(ValueError, match="ends early"):
                skip(data[:cut], 0, 1, 1 << 30, 1 << 30)
    data = encode(VALUES)
    count, at = array_head(data, 0)
    assert count == len(VALUES) and skip(data, at, count, 1 << 30, 1 << 30) == (count, len(data))


def test_stepping_over_values_has_limits():
    data = encode([[1, 2, 3], [4], "five"])
    count, at = array_head(data, 0)
    ends = [at + 4, at + 6, at + 11]
    assert skip(data, at, 3, 100, 100) == (3, ends[2])
    assert skip(data, at, 3, 6, 100) == (2, ends[1])
    assert skip(data, at, 3, 100, 6) == (2, ends[1]) and skip(data, at, 3, 100, 5) == (1, ends[0])
    assert skip(data, at, 3, 3, 100)[0] == skip(data, at, 3, 100, 3)[0] == 0
    assert skip(data, at, 2, 100, 100) == (2, ends[1])


def test_depth_and_sizes_that_are_none_cost_nothing():
    deep = b"\x91" * 1_000_000
    assert skip(deep, 0, 1, 1 << 30, 1000)[0] == 0
    with pytest.raises(ValueError):
        skip(deep, 0, 1, 1 << 30, 1 << 30)
    for huge in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff",
                 b"\xc9\xff\xff\xff\xff\x01", b"\xc1"):
        with pytest.raises(ValueError):
            skip(huge, 0, 1, 1 << 40, 1 << 40)
    for wrong in (b"", b"\x01", b"\xdc\x00", b"\x81\x01\x01"):
        with pytest.raises(ValueError):
            array_head(wrong, 0)


# -- headers -----------------------------------------------------------------------------------------------------------
def test_a_header_is_read_in_steps():
    model, steps = long_model(2000), []
    content = content_of(model)
    before = pace.set_pace(lambda: steps.append(1))
    try:
        got = read(content)
    finally:
        pace.set_pace(before)
    assert len(got.main.operands) == len(model.main.operands) and got.main.operations == model.main.operations
    assert len(steps) >= len(model.main.operands) + len(model.main.operations)


def test_reading_stops_in_the_middle():
    def stop():
        raise InterruptedError

    before = pace.set_pace(stop)
    try:
        with pytest.raises(InterruptedError):
            read(content_of(long_model(10)))
    finally:
        pace.set_pace(before)


def test_one_record_has_a_limit():
    inputs = (0,) * 200_000
    main = records.GraphRecord([], [records.OperationRecord(0, inputs, (2,))], (0, 1), (3,))
    with pytest.raises(InvalidArgument, match=r"main\.operation\[0\]: has more than \d+ bytes or \d+ values"):
        read(with_header(records.ModelRecord(main, [], False, [], "", [], "nnapi", [])))
    main = records.GraphRecord([], [], inputs, (3,))
    with pytest.raises(InvalidArgument, match=r"main\.inputs: has more than"):
        read(with_header(records.ModelRecord(main, [], False, [], "", [], "nnapi", [])))


def test_a_wide_operation_is_read():
    b, count = ModelBuilder("wide"), 20_000
    x = b.input(FLOAT, (1, 1))
    b.operation("CONCATENATION", [*[x] * count, b.scalar(0)], [b.output(FLOAT, (count, 1))])
    model = b.build()
    assert read(content_of(model)).main.operations == model.main.operations


def test_a_header_has_a_limit():
    content = bytes(model_reader.MAX_HEADER + models.START.size + 1)
    head = models.START.pack(models.MAGIC, model_reader.MAX_HEADER + 1, len(content))
    with pytest.raises(InvalidArgument, match=f"must be at most {model_reader.MAX_HEADER}"):
        read(head + content[len(head):])


@pytest.mark.parametrize("header", [b"", b"\x90", b"\x96", b"\x96\x94\x91", b"\x96\x94\xdd\xff\xff\xff\xff", b"\x01"])
def test_broken_headers_are_refused(header):
    with pytest.raises(InvalidArgument, match="^main"):
        read(with_header(header))


def test_bytes_behind_the_last_record_are_refused():
    model = add_model()
    constants = records.Constants()
    header = encode(records.record_of(model, constants))
    with pytest.raises(InvalidArgument, match=r"the header ends at byte \d+, has \d+"):
        read(with_header(header + b"\x01", bytes(constants.end)))


# -- constants ---------------------------------------------------------------------------------------------------------
def placed(*offsets, dims=(4,), behind=0):
    """The memory of a model with one constant of 16 bytes at each offset."""
    operands = [records.OperandRecord(3, dims, 0.0, 0, 4, None, (), records.Data(offset, "<f4", dims), "", None, None)
                for offset in offsets]
    main = records.GraphRecord(operands, [], (), ())
    size = records.align(max(offsets) + 16) + behind
    return with_header(records.ModelRecord(main, [], False, [], "", [], "nnapi", []), bytes(size))


def test_constants_lie_one_behind_the_other():
    assert len(read(placed(0, 64, 0, 128, 64)).main.operands) == 5
    for offsets in ((64,), (0, 128), (64, 0), (0, 32), (0, -64)):
        with pytest.raises(InvalidArgument, match=r"main\.operand\[\d\]: the constant lies at byte"):
            read(placed(*offsets))
    with pytest.raises(InvalidArgument, match="128 bytes behind the header, must be 64"):
        read(placed(0, behind=64))


def test_a_shape_of_many_dimensions_is_refused():
    with pytest.raises(InvalidArgument, match="a constant of dtype"):
        read(placed(0, dims=(1 << 60,) * 1000))


def test_memory_that_nobody_wrote_is_not_touched(raw, other):
    size = 1 << 30
    content = content_of(dense_model())
    magic, header, whole = models.START.unpack_from(content)
    for head in (models.START.pack(magic, header, size) + content[models.START.size:],
                 struct.pack("<8sQQ", magic, 64, size)):
        fd = os.memfd_create("holes", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        os.pwrite(fd, head, 0)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
        for message in (protocol.Check("1.3"), protocol.GetUnsupported(), protocol.Prepare("low_power", "low")):
            refused(raw.call(message, [fd]))
        assert os.fstat(fd).st_blocks * 512 <= len(content) + (1 << 20)
        os.close(fd)


def test_unsealed_memory_is_copied_in_steps():
    fd = os.memfd_create("plain")
    os.write(fd, bytes(100))
    assert not open_bytes(fd, 1000).any()
    os.close(fd)
    fd = sealed_memfd([content_of(add_model())])
    assert unpack(open_bytes(fd, 1 << 20)).name == "add"
    os.close(fd)


@pytest.mark.parametrize("stop", [MissedDeadlineTransient, Cancelled, ResourceExhaustedTransient])
def test_what_stops_the_reading_is_raised_as_it_is(stop):
    # A missed deadline is a TimeoutError, which is an OSError.
    def stopped(*_):
        raise stop("told to stop")

    fd = os.memfd_create("plain")
    os.write(fd, bytes(100))
    with pytest.raises(stop, match="^told to stop$"):
        open_bytes(fd, 1000, hold=stopped)
    outer = pace.set_pace(stopped)
    try:
        with pytest.raises(stop, match="^told to stop$"):
            open_bytes(fd, 1000)
    finally:
        pace.set_pace(outer)
        os.close(fd)
