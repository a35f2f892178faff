"""The kernel registry and the instruction level in force."""

from .. import config
from ..errors import InvalidArgument

cdef extern from "nnf/cpu.h":
    int nnf_cpu_level(int limit)
    const char *nnf_isa_name(int isa)

cdef extern from "nnf/tiles.h":
    void nnf_tiles_release() noexcept nogil

cdef enum:
    HIGHEST = 99            # above every level

cdef int detected_level = -1
cdef int effective_level = -1


def _number(str name):
    cdef int isa = 0
    known = []
    while nnf_isa_name(isa) != NULL:
        known.append(nnf_isa_name(isa).decode())
        isa += 1
    if name not in known:
        raise InvalidArgument(f"NNFAST_CPU: {name!r} is not one of {', '.join(known)}")
    return known.index(name)


cdef int _detected():
    """The highest level of this machine, found when first needed: tiles must be asked of the system."""
    global detected_level
    if detected_level < 0:
        detected_level = nnf_cpu_level(HIGHEST)
    return detected_level


def detected():
    """Name of the highest level this machine has."""
    return nnf_isa_name(_detected()).decode()


def level():
    """Name of the level in force: what the machine has, masked by NNFAST_CPU or set_level."""
    return nnf_isa_name(_effective()).decode()


def set_level(name):
    """Mask: use at most this level from the next prepare on; None returns to NNFAST_CPU. Unknown names raise."""
    global effective_level
    if name is None:
        effective_level = -1
    else:
        effective_level = nnf_cpu_level(_number(name))


def levels():
    """Names of the levels this machine can run, lowest first."""
    return [nnf_isa_name(isa).decode() for isa in range(_detected() + 1)
            if (_has_rows(isa) or isa == 0) and nnf_cpu_level(isa) == isa]


cdef bint _has_rows(int isa):
    cdef size_t count, i
    cdef const nnf_kernel *rows = nnf_kernels(&count)
    for i in range(count):
        if rows[i].isa == isa:
            return True
    return False


cdef int _effective() except -1:
    global effective_level
    if effective_level < 0:
        mask = config.get("NNFAST_CPU")
        effective_level = nnf_cpu_level(_number(mask)) if mask else _detected()
    return effective_level


cdef int effective_isa() except -1:
    return _effective()


cdef str isa_name(int isa):
    return nnf_isa_name(isa).decode()


cdef void release_tiles() noexcept nogil:
    nnf_tiles_release()


cdef const nnf_kernel *pick(str op) except NULL:
    cdef const nnf_kernel *row = nnf_kernel_pick(op.encode(), _effective())
    if row == NULL:
        raise LookupError(f"no kernel computes {op}")
    return row


cdef const nnf_kernel *pick_scalar(str op) except NULL:
    cdef const nnf_kernel *row = nnf_kernel_pick(op.encode(), 0)
    if row == NULL:
        raise LookupError(f"no scalar kernel computes {op}")
    return row


def picked(str op):
    """Name of the kernel that a prepare would choose now for an op of the registry."""
    return pick(op).name.decode()


def table():
    """All registry rows that this machine can run: list of dicts name, op, isa, tile."""
    cdef size_t count, i
    cdef const nnf_kernel *rows = nnf_kernels(&count)
    found = []
    for i in range(count):
        if nnf_cpu_level(rows[i].isa) == rows[i].isa:
            found.append({"name": rows[i].name.decode(), "op": rows[i].op.decode(),
                          "isa": nnf_isa_name(rows[i].isa).decode(), "tile": (rows[i].m, rows[i].n, rows[i].k)})
    return found
