"""The kernel registry, the instruction level in force, and the sizes that follow from the caches."""

from libc.stdint cimport uintptr_t

import os

from .. import config
from ..errors import InvalidArgument

cdef extern from "nnf/cpu.h":
    int nnf_cpu_level(int limit)
    const char *nnf_isa_name(int isa)

cdef extern from "nnf/kernel.h":
    bint nnf_isa_includes(int level, int isa)

cdef extern from "nnf/tuning.h":
    nnf_tuning nnf_sizes
    void nnf_tune(size_t level1, size_t level2)
    const char *nnf_size_at(size_t index, size_t *size)

cdef extern from "nnf/tiles.h":
    void nnf_tiles_release() noexcept nogil

cdef enum:
    HIGHEST = 99            # above every level

cdef int detected_level = -1
cdef int effective_level = -1
cdef bint is_tuned = False
cdef dict picks = {}        # (op, level) -> address of the row that pick() found


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
        tuning()    # kernels use it as well, and nothing runs yet
        mask = config.get("NNFAST_CPU")
        effective_level = nnf_cpu_level(_number(mask)) if mask else _detected()
    return effective_level


cdef int effective_isa() except -1:
    return _effective()


cdef bint includes(int isa) except -1:
    return nnf_isa_includes(_effective(), isa)


cdef str isa_name(int isa):
    return nnf_isa_name(isa).decode()


cdef void release_tiles() noexcept nogil:
    nnf_tiles_release()


cdef const nnf_kernel *pick(str op) except NULL:
    cdef tuple key = (op, _effective())
    cdef object found = picks.get(key)
    cdef const nnf_kernel *row
    if found is not None:
        return <const nnf_kernel *><uintptr_t>found
    row = nnf_kernel_pick(op.encode(), _effective())
    if row == NULL:
        raise LookupError(f"no kernel computes {op}")
    picks[key] = <uintptr_t>row
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
    cdef dict runs = {}  # on a virtual machine, each look at the processor costs some microseconds
    found = []
    for i in range(count):
        isa = rows[i].isa
        if isa not in runs:
            runs[isa] = nnf_cpu_level(isa) == isa
        if runs[isa]:
            found.append({"name": rows[i].name.decode(), "op": rows[i].op.decode(),
                          "isa": nnf_isa_name(rows[i].isa).decode(), "tile": (rows[i].m, rows[i].n, rows[i].k)})
    return found


# -- caches ------------------------------------------------------------------------------------------------------------
def _data_caches(folder):
    """{level: (bytes, processors that share it)} of processor 0, as Linux tells; without what it does not tell."""
    found = {}
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return found
    for entry in entries:
        if not entry.startswith("index"):
            continue
        index = os.path.join(folder, entry)
        try:
            level, kind, size = _text(index, "level"), _text(index, "type"), _text(index, "size")
            if kind != "Instruction":
                mask = _text(index, "shared_cpu_map").replace(",", "") if "shared_cpu_map" in os.listdir(index) else "1"
                digits, unit = size[:len(size) - 1], size[len(size) - 1:]
                found[int(level)] = int(digits) * {"K": 1 << 10, "M": 1 << 20}[unit], int(mask, 16).bit_count()
        except (OSError, ValueError, LookupError):
            continue
    return found


def _text(folder, name):
    with open(os.path.join(folder, name)) as stream:
        return stream.read().strip()


def cache_sizes(folder="/sys/devices/system/cpu/cpu0/cache"):
    """Bytes of the caches, {"L1": per core, "L2": per core or a group of cores, "L3": shared}; 0 where unknown."""
    found = _data_caches(folder)
    return {f"L{level}": found.get(level, (0, 1))[0] for level in (1, 2, 3)}


def core_caches(folder="/sys/devices/system/cpu/cpu0/cache"):
    """(bytes of level 1, of level 2) that a core has for itself, its share where several use one; 0 where unknown.

    Those of processor 0, whichever processor asks: where processors differ, all processes still plan alike.
    """
    found = _data_caches(folder)
    first, siblings = found.get(1, (0, 1))
    second, sharing = found.get(2, (0, 1))
    return first, second * max(siblings, 1) // max(sharing, siblings, 1)


def set_caches(caches):
    """Plan from the next prepare on for caches of (bytes of level 1, of level 2), 0 where unknown; None returns to
    NNFAST_CACHES, or to those of the machine. Results do not depend on it. For tests: nothing may run meanwhile.
    """
    global is_tuned
    if caches is None:
        caches = _asked() or core_caches()
    nnf_tune(caches[0], caches[1])
    is_tuned = True


def _asked():
    """What NNFAST_CACHES says; None where it is not set."""
    text = config.get("NNFAST_CACHES")
    if not text:
        return None
    try:
        first, second = (int(part) for part in text.split(","))
    except ValueError:
        first = second = 0
    if not (0 < first < 1 << 32 and 0 < second < 1 << 32):
        raise InvalidArgument(f"NNFAST_CACHES: {text!r} is not two numbers of KB with a comma between, as 48,2048")
    return first << 10, second << 10


cdef const nnf_tuning *tuning() except NULL:
    if not is_tuned:
        set_caches(None)
    return &nnf_sizes


def sizes():
    """{name: bytes} of the sizes in force (csrc/include/nnf/tuning.inc) and of the caches, `level1` and `level2`."""
    made = {"level1": tuning().level1, "level2": tuning().level2}
    cdef size_t index = 0, size
    cdef const char *name = nnf_size_at(0, &size)
    while name != NULL:
        made[name.decode()] = size
        index += 1
        name = nnf_size_at(index, &size)
    return made
