"""Descriptors: what they hold, and every rule that a bad one breaks, named in the refusal."""

import fcntl
import mmap
import os
import tempfile
from dataclasses import replace

import numpy as np
import pytest

from helpers.fmq_items import ITEM, items, numbers
from helpers.open_files import open_files
from nnfast import fmq
from nnfast.errors import InvalidArgument
from nnfast.fmq import Descriptor, Grantor

BYTES = ITEM.itemsize


def memfd(size, seals=fcntl.F_SEAL_SHRINK):
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


@pytest.fixture
def queue():
    with fmq.MessageQueue.create(ITEM, 4) as made:
        yield made


def refused(descriptor, match, dtype=ITEM):
    before = open_files()
    with pytest.raises(InvalidArgument, match=match) as caught:
        fmq.MessageQueue.attach(descriptor, dtype)
    assert len(str(caught.value).splitlines()) == 1
    assert not open_files() - before


def changed(descriptor, place, **fields):
    grantors = list(descriptor.grantors)
    grantors[place] = replace(grantors[place], **fields)
    return replace(descriptor, grantors=tuple(grantors))


# -- good ones ---------------------------------------------------------------------------------------------------------
def test_the_pieces_lie_on_lines_of_their_own(queue):
    descriptor = queue.descriptor
    assert [g.extent for g in descriptor.grantors] == [8, 8, 4 * BYTES, 4]
    assert (descriptor.quantum, descriptor.flavor, len(descriptor.fds)) == (BYTES, fmq.SYNCHRONIZED, 1)
    lines = [g.offset // 128 for g in descriptor.grantors]
    assert len(set(lines)) == 4
    assert all(g.offset % 8 == 0 and g.flags == g.fd_index == 0 for g in descriptor.grantors)


def test_the_file_is_sealed(queue):
    fd = queue.descriptor.fds[0]
    seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    assert seals & fcntl.F_SEAL_SHRINK and seals & fcntl.F_SEAL_GROW
    with pytest.raises(OSError):
        os.ftruncate(fd, 0)
    assert not os.get_inheritable(fd)


def test_tables_go_there_and_back(queue):
    descriptor = queue.descriptor
    table = descriptor.table()
    assert len(table) == 4 * 24
    assert Descriptor.from_table(table, descriptor.fds, descriptor.quantum, descriptor.flavor) == descriptor
    record = np.frombuffer(table[48:72], np.dtype({"names": ["flags", "fd", "offset", "extent"],
                                                   "formats": ["<u4", "<u4", "<u4", "<u8"],
                                                   "offsets": [0, 4, 8, 16]}))[0]
    assert record.tolist() == (0, 0, descriptor.grantors[2].offset, 4 * BYTES)
    with pytest.raises(InvalidArgument, match="the table has 95 bytes"):
        Descriptor.from_table(table[:-1], descriptor.fds, BYTES)


@pytest.mark.parametrize("event", [True, False])
def test_the_layout_of_libfmq_is_taken(event):
    """Counters at 0 and 8, the data at 16, the flag behind it, in one page."""
    fd = memfd(4096)
    grantors = [Grantor(0, 0, 0, 8), Grantor(0, 0, 8, 8), Grantor(0, 0, 16, 5 * BYTES), Grantor(0, 0, 136, 4)]
    descriptor = Descriptor(tuple(grantors[:4 if event else 3]), (fd,), BYTES)
    with fmq.MessageQueue.attach(descriptor, ITEM) as one, fmq.MessageQueue.attach(descriptor, ITEM) as other:
        os.close(fd)
        assert one.capacity == 5 and one.has_event_flag == event
        assert one.write(items(1, 2, 3)) == "ok" and numbers(other.read(3)[1]) == [1, 2, 3]
        memory = mmap.mmap(other.descriptor.fds[0], 4096)
        assert np.frombuffer(memory, np.uint64, 2).tolist() == [72, 72]
        assert memory[16:16 + 3 * BYTES] == items(1, 2, 3).tobytes()
        assert memory[136] == (3 if event else 0)


def test_the_data_may_have_a_file_of_its_own():
    fds = memfd(64), memfd(3 * BYTES)
    descriptor = Descriptor((Grantor(0, 0, 0, 8), Grantor(0, 0, 8, 8), Grantor(0, 1, 0, 3 * BYTES),
                             Grantor(0, 0, 16, 4)), fds, BYTES)
    with fmq.MessageQueue.attach(descriptor, ITEM) as one, fmq.MessageQueue.attach(descriptor, ITEM) as other:
        for fd in fds:
            os.close(fd)
        assert one.write(items(4, 5, 6), timeout=1) == "ok" and numbers(other.read(3, timeout=1)[1]) == [4, 5, 6]


def test_attaching_copies_the_files():
    first = fmq.MessageQueue.create(ITEM, 2)
    second = fmq.MessageQueue.attach(first.descriptor, ITEM)
    assert not set(first.descriptor.fds) & set(second.descriptor.fds)
    third = fmq.MessageQueue.attach(second.descriptor, ITEM)
    first.close()
    assert second.write(items(1)) == "ok" and numbers(third.read(1)[1]) == [1]


# -- bad ones ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", [None, 3, (), "descriptor"])
def test_something_else(bad):
    refused(bad, "is not a Descriptor")


@pytest.mark.parametrize("quantum", [BYTES - 1, 0, -1, None, float(BYTES)])
def test_another_quantum(queue, quantum):
    refused(replace(queue.descriptor, quantum=quantum), f"quantum is {quantum}, (elements here|must be a whole)")


def test_another_type(queue):
    refused(queue.descriptor, "quantum is 24, elements here have 8 bytes", np.float64)


@pytest.mark.parametrize("flavor", [fmq.UNSYNCHRONIZED_WRITE, 0, 3, None])
def test_another_flavor(queue, flavor):
    refused(replace(queue.descriptor, flavor=flavor), "flavor is .*, must be 1 .synchronized.")


@pytest.mark.parametrize("count", [0, 1, 2, 5, 400])
def test_another_number_of_grantors(queue, count):
    grantors = (queue.descriptor.grantors * 100)[:count]
    refused(replace(queue.descriptor, grantors=grantors), f"{count} grantors, must be 3, or 4")


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("offset", [1, 2, 4, 1028])
def test_offsets_that_are_not_aligned(queue, place, offset):
    refused(changed(queue.descriptor, place, offset=offset), rf"grantor {place} .*: offset is {offset}, must be a mult")


@pytest.mark.parametrize("place, extent, match", [
    (0, 4, "read counter.: extent is 4, must be 8"), (1, 16, "write counter.: extent is 16, must be 8"),
    (3, 8, "event flag.: extent is 8, must be 4"), (2, 0, "data.: extent is 0, must be one or more elements"),
    (2, 25, "data.: extent is 25, must be one or more elements of 24 bytes"),
    (2, 24 << 20, "data.: ends at .*, its file has 4096 bytes"), (2, (1 << 64) - 16, "data.: ends at .*, its file"),
    (0, 0, "extent is 0")])
def test_extents_that_cannot_be(queue, place, extent, match):
    refused(changed(queue.descriptor, place, extent=extent), match)


@pytest.mark.parametrize("place", range(4))
def test_pieces_behind_the_end_of_the_file(queue, place):
    refused(changed(queue.descriptor, place, offset=4096), "ends at .*, its file has 4096 bytes")
    refused(changed(queue.descriptor, place, offset=(1 << 32) - 8), "ends at .*, its file has 4096 bytes")


@pytest.mark.parametrize("name, value", [("offset", -8), ("offset", 1 << 32), ("offset", 8.0), ("extent", -1),
                                         ("extent", 1 << 64), ("extent", True), ("fd_index", -1), ("fd_index", None),
                                         ("flags", "0")])
def test_numbers_that_are_none(queue, name, value):
    refused(changed(queue.descriptor, 2, **{name: value}), f"grantor 2 .data.: {name} is .*whole number")


def test_flags(queue):
    refused(changed(queue.descriptor, 1, flags=1), "flags are 1, must be 0")


@pytest.mark.parametrize("place", range(4))
def test_files_that_are_not_there(queue, place):
    refused(changed(queue.descriptor, place, fd_index=1), "fd_index is 1, must be below 1")


@pytest.mark.parametrize("fds", [(1 << 30,), (-1,), (None,), ("x",), (1.5,), (1 << 70,)])
def test_descriptors_of_no_file(queue, fds):
    refused(replace(queue.descriptor, fds=fds), "message queue: file 0: ")


def test_no_files(queue):
    refused(replace(queue.descriptor, fds=()), "fd_index is 0, must be below 0")


def test_grantors_that_are_something_else(queue):
    refused(replace(queue.descriptor, grantors=(None,) * 3), "is not a Grantor")


@pytest.mark.parametrize("place, other", [(0, 1), (0, 2), (1, 3), (3, 2)])
def test_pieces_that_overlap(queue, place, other):
    refused(changed(queue.descriptor, place, offset=queue.descriptor.grantors[other].offset), "overlap at offset")


def test_pieces_that_overlap_through_two_descriptors_of_a_file(queue):
    copy = os.dup(queue.descriptor.fds[0])
    both = replace(changed(queue.descriptor, 2, fd_index=1, offset=0), fds=(queue.descriptor.fds[0], copy))
    refused(both, "overlap at offset")
    os.close(copy)


def test_files_that_may_shrink():
    grantors = (Grantor(0, 0, 0, 8), Grantor(0, 0, 8, 8), Grantor(0, 0, 16, BYTES))
    fd = memfd(4096, 0)
    refused(Descriptor(grantors, (fd,), BYTES), "file 0 may shrink while it is mapped; use a memfd of ordinary pages")
    os.ftruncate(fd, 24)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    refused(Descriptor(grantors, (fd,), BYTES), r"data.: ends at 40, its file has 24 bytes")
    os.close(fd)
    with tempfile.TemporaryFile() as file:
        file.truncate(4096)
        refused(Descriptor(grantors, (file.fileno(),), BYTES), "file 0 may shrink while it is mapped")


def test_files_that_cannot_be_written():
    fd = memfd(4096, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE)
    grantors = (Grantor(0, 0, 0, 8), Grantor(0, 0, 8, 8), Grantor(0, 0, 16, BYTES))
    refused(Descriptor(grantors, (fd,), BYTES), "file 0 cannot be mapped for writing")
    os.close(fd)
