"""What two processes exchange to share a queue: the grantors, their files, the size of an element [NN 4.13]."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

from .. import seals
from ..checks import sequence, shown
from ..errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

SYNCHRONIZED, UNSYNCHRONIZED_WRITE = 1, 2
"""Flavours of libfmq. Bursts use the first, and so do all queues here."""
READ, WRITE, DATA, EVENT = range(4)
"""Order of the grantors."""
NAMES = ("read counter", "write counter", "data", "event flag")
RECORD = struct.Struct("=IIIxxxxQ")
"""A grantor in libfmq's table: flags, index of the file, offset, extent."""

_EXTENTS = {READ: 8, WRITE: 8, EVENT: 4}
_ALIGNED = 8


@dataclass(frozen=True, slots=True)
class Grantor:
    """One piece of a queue: `extent` bytes from `offset` of file number `fd_index`."""

    flags: int
    fd_index: int
    offset: int
    extent: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A queue for another process: grantors in the order of NAMES (the last may be missing), their files, bytes of an
    element, flavour.

    `fds` belong to the queue that the descriptor comes from, or to whoever received them; attaching copies them.
    """

    grantors: tuple[Grantor, ...]
    fds: tuple[int, ...]
    quantum: int
    flavor: int = SYNCHRONIZED

    def table(self) -> bytes:
        """The grantors as libfmq lays them out: 24 bytes each."""
        return b"".join(RECORD.pack(g.flags, g.fd_index, g.offset, g.extent) for g in self.grantors)

    @classmethod
    def from_table(cls, table: bytes | bytearray, fds: Sequence[int], quantum: int,
                   flavor: int = SYNCHRONIZED) -> Descriptor:
        """A descriptor from such bytes. Raises InvalidArgument when they are no whole records.

        table: as `table()` gives it; fds: descriptors of the files; quantum: bytes of an element; flavor: SYNCHRONIZED.
        """
        if not isinstance(table, bytes | bytearray):
            raise InvalidArgument(f"message queue: the table is {shown(table)}, must be bytes")
        if len(table) % RECORD.size:
            raise InvalidArgument(f"message queue: the table has {len(table)} bytes, must be a multiple of "
                                  f"{RECORD.size}")
        fds = sequence(fds, "message queue: fds", "a list of descriptors")
        return cls(tuple(Grantor(*fields) for fields in RECORD.iter_unpack(table)), fds, quantum, flavor)


def check(descriptor: Descriptor, itemsize: int) -> None:
    """Refuse what no queue of such elements can be, before anything is mapped: InvalidArgument with the reason."""
    _number("quantum", descriptor.quantum, 32)
    if descriptor.flavor != SYNCHRONIZED:
        raise InvalidArgument(f"message queue: flavor is {shown(descriptor.flavor)}, must be {SYNCHRONIZED} "
                              f"(synchronized)")
    if descriptor.quantum != itemsize:
        raise InvalidArgument(f"message queue: quantum is {descriptor.quantum}, elements here have {itemsize} bytes")
    if len(descriptor.grantors) not in (3, 4):
        raise InvalidArgument(f"message queue: {len(descriptor.grantors)} grantors, must be 3, or 4 with an event flag")
    files = [_file(i, fd) for i, fd in enumerate(descriptor.fds)]
    for place, grantor in enumerate(descriptor.grantors):
        _check_grantor(f"message queue: grantor {place} ({NAMES[place]})", place, grantor, files, itemsize)
    _check_apart(descriptor, files)


def _check_grantor(where, place, grantor, files, quantum):
    if not isinstance(grantor, Grantor):
        raise InvalidArgument(f"{where}: {shown(grantor)} is not a Grantor")
    for name, bits in (("flags", 32), ("fd_index", 32), ("offset", 32), ("extent", 64)):
        _number(f"grantor {place} ({NAMES[place]}): {name}", getattr(grantor, name), bits)
    if grantor.flags:
        raise InvalidArgument(f"{where}: flags are {grantor.flags}, must be 0")
    if grantor.fd_index >= len(files):
        raise InvalidArgument(f"{where}: fd_index is {grantor.fd_index}, must be below {len(files)}")
    if grantor.offset % _ALIGNED:
        raise InvalidArgument(f"{where}: offset is {grantor.offset}, must be a multiple of {_ALIGNED}")
    if grantor.extent != _EXTENTS.get(place, grantor.extent):
        raise InvalidArgument(f"{where}: extent is {grantor.extent}, must be {_EXTENTS[place]}")
    if grantor.extent == 0 or place == DATA and grantor.extent % quantum:
        raise InvalidArgument(f"{where}: extent is {grantor.extent}, must be one or more elements of {quantum} bytes")
    size = files[grantor.fd_index][1]
    if grantor.offset + grantor.extent > size:
        raise InvalidArgument(f"{where}: ends at {grantor.offset + grantor.extent}, its file has {size} bytes")


def _number(name, value, bits):
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= value < 1 << bits:
        raise InvalidArgument(f"message queue: {name} is {shown(value)}, must be a whole number of {bits} bits")


def _file(place, fd):
    """(identity, size) of a file that can be mapped without fear."""
    found = seals.find(fd, seals.SHRINK)
    if found is None:
        raise InvalidArgument(f"message queue: file {place} may shrink while it is mapped; use a memfd of ordinary "
                              "pages, sealed with F_SEAL_SHRINK")
    return found


def _check_apart(descriptor, files):
    """Refuse pieces that lie on one another."""
    pieces = sorted((files[g.fd_index][0], g.offset, g.extent, NAMES[i]) for i, g in enumerate(descriptor.grantors))
    for (one, offset, extent, name), (other, start, _, next_name) in zip(pieces, pieces[1:]):
        if one == other and start < offset + extent:
            raise InvalidArgument(f"message queue: {name} and {next_name} overlap at offset {start}")
