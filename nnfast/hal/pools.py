"""hidl_memory and what is behind it [NN 5.1]."""

from ..driver import memory as shared
from ..errors import InvalidArgument
from .types import HALS, Handle, Memory
from .values import fail, is_integer, record, vec

_KINDS = {hal: (shared.ASHMEM, shared.MMAP_FD) if HALS.index(hal) < HALS.index("1.2") else shared.KINDS for hal in HALS}
_INTS = {shared.ASHMEM: 0, shared.BLOB: 0, shared.MMAP_FD: 3}


def kinds_of(hal):
    """Names of the kinds of memory that a version has and this device can use."""
    return _KINDS[hal]


def to_memory(value, hal, path):
    """nnfast.Memory of a hidl_memory (or the same object, when it is one); InvalidArgument for what is none."""
    if isinstance(value, shared.Memory):
        _check_kind(value.kind, hal, path)
        return value
    record(value, Memory, path)
    _check_kind(value.name, hal, path)
    if value.handle is None:
        fail(path, "handle is null")
    record(value.handle, Handle, f"{path} handle")
    fds, ints = vec(value.handle.fds, f"{path} handle fds"), vec(value.handle.ints, f"{path} handle ints")
    if len(fds) != 1 or len(ints) != _INTS[value.name]:
        fail(path, f"handle has {len(fds)} descriptors and {len(ints)} integers, must have 1 and {_INTS[value.name]} "
                   f"for {value.name}")
    if not all(is_integer(number) for number in ints):
        fail(path, f"handle ints are {list(ints)}, must be integers")
    where = (ints[0], (ints[1] & 0xFFFFFFFF) | (ints[2] & 0xFFFFFFFF) << 32) if ints else ()
    try:
        return shared.Memory(value.name, fds[0], value.size, *where)
    except InvalidArgument as error:
        return fail(path, error)


def from_memory(memory):
    """hidl_memory of a nnfast.Memory, over the same descriptor."""
    ints = ()
    if memory.kind == shared.MMAP_FD:
        ints = (memory.prot, memory.offset & 0xFFFFFFFF, memory.offset >> 32)
    return Memory(memory.kind, Handle((memory.fileno(),), ints, memory), memory.size)


def _check_kind(name, hal, path):
    if name not in kinds_of(hal):
        fail(path, f"memory of kind {name!r} is not supported in HAL {hal}, must be {' or '.join(kinds_of(hal))}")
